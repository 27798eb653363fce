import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from nerfs import DataManager, NerfactoModel
from trainer import Trainer


def train_loop(local_rank, world_size):
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29511", world_size=world_size, rank=local_rank)
    torch.cuda.set_device(local_rank)
    Trainer(NerfactoModel(), DataManager(local_rank), "outputs", local_rank, world_size).train(30_000)


if __name__ == "__main__":
    world = torch.cuda.device_count()
    mp.spawn(train_loop, nprocs=world, args=(world,))
