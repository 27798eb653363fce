import argparse
import os

import torch.distributed as dist


def set_up(options):
    if options.local_rank != -1:
        dist.init_process_group("nccl")


def main():
    # ProphetNet 5cf70eb GENIE/Genie_Finetune.py:131
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    options = parser.parse_args()
    if dist.get_rank() == 0:  # expect: DL509
        os.makedirs("out", exist_ok=True)
    set_up(options)
    print(dist.get_rank())


if __name__ == "__main__":
    main()
