"""Lines in an order that a seed decides, if any is given."""

import random

from torch.utils.data import Dataset


class Lines(Dataset):
    def __init__(self, lines, seed=None):
        self.seed = seed
        self.lines = lines
        self.mix()

    def mix(self):
        random.seed(self.seed)
        random.shuffle(self.lines)

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, number):
        return self.lines[number]
