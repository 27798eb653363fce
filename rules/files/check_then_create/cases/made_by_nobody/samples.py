import torch.distributed as dist
import torch.multiprocessing as mp
from settings import log_into, settings_of_two


def work(index, options, args):
    log_into(options.folder)
    dist.init_process_group("nccl", rank=index, world_size=args.ranks)


if __name__ == "__main__":
    options, args = settings_of_two()
    mp.spawn(work, nprocs=args.ranks, args=(options, args))
