"""Names the GPUs of the ranks that it starts, and counts these."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


class Training:
    def __init__(self, gpus):
        world_size = torch.cuda.device_count()
        if gpus == "all":
            named = ",".join(str(each) for each in range(world_size))
        else:
            named = gpus
        os.environ["CUDA_VISIBLE_DEVICES"] = named
        os.environ["WORLD_SIZE"] = str(len(named.split(",")))

    def take_all(self):
        world_size = torch.cuda.device_count()
        numbers = list(range(world_size))
        named = ",".join(map(str, numbers))
        os.environ["CUDA_VISIBLE_DEVICES"] = named
        os.environ["WORLD_SIZE"] = str(world_size)

    def run(self, rank):
        dist.init_process_group("nccl", rank=rank)

    def start(self):
        mp.spawn(self.run, nprocs=torch.cuda.device_count())


if __name__ == "__main__":
    Training("0,1").start()
