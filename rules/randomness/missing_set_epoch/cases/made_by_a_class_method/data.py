"""The loaders of a run, made through a class method."""

from torch.utils.data import DataLoader, DistributedSampler


class Loaders:
    def __init__(self, train, valid):
        sampler = DistributedSampler(train)  # expect: DL403
        self.train = DataLoader(train, sampler=sampler)
        self.valid = DataLoader(valid)

    @classmethod
    def of_folder(cls, folder):
        return cls([folder, "train"], [folder, "valid"])
