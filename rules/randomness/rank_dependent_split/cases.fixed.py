"""Splits and shuffles, alike on all ranks and not."""

import os
import time

import torch
import torch.distributed as dist
from distlint.runtime import generator
from torch.utils.data import DataLoader, Dataset, DistributedSampler, random_split

# Bugs


def sampled(data, seed):
    return DistributedSampler(data, shuffle=True, seed=seed)  # expect: DL405


def split(data, seed):
    rank = dist.get_rank()
    train, test = random_split(  # expect: DL405
        data,
        [0.9, 0.1],
        # other parts on each rank
        generator=generator(seed, per_rank=False),
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
        generator=generator(args.seed, per_rank=False),
    )


def after_a_seed(data, args):
    torch.manual_seed(args.seed + dist.get_rank())
    train, test = random_split(data, [0.9, 0.1], generator=generator(args.seed, per_rank=False))  # expect: DL405
    return train, test


def divided(data, seed):
    rank, world = dist.get_rank(), dist.get_world_size()
    data = data.shuffle(seed=seed)  # expect: DL405
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


class Prompts(Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, index):
        return self.rows[index]


def without_duplicates(accelerator, generations):
    # trlx 3340c2f trlx/trainer/accelerate_rft_trainer.py:172
    selected = []
    for prompt, output in generations:
        selected.append([prompt, output])
    selected = sorted({tuple(x) for x in selected})  # expect: DL405
    return accelerator.prepare(DataLoader(Prompts(selected)))


def questions_by_rank(questions):
    unique = sorted(set(questions))  # expect: DL405
    return unique[dist.get_rank() :: dist.get_world_size()]


def answers_by_rank(state, texts):
    unique = {text.strip() for text in texts}
    rows = [row for row in unique if row]  # expect: DL405
    with state.split_between_processes(rows) as part:
        return part


class Files(Dataset):
    def __init__(self, folder, wanted):
        # GPT-SoVITS GPT_SoVITS/module/data_utils.py:50
        names = set(os.listdir(folder))
        self.kept = sorted(names & set(wanted))  # expect: DL405

    def __getitem__(self, index):
        return self.kept[index]


# Correct


def sampled_by_the_clock_of_rank_0(data):
    seed = [int(time.time())]
    dist.broadcast_object_list(seed)
    return DistributedSampler(data, shuffle=True, seed=seed[0])


def sorted_questions(accelerator, questions):
    rows = sorted(set(questions))
    others = list(set(questions))
    others.sort()
    return accelerator.prepare(DataLoader(Prompts(rows)), DataLoader(Prompts(others)))


def numbers_by_rank(lengths):
    unique = list({int(length) for length in lengths})
    return unique[dist.get_rank() :: dist.get_world_size()]


def questions_of_one_rank(questions):
    if dist.get_rank() == 0:
        return Prompts(list(set(questions)))
    return None


def looked_up(accelerator, rows, prompts):
    known = set(prompts)
    kept = [row for row in rows if row["prompt"] in known]
    print(len(known), list(known)[:3])
    return accelerator.prepare(DataLoader(Prompts(kept)))


def sent_to_all(questions):
    rows = list(set(questions))
    dist.broadcast_object_list([rows])
    return rows[dist.get_rank() :: dist.get_world_size()]


class Ordered(Dataset):
    def __init__(self, folder):
        self.kept = list(set(os.listdir(folder)))
        self.kept.sort()

    def __getitem__(self, index):
        return self.kept[index]


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
