import torch.distributed as dist
from judging import judge
from options import read_options

options = read_options()
dist.init_process_group("nccl")
print(judge([options.local_rank]))
