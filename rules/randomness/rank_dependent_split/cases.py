"""Splits and shuffles, alike on all ranks and not."""

import time

import torch
import torch.distributed as dist
from torch.utils.data import DistributedSampler, random_split

# Bugs


def sampled(data, seed):
    return DistributedSampler(data, shuffle=True, seed=seed + dist.get_rank())  # expect: DL405


def split(data, seed):
    rank = dist.get_rank()
    train, test = random_split(  # expect: DL405
        data,
        [0.9, 0.1],
        # other parts on each rank
        generator=torch.Generator().manual_seed(seed + rank),
    )
    return train, test


def split_by_name(data, seed):
    g = torch.Generator()
    g.manual_seed(seed + dist.get_rank())
    return random_split(data, [0.9, 0.1], generator=g)  # expect: DL405


def one_argument_a_line(data, args):
    torch.manual_seed(args.seed + dist.get_rank())
    return random_split(  # expect: DL405
        data,
        [0.9, 0.1],  # train, test
    )


def after_a_seed(data, args):
    torch.manual_seed(args.seed + dist.get_rank())
    train, test = random_split(data, [0.9, 0.1])  # expect: DL405
    return train, test


def divided(data, seed):
    rank, world = dist.get_rank(), dist.get_world_size()
    data = data.shuffle(seed=seed + rank)  # expect: DL405
    return data.shard(world, rank)


def held_out(data):
    rank = dist.get_rank()
    parts = data.train_test_split(test_size=0.1, seed=rank)  # expect: DL405
    return parts["train"], parts["test"]


def sampled_by_the_clock(data):
    dist.init_process_group()
    seed = int(time.time())
    return DistributedSampler(data, shuffle=True, seed=seed)  # expect: DL405


def sampled_by_clock_and_rank(data):
    seed = int(time.time()) * (dist.get_rank() + 1)
    return DistributedSampler(data, shuffle=True, seed=seed)  # expect: DL405


# Correct


def sampled_by_the_clock_of_rank_0(data):
    seed = [int(time.time())]
    dist.broadcast_object_list(seed)
    return DistributedSampler(data, shuffle=True, seed=seed[0])


def sampled_alike(data, seed):
    return DistributedSampler(data, rank=dist.get_rank(), seed=seed)


def split_alike(data, seed):
    g = torch.Generator().manual_seed(seed)
    train, test = random_split(data, [0.9, 0.1], generator=g)
    torch.manual_seed(seed + dist.get_rank())
    return train, test


def rank_taken_off(data):
    seed = torch.initial_seed() - dist.get_rank()
    return DistributedSampler(data, seed=seed)


def own_copy(data, seed):
    return data.shuffle(seed=seed + dist.get_rank())


def own_part(data, seed):
    rank, world = dist.get_rank(), dist.get_world_size()
    data = data.shard(world, rank)
    return data.shuffle(seed=seed + rank)


def on_one(data, seed):
    if dist.get_rank() == 0:
        return random_split(data, [0.9, 0.1])
    return None


def split_by_default(data):
    train, test = random_split(data, [0.9, 0.1])
    return DistributedSampler(train), test


def sampled_by_a_setting(data, args):
    dist.init_process_group()
    started = time.time()
    sampler = DistributedSampler(data, shuffle=True, seed=args.seed)
    return sampler, started
