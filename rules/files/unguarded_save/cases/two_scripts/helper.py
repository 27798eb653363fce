import torch.distributed as dist


def is_distributed():
    return dist.is_available() and dist.is_initialized()


def barrier():
    if is_distributed():
        dist.barrier()


def read_tokens(path):
    barrier()
    return open(path).read()
