import os

import torch.distributed as dist


def set_up():
    if "SLURM_PROCID" in os.environ:
        os.environ["RANK"] = os.environ["SLURM_PROCID"]
        os.environ["LOCAL_SIZE"] = os.environ["SLURM_NTASKS_PER_NODE"]
    dist.init_process_group("nccl")


def main():
    set_up()
    ranks = int(os.environ["LOCAL_SIZE"])  # expect: DL514
    print(ranks)


main()
