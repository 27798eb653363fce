"""Lines that every rank prints."""

import torch
import torch.distributed as dist


def for_everybody(epochs):
    dist.init_process_group("nccl")
    for epoch in range(epochs):
        print(f"epoch {epoch}")  # expect: DL703
        dist.barrier()


def on_rank_0(epochs):
    dist.init_process_group("nccl")
    for epoch in range(epochs):
        if dist.get_rank() == 0:
            print(f"epoch {epoch}")
        dist.barrier()


def of_each(loss):
    dist.init_process_group("nccl")
    print(f"rank {dist.get_rank()} of {dist.get_world_size()}")
    dist.all_reduce(loss)


def of_one_process(epoch):
    print(f"epoch {epoch}")
