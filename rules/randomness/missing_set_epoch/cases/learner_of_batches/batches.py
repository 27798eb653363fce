"""The loader that the learner is handed."""

from torch.utils.data import DataLoader, DistributedSampler


def batches_of(data, is_distributed=False):
    sampler = DistributedSampler(data) if is_distributed else None  # expect: DL403
    return DataLoader(data, shuffle=not is_distributed, sampler=sampler)
