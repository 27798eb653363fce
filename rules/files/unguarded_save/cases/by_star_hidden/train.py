# The script has a `keep` of its own, which another file chooses.
import torch.distributed as dist
from chosen import writer
from store import *
from torch.nn.parallel import DistributedDataParallel

keep = writer("out")
dist.init_process_group("nccl")
model = DistributedDataParallel(net)
for epoch in range(5):
    model(epoch).sum().backward()
    keep(net, "out")
