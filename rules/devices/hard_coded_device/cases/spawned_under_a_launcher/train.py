import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(rank, world_size, path):
    dist.init_process_group("nccl", init_method="tcp://localhost:12355", rank=rank, world_size=world_size)
    model = DistributedDataParallel(nn.Linear(4, 4).to(rank), device_ids=[rank])
    model(torch.ones(4).to(rank)).sum().backward()
    if rank == 0:
        torch.save(model.module.state_dict(), path)
    dist.destroy_process_group()


def main():
    # mrl-clip-training-daquar 522105d main_ddp.py:320: behind the ranks, in the process that has started them
    world_size = torch.cuda.device_count()
    mp.spawn(train, args=(world_size, "model.pt"), nprocs=world_size, join=True)
    model = nn.Linear(4, 4).to("cuda:0")
    model.load_state_dict(torch.load("model.pt", map_location="cpu"))


if __name__ == "__main__":
    main()
