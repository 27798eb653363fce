import os

import torch
import torch.distributed as dist
import yaml

from ocp import SchNet, train_loader
from trainer import Trainer


def main():
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    with open("config.yml") as file:
        config = yaml.safe_load(file)
    Trainer(config, SchNet(), train_loader(), local_rank).train()


if __name__ == "__main__":
    main()
