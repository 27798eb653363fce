"""Seeds of the workers of data loaders."""

import os
import random
from functools import partial

import numpy as np
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

SEED = 1234

# Bugs


def by_number(worker_id):
    np.random.seed(worker_id)  # expect: DL406


def by_constant(worker_id):
    random.seed(SEED + worker_id)  # expect: DL406


def loaders(data, args):
    sampler = DistributedSampler(data)
    first = DataLoader(data, sampler=sampler, num_workers=4, worker_init_fn=by_number)
    second = DataLoader(data, sampler=sampler, num_workers=4, worker_init_fn=by_constant)
    third = DataLoader(
        data,
        sampler=sampler,
        num_workers=4,
        worker_init_fn=lambda worker: np.random.seed(args.seed + worker),  # expect: DL406
    )
    return first, second, third


def nested(data, seed):
    def start(worker_id):
        np.random.seed(seed)  # expect: DL406

    return DataLoader(data, sampler=DistributedSampler(data), worker_init_fn=start)


def main(data, args):
    dist.barrier()
    return nested(data, args.seed)


# Correct


def with_rank(worker_id):
    np.random.seed(SEED + 100 * dist.get_rank() + worker_id)


def with_rank_of_the_launcher(worker_id):
    rank = int(os.environ["RANK"])
    np.random.seed(100 * rank + worker_id)


def from_torch(worker_id):
    np.random.seed(torch.initial_seed() % 2**32)


def from_the_worker(worker_id):
    info = torch.utils.data.get_worker_info()
    np.random.seed(info.seed % 2**32)


def with_both(worker_id, rank, seed):
    np.random.seed(seed + 100 * rank + worker_id)


def without_a_seed(worker_id):
    torch.set_num_threads(1)


def of_no_loader(worker_id):
    np.random.seed(worker_id)


def right_loaders(data, args, rank):
    sampler = DistributedSampler(data)
    own = args.seed + rank
    return [
        DataLoader(data, sampler=sampler, worker_init_fn=with_rank),
        DataLoader(data, sampler=sampler, worker_init_fn=with_rank_of_the_launcher),
        DataLoader(data, sampler=sampler, worker_init_fn=from_torch),
        DataLoader(data, sampler=sampler, worker_init_fn=from_the_worker),
        DataLoader(data, sampler=sampler, worker_init_fn=partial(with_both, rank=rank, seed=1)),
        DataLoader(data, sampler=sampler, worker_init_fn=without_a_seed),
        DataLoader(data, sampler=sampler, worker_init_fn=lambda i: np.random.seed(own + i)),
    ]


def as_callers_say(data, base):
    def start(worker_id):
        np.random.seed(base + worker_id)

    return DataLoader(data, sampler=DistributedSampler(data), worker_init_fn=start)


def of_two_loaders(worker_id):
    np.random.seed(worker_id)  # expect: DL406


def two_loaders(data, more):
    first = DataLoader(data, sampler=DistributedSampler(data), worker_init_fn=of_two_loaders)
    second = DataLoader(more, sampler=DistributedSampler(more), worker_init_fn=of_two_loaders)
    return first, second


def without_ranks(worker_id):
    np.random.seed(worker_id)


def for_one_process(data, options):
    # DB 65ca77a data/data_loader.py:52
    if options.get("distributed"):
        return DataLoader(data, sampler=DistributedSampler(data), worker_init_fn=with_rank)
    else:
        return DataLoader(data, worker_init_fn=without_ranks)


def with_ranks(worker_id):
    np.random.seed(worker_id)  # expect: DL406


def for_several_processes(data, options):
    if not options.distributed:
        return DataLoader(data)
    else:
        return DataLoader(data, sampler=DistributedSampler(data), worker_init_fn=with_ranks)


def on_no_gpu(worker_id):
    # SwinBERT 03116f1 src/datasets/vl_dataloader.py:127
    torch.cuda.manual_seed(worker_id)
    torch.cuda.manual_seed_all(worker_id)


def workers_compute_on_no_gpu(data):
    return DataLoader(data, sampler=DistributedSampler(data), worker_init_fn=on_no_gpu)


def of_each_kind(worker_id):
    np.random.seed(worker_id)  # expect: DL406
    torch.manual_seed(worker_id)
    torch.cuda.manual_seed(worker_id)


def once_for_a_function(data):
    return DataLoader(data, sampler=DistributedSampler(data), worker_init_fn=of_each_kind)


def from_its_generator(worker_id):
    # nougat 5a92920 lightning_module.py:240
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)  # expect: DL406
    random.seed(seed)


def generator_of_all(data):
    generator = torch.Generator()
    generator.manual_seed(0)
    sampler = DistributedSampler(data)
    return DataLoader(
        data, sampler=sampler, worker_init_fn=from_its_generator, generator=generator
    )


class Loaders:
    def __init__(self, data, args):
        self.args = args
        self.data = data
        self.generator = torch.Generator()
        self.generator.manual_seed(self.args.seed)

    @staticmethod
    def begin(worker_id):
        np.random.seed(torch.initial_seed() % 2**32)  # expect: DL406

    def train(self):
        sampler = DistributedSampler(self.data)
        return DataLoader(
            self.data, sampler=sampler, worker_init_fn=self.begin, generator=self.generator
        )


def from_the_generator_of_its_rank(worker_id):
    np.random.seed(torch.initial_seed() % 2**32)


def generator_of_each(data):
    generator = torch.Generator()
    generator.manual_seed(100 + dist.get_rank())
    sampler = DistributedSampler(data)
    return DataLoader(
        data,
        sampler=sampler,
        worker_init_fn=from_the_generator_of_its_rank,
        generator=generator,
    )


def by_a_generator_that_is_given(data, generator):
    sampler = DistributedSampler(data)
    return DataLoader(data, sampler=sampler, worker_init_fn=from_torch, generator=generator)
