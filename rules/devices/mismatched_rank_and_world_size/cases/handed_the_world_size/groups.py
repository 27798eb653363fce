import torch.distributed as dist


def set_up(rank, world_size):
    dist.init_process_group("nccl", "file:///shared/meet", world_size=world_size, rank=rank)  # expect: DL511
