"""Loaders of wrapped models, with and without a part for each rank."""

import torch
import torch.distributed as dist
from accelerate import Accelerator
from datasets import load_dataset
from datasets.distributed import split_dataset_by_node
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, Subset, TensorDataset
from transformers import Trainer

# Bugs


def train(model, data, optimizer):
    model = DDP(model)
    loader = DataLoader(data, batch_size=8, shuffle=True)  # expect: DL404
    for _ in range(3):
        for batch in loader:
            model(batch).sum().backward()
            optimizer.step()


def sharded(model, data, optimizer):
    loader = DataLoader(data, batch_size=8)  # expect: DL404
    model = FSDP(model)
    for step, batch in enumerate(loader):
        model(batch).sum().backward()
        optimizer.step()
        print(step)


def asked_for_the_next(model, data, optimizer, steps):
    model = DDP(model)
    batches = iter(DataLoader(data, batch_size=8))  # expect: DL404
    for _ in range(steps):
        model(next(batches)).sum().backward()
        optimizer.step()



def of_a_stream(model, optimizer, tokenize):
    data = load_dataset("c4", split="train", streaming=True)
    data = data.map(tokenize)
    loader = DataLoader(data.with_format("torch"), batch_size=8)  # expect: DL404
    model = DDP(model)
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()


def for_ever(loader):
    while True:
        for batch in loader:
            yield batch


def begun_before(model, data, optimizer, steps):
    accelerator = Accelerator()
    loader = DataLoader(data, batch_size=8, shuffle=True)
    batches = for_ever(loader)  # expect: DL404
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for _ in range(steps):
        accelerator.backward(model(next(batches)).sum())
        optimizer.step()


def begun_before_by_iter(model, data, optimizer):
    accelerator = Accelerator()
    loader = DataLoader(data, batch_size=8, shuffle=True)
    batches = iter(loader)  # expect: DL404
    model, loader = accelerator.prepare(model, loader)
    for batch in batches:
        accelerator.backward(model(batch).sum())
        optimizer.step()


def left_unprepared(model, data, optimizer):
    accelerator = Accelerator()
    loader = DataLoader(data, batch_size=8, shuffle=True)  # expect: DL404
    model, optimizer = accelerator.prepare(model, optimizer)
    for batch in loader:
        accelerator.backward(model(batch).sum())
        optimizer.step()


def loader_of(words, size):
    data = Subset(words, range(100))
    loader = DataLoader(data, batch_size=size, shuffle=True)
    return loader


class Trains:
    def __init__(self, model, words):
        self.accelerator = Accelerator()
        self.loader = loader_of(words, 4)  # expect: DL404
        self.model = self.accelerator.prepare(model)

    def run(self):
        for number, batch in enumerate(self.loader):
            self.step(number, batch)

    def step(self, number, batch):
        self.accelerator.backward(self.model(batch).sum() / (number + 1))


class OwnLoader(Trainer):
    def get_train_dataloader(self):
        return DataLoader(  # expect: DL404
            self.train_dataset,
            batch_size=self._train_batch_size,
            sampler=self._get_train_sampler(),
        )


class OwnRandomLoader(Trainer):
    def get_train_dataloader(self):
        sampler = RandomSampler(self.train_dataset)
        loader = DataLoader(self.train_dataset, 4, sampler=sampler)  # expect: DL404
        return loader


# Correct


def of_a_divided_stream(model, optimizer):
    data = load_dataset("c4", split="train", streaming=True)
    data = split_dataset_by_node(data, dist.get_rank(), dist.get_world_size())
    loader = DataLoader(data, batch_size=8)
    model = DDP(model)
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()


def one_process(model, data):
    loader = DataLoader(data, batch_size=8, shuffle=True)
    for batch in loader:
        model(batch).sum().backward()


def sampled(model, data, sampler):
    model = DDP(model)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    for batch in loader:
        model(batch).sum().backward()


def own_part(model, data):
    model = DDP(model)
    part = Subset(data, range(dist.get_rank(), len(data), dist.get_world_size()))
    loader = DataLoader(part, batch_size=8)
    for batch in loader:
        model(batch).sum().backward()


def streamed(model, make_stream):
    model = DDP(model)
    stream = make_stream()
    loader = DataLoader(stream, batch_size=8)
    for batch in loader:
        model(batch).sum().backward()


def prepared(model, data, optimizer):
    accelerator = Accelerator()
    loader = DataLoader(data, batch_size=8, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).sum())


