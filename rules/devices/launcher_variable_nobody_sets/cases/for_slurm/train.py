import os

import torch.distributed as dist


def of_azure():
    return int(os.environ["NODE_RANK"]) * int(os.environ["GPUS_PER_NODE"])


def main():
    if "SLURM_PROCID" in os.environ:
        rank = int(os.environ["NODE_ID"]) * 8
    elif "RANK" in os.environ:
        rank = int(os.environ["RANK"])
    else:
        rank = int(os.environ["NODE_RANK"]) * 8
    dist.init_process_group("nccl", rank=rank or of_azure())


main()
