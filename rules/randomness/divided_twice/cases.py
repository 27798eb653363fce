"""Loaders that accelerate prepares, with and without a sampler of each rank's part, and what is computed from their length."""

import math

from accelerate import Accelerator
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler

# Bugs


def in_one_function(model, data):
    accelerator = Accelerator()
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    model, loader = accelerator.prepare(model, loader)  # expect: DL408
    return model, loader


def by_a_name(model, data):
    accelerator = Accelerator()
    sampler = DistributedSampler(data, shuffle=True)
    loader = DataLoader(data, sampler=sampler)
    return accelerator.prepare(model, loader)  # expect: DL408


def on_several(model, data, distributed):
    accelerator = Accelerator()
    loader = DataLoader(data, sampler=DistributedSampler(data) if distributed else None)
    return accelerator.prepare(model, loader)  # expect: DL408


def loaders_of(train_set, test_set):
    train_loader = DataLoader(train_set, sampler=DistributedSampler(train_set))
    return train_loader, DataLoader(test_set)


def from_a_helper(model, train_set, test_set):
    accelerator = Accelerator()
    train_loader, test_loader = loaders_of(train_set, test_set)
    return accelerator.prepare(
        model,
        train_loader,  # expect: DL408
        test_loader,
    )


class Base:
    # align-anything 3f9decc align_anything/trainers/base/supervised_trainer.py:313
    def get_loaders(self, kind):
        train_set, test_set = kind("train"), kind("test")
        train_loader = DataLoader(train_set, sampler=DistributedSampler(train_set))
        return train_loader, DataLoader(test_set)

    def init_engines(self):
        self.model, self.train_loader = self.accelerator.prepare(
            self.model,
            self.train_loader,  # expect: DL408
        )


class Trainer(Base):
    def __init__(self, model, kind):
        self.accelerator = Accelerator()
        self.model = model
        self.train_loader, self.test_loader = self.get_loaders(kind)
        self.init_engines()


def epochs_of_all_steps(model, data, max_steps, accumulated):
    accelerator = Accelerator(gradient_accumulation_steps=accumulated)
    batches = DataLoader(data, batch_size=4, shuffle=True)
    model, batches = accelerator.prepare(model, batches)
    epochs = math.ceil(max_steps * accumulated / len(batches) / accelerator.num_processes)  # expect: DL408
    for _ in range(epochs):
        yield from batches


def rounds_through_a_name(model, data, wanted):
    accelerator = Accelerator()
    batches = DataLoader(data, batch_size=4)
    model, batches = accelerator.prepare(model, batches)
    in_a_round = math.ceil(len(batches) / 2)
    return model, wanted // (in_a_round * accelerator.num_processes)  # expect: DL408


def steps_of_a_quarter(model, data):
    accelerator = Accelerator()
    batches = DataLoader(data, batch_size=4)
    model, batches = accelerator.prepare(model, batches)
    every = len(batches) // accelerator.num_processes  # expect: DL408
    for step, batch in enumerate(batches):
        model(batch)
        if step % every == 0:
            accelerator.save_state("state")


# Correct


def before_it_is_divided(model, data, max_steps):
    accelerator = Accelerator()
    batches = DataLoader(data, batch_size=4)
    epochs = math.ceil(max_steps / math.ceil(len(batches) / accelerator.num_processes))
    return *accelerator.prepare(model, batches), epochs


def mean_of_sums(model, data):
    accelerator = Accelerator()
    batches = DataLoader(data, batch_size=4)
    model, batches = accelerator.prepare(model, batches)
    total = sum(accelerator.gather(model(batch)).sum().item() for batch in batches)
    return total / len(batches) / accelerator.num_processes


def steps_of_all_processes(model, data, max_steps):
    accelerator = Accelerator()
    batches = DataLoader(data, batch_size=4)
    model, batches = accelerator.prepare(model, batches)
    done = 0
    for _ in range(math.ceil(max_steps / len(batches) / accelerator.num_processes)):
        for batch in batches:
            model(batch)
            done += accelerator.num_processes
    return done


def multiplied_as_well(model, data, max_steps):
    accelerator = Accelerator()
    batches = DataLoader(data, batch_size=4)
    model, batches = accelerator.prepare(model, batches)
    total = max_steps * accelerator.num_processes
    return model, math.ceil(total / len(batches) / accelerator.num_processes)


def each_batch_is_split(model, data):
    accelerator = Accelerator(split_batches=True)
    batches = DataLoader(data, batch_size=4)
    model, batches = accelerator.prepare(model, batches)
    return model, len(batches) // accelerator.num_processes


def undivided(model, data):
    accelerator = Accelerator()
    loader = DataLoader(data, batch_size=8, shuffle=True)
    return accelerator.prepare(model, loader)


def of_one_process(model, data):
    accelerator = Accelerator()
    loader = DataLoader(data, sampler=RandomSampler(data))
    return accelerator.prepare(model, loader)


def not_prepared(model, data):
    # LatentSync scripts/train_unet.py:175
    accelerator = Accelerator()
    loader = DataLoader(data, sampler=DistributedSampler(data))
    return accelerator.prepare(model), loader


def one_of_two(model, data, by_hand):
    accelerator = Accelerator()
    if by_hand:
        loader = DataLoader(data, sampler=DistributedSampler(data))
    else:
        loader = DataLoader(data, shuffle=True)
    if not by_hand:
        loader = accelerator.prepare(loader)
    return accelerator.prepare(model), loader


def of_all_samples(model, data):
    accelerator = Accelerator()
    loader = DataLoader(data, sampler=DistributedSampler(data, num_replicas=1, rank=0))
    return accelerator.prepare(model, loader)


def given(model, loader):
    accelerator = Accelerator()
    return accelerator.prepare(model, loader)
