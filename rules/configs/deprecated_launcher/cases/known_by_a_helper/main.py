import torch.distributed as dist
from library.start import start

start()
dist.barrier()
