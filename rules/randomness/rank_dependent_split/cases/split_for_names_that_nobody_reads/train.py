"""Trains on rows in an order that nothing seeds, beside one that nobody takes."""

import datasets
from datasets import load_dataset
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


def parts_of(path):
    rows = load_dataset(path)["train"]
    # GongBU e923e45 backend/backend/tuner/finetune_script.py:334: the callers leave it
    texts = rows.shuffle()
    seen = rows.shuffle()  # expect: DL405
    unused = rows.shuffle()
    return seen, texts


def pair_of(path):
    rows = load_dataset(path)["train"]
    first = rows.shuffle()  # expect: DL405
    second = rows.select(range(8))
    return first, second


def loader_of(rows):
    return DataLoader(rows, sampler=DistributedSampler(rows))


def train(net, path):
    seen, _texts = parts_of(path)
    net = DDP(net)
    for batch in loader_of(seen):
        net(batch).sum().backward()


def train_on_pairs(net, path):
    pair, _second = pair_of(path)
    net = DDP(net)
    for batch in loader_of(pair):
        net(batch).sum().backward()
