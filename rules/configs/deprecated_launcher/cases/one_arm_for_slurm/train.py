import argparse
import os

import torch


def join(args):
    if os.environ.get("SLURM_NTASKS") is not None:
        rank = int(os.environ["SLURM_PROCID"])
        local_rank = int(os.environ["SLURM_LOCALID"])
        torch.distributed.init_process_group("nccl", rank=rank, world_size=int(os.environ["SLURM_NTASKS"]))
        return local_rank
    elif args.local_rank >= 0:
        torch.distributed.init_process_group("nccl", init_method="env://")
        return args.local_rank
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)  # expect: DL805
    args = parser.parse_args()
    torch.cuda.set_device(join(args))


main()
