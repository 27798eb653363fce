import torch.distributed as dist
import torch.multiprocessing as mp


def launch(run, gpus, args):
    mp.spawn(_start, nprocs=gpus, args=(run, gpus, args))


def _start(index, run, gpus, args):
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:6020", rank=index, world_size=gpus)
    run(index, args)
