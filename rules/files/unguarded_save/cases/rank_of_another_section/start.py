import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from evaluate import evaluate


def worker(gpu, gpus, cfg):
    cfg.LAUNCH.PROCESS = cfg.LAUNCH.MACHINE * gpus + gpu
    dist.init_process_group(
        "nccl", init_method=cfg.LAUNCH.URL, world_size=cfg.LAUNCH.COUNT, rank=cfg.LAUNCH.PROCESS
    )
    evaluate(cfg)


def main(cfg):
    gpus = torch.cuda.device_count()
    mp.spawn(worker, nprocs=gpus, args=(gpus, cfg))
