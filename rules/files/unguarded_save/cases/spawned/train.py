import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def several():
    if dist.is_available() and dist.is_initialized():
        return False
    return torch.cuda.device_count() > 1


def work(gpu, config):
    dist.init_process_group("nccl", rank=gpu, world_size=config.ranks)
    dist.barrier()


if __name__ == "__main__":
    config = read()
    with open(os.path.join(config.folder, "config.yaml"), "w") as file:
        file.write(str(config))
    if several():
        mp.spawn(work, nprocs=config.ranks, args=(config,))
    else:
        work(0, config)
