import torch.distributed as dist
import torch.multiprocessing as mp
from torchvision import datasets


def work(rank, ranks, root):
    dist.init_process_group("nccl", rank=rank, world_size=ranks)
    digits = datasets.MNIST(root, download=True)  # expect: DL301
    dist.barrier()
    return digits


def main():
    root = "data"
    datasets.MNIST("old", download=True)
    mp.spawn(work, args=(2, root), nprocs=2)


if __name__ == "__main__":
    main()
