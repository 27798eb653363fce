from torch.utils.data import DataLoader, DistributedSampler


def loader_of_hands(args, data):
    sampler = DistributedSampler(data, num_replicas=args.world_size, rank=args.rank)
    return DataLoader(data, sampler=sampler)
