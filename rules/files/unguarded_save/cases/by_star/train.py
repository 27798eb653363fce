# scBERT 262fd4b finetune.py:266
import torch.distributed as dist
from store import *
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("nccl")
model = DistributedDataParallel(net)
for epoch in range(5):
    model(epoch).sum().backward()
    keep(net, "out")