def evaluated(model, data):
    model = DDP(model)
    loader = DataLoader(data, batch_size=8)
    with torch.no_grad():
        return [model(batch) for batch in loader]


def asked_for_the_next_of_a_part(model, data, optimizer, steps):
    model = DDP(model)
    data = Subset(data, range(dist.get_rank(), len(data), dist.get_world_size()))
    batches = iter(DataLoader(data, batch_size=8))
    for _ in range(steps):
        model(next(batches)).sum().backward()
        optimizer.step()


def begun_after(model, data, optimizer, steps):
    accelerator = Accelerator()
    loader = DataLoader(data, batch_size=8, shuffle=True)
    first = iter(loader)
    print(next(first))
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    batches = for_ever(loader)
    for _ in range(steps):
        accelerator.backward(model(next(batches)).sum())
        optimizer.step()


def prepared_apart(model, data, optimizer):
    accelerator = Accelerator()
    loader = DataLoader(data, batch_size=8, shuffle=True)
    model, optimizer = accelerator.prepare(model, optimizer)
    loader = accelerator.prepare_data_loader(loader)
    for batch in loader:
        accelerator.backward(model(batch).sum())
        optimizer.step()


class Numbers(IterableDataset):
    def __init__(self, model):
        self.model = model

    def __iter__(self):
        yield from torch.randn(4)


def drawn_by_each_rank(model, optimizer):
    accelerator = Accelerator()
    numbers = Numbers(model)
    loader = DataLoader(numbers, batch_size=8)
    model, optimizer = accelerator.prepare(model, optimizer)
    for batch in loader:
        accelerator.backward(model(batch).sum())
        optimizer.step()


def left_unprepared_for_evaluation(model, data, optimizer):
    accelerator = Accelerator()
    loader = DataLoader(data, batch_size=8)
    model, optimizer = accelerator.prepare(model, optimizer)
    for batch in loader:
        print(model(batch).sum())


def handed_to_all_at_once(model, data, optimizer, prepare_all):
    accelerator = Accelerator()
    loader = DataLoader(data, batch_size=8)
    model, optimizer = accelerator.prepare(model, optimizer)
    prepare_all(accelerator, [loader])
    for batch in loader:
        accelerator.backward(model(batch).sum())
        optimizer.step()


class OwnPreparedLoader(Trainer):
    def get_train_dataloader(self):
        loader = DataLoader(self.train_dataset, sampler=self._get_train_sampler())
        return self.accelerator.prepare(loader)


class LoaderOfOwnSampler(Trainer):
    def _get_train_sampler(self):
        return range(self.args.process_index, len(self.train_dataset), self.args.world_size)

    def get_train_dataloader(self):
        return DataLoader(self.train_dataset, sampler=self._get_train_sampler())


class StepsOverItsBatch:
    # LongVA f4c8781 longva/trl/trainer/iterative_sft_trainer.py:276: each rank is called with a batch of its own
    def __init__(self, model, optimizer):
        self.accelerator = Accelerator()
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)

    def step(self, ids, labels):
        data = TensorDataset(ids, labels)
        loader = DataLoader(data, batch_size=8, shuffle=True)
        for batch in loader:
            self.accelerator.backward(self.model(batch).sum())
            self.optimizer.step()


class FitsAll:
    def __init__(self, model, optimizer):
        self.accelerator = Accelerator()
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)

    def fit(self, ids, labels):
        data = TensorDataset(ids, labels)
        loader = DataLoader(data, batch_size=8, shuffle=True)  # expect: DL404
        for batch in loader:
            self.accelerator.backward(self.model(batch).sum())
            self.optimizer.step()


def rolls_out(model, optimizer, play, rounds):
    accelerator = Accelerator()
    model, optimizer = accelerator.prepare(model, optimizer)
    seen = []
    for _ in range(rounds):
        seen.append(play(model))
        loader = DataLoader(seen, batch_size=8, shuffle=True)
        for batch in loader:
            accelerator.backward(model(batch).sum())
            optimizer.step()


def rolls_out_nothing(model, optimizer, rows, rounds):
    accelerator = Accelerator()
    model, optimizer = accelerator.prepare(model, optimizer)
    losses = []
    for _ in range(rounds):
        loader = DataLoader(rows, batch_size=8, shuffle=True)  # expect: DL404
        for batch in loader:
            loss = model(batch).sum()
            losses.append(loss.item())
            accelerator.backward(loss)
            optimizer.step()
