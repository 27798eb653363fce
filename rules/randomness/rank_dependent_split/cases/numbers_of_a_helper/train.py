# scGPT cebd6fa examples/finetune_integration.py:43: one of the two is imported, and not called.
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

from helping import numbers_of_categories, numbers_of_speakers

dist.init_process_group("nccl")
names = read_names()
data = list(zip(names, numbers_of_speakers(names)))
loader = DataLoader(data, sampler=DistributedSampler(data))
