import os

import torch.distributed as dist

dist.init_process_group("nccl")
nodes = dist.get_world_size() // int(os.environ["N_GPU_NODE"])  # expect: DL514
