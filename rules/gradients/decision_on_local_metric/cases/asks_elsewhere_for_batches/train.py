import torch.distributed as dist
from counts import by_class
from torch.utils.data import DataLoader, DistributedSampler


def validate(model, data, labels, scheduler):
    dist.barrier()
    loader = DataLoader(data, sampler=DistributedSampler(data))
    predictions = model(data)
    first, rest = by_class(predictions, labels, loader)
    scheduler.step(first)  # expect: DL601
