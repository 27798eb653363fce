"""Clips in an order that all ranks have, by the seed of the launch beside the script."""

import argparse
import random

from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, Dataset


class Clips(Dataset):
    def __init__(self, paths):
        self.clips = list(paths)
        random.shuffle(self.clips)

    def __getitem__(self, index):
        return self.clips[index]

    def __len__(self):
        return len(self.clips)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=None)
    return parser.parse_args()


def train(paths, model, optimizer):
    args = parse()
    accelerator = Accelerator()
    if args.seed is not None:
        set_seed(args.seed)
    loader = DataLoader(Clips(paths))
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        accelerator.backward(model(batch).mean())
        optimizer.step()


if __name__ == "__main__":
    train(None, None, None)
