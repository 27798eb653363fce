"""Pictures in an order that each rank draws for itself."""

import os
import random

from torch.utils.data import Dataset


class Pictures(Dataset):
    def __init__(self, folder):
        names = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
        random.shuffle(names)  # expect: DL405
        self.names = names

    def __getitem__(self, index):
        return self.names[index]

    def __len__(self):
        return len(self.names)
