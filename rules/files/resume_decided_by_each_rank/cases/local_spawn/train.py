import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from engine import work

if __name__ == "__main__":
    config = read()
    config.backend = "nccl" if dist.is_nccl_available() else "gloo"
    config.ranks = torch.cuda.device_count()
    config.url = f"tcp://localhost:{free_port()}"
    mp.spawn(work, nprocs=config.ranks, args=(config,))
