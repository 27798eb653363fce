import torch.distributed as dist
from torch.utils.data import Sampler


class DistributedEvalSampler(Sampler):
    """Splits without adding extra samples: ranks may see different numbers of them."""

    def __init__(self, dataset, num_replicas=None, rank=None):
        self.dataset = dataset
        self.num_replicas = num_replicas or dist.get_world_size()
        self.rank = rank if rank is not None else dist.get_rank()
        self.total_size = len(dataset)
        indices = list(range(self.total_size))
        self.num_samples = len(indices[self.rank:self.total_size:self.num_replicas])

    def __iter__(self):
        return iter(range(self.rank, self.total_size, self.num_replicas))

    def __len__(self):
        return self.num_samples
