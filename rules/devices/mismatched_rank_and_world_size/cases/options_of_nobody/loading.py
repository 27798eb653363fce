# ClearerVoice-Studio 6b3774d clearvoice/clearvoice/dataloader/dataloader.py:557: a loader of the training, which nothing here starts
from torch.utils.data import DataLoader, DistributedSampler


def make_loader(args, data):
    sampler = DistributedSampler(data, num_replicas=args.world_size, rank=args.local_rank)
    return DataLoader(data, sampler=sampler)


def read_lines(path):
    return open(path).readlines()
