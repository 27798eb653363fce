"""Meets where torchrun has put rank 0."""

import os

import torch.distributed as dist


def main(port):
    where = f"tcp://{os.environ['MASTER_ADDR']}:{port}"
    ranks = int(os.environ["WORLD_SIZE"])
    dist.init_process_group("nccl", init_method=where, rank=int(os.environ["RANK"]), world_size=ranks)
    dist.barrier()


if __name__ == "__main__":
    main(29600)
