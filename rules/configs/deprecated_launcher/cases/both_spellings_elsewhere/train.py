import torch.distributed as dist
from library import options

args = options.parse_args()
dist.init_process_group("nccl")
print(args.config)
