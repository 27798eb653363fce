from torch.utils.data import DataLoader, DistributedSampler


def make_loader(args, data):
    sampler = DistributedSampler(data, num_replicas=args.world_size, rank=args.local_rank)  # expect: DL511
    return DataLoader(data, sampler=sampler)


def read_lines(path):
    return open(path).readlines()
