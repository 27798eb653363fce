import os

import torch
import torch.multiprocessing as mp


def work(gpu, gpus, task):
    torch.distributed.init_process_group("nccl", rank=task * gpus + gpu, world_size=2 * gpus)


if __name__ == "__main__":
    os.environ["CUDA_VISIBLE_DEVICES"] = os.environ["SLURM_LOCALID"]
    mp.spawn(work, nprocs=torch.cuda.device_count(), args=(1, int(os.environ["SLURM_PROCID"])))
