import numpy
import torch


class Tokens(torch.utils.data.Dataset):
    def __init__(self, name):
        self.order = torch.randperm(10).numpy()
        self.index(name)

    def index(self, name):
        numpy.save(f"{name}_index.npy", self.order)  # expect: DL301
