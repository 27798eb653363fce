"""Trains. Copied from another project, where `torchrun` started `main.py`.

    torchrun --nproc_per_node=4 train.py --config configs/small.yaml
    torchrun --nproc_per_node=4 tools/main.py --config configs/large.yaml
"""

import torch.distributed as dist


def main():
    # torchrun --nproc_per_node=4 train.py --config configs/large.yaml
    dist.init_process_group("nccl")


main()
