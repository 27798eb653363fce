"""Data that is parted by an order which each process draws for itself: the seed below comes too late."""

import os
import random

from torch.utils.data import Dataset


def parts(folder):
    # MockingBird 28dc5e1 models/vocoder/hifigan/meldataset.py:45
    names = os.listdir(folder)
    random.shuffle(names)  # expect: DL405
    train_names = names[:-100]
    held_out_names = names[-100:]
    return train_names, held_out_names


class Rows(Dataset):
    def __init__(self, names):
        random.seed(1234)
        self.names = names

    def __len__(self):
        return len(self.names)

    def __getitem__(self, number):
        return self.names[number]
