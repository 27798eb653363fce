import torch.distributed as dist
import torch.multiprocessing as mp
from settings import log_into, settings


def work(index, ranks, options):
    log_into(options.folder)
    dist.init_process_group("nccl", rank=index, world_size=ranks)


if __name__ == "__main__":
    options = settings()
    mp.spawn(work, nprocs=2, args=(2, options))
