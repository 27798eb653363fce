import argparse
import os

import torch
import torch.distributed as dist

from base_trainer import BaseTrainer
from ocp import SchNet, test_loader


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--run-dir", default="./")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    BaseTrainer(SchNet(), test_loader(), args.run_dir, local_rank).predict()


if __name__ == "__main__":
    main()
