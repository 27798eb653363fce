# opacus 4d0ebc8 examples/fsdp_example.py:80: the parent has the data set before it starts the ranks
import torch.distributed as dist
import torch.multiprocessing as mp
from torchvision import datasets

digits = datasets.MNIST("data", train=True, download=True)


def work(rank, ranks):
    dist.init_process_group("nccl", rank=rank, world_size=ranks)
    dist.barrier()


def main():
    mp.spawn(work, args=(2,), nprocs=2)


if __name__ == "__main__":
    main()
