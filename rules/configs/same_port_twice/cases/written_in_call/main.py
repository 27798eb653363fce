import torch.distributed as dist
import torch.multiprocessing as mp


def worker(rank):
    dist.init_process_group(
        "gloo",
        init_method="tcp://127.0.0.1:10001",  # expect: DL809
        world_size=2,
        rank=rank,
    )
    dist.barrier()


mp.spawn(worker, nprocs=2)
