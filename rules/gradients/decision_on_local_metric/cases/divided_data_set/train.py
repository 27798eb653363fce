"""Started on several ranks, each of which validates on its part."""

import logging

import torch
import torch.distributed as dist
from samples import Samples, validate
from torch.utils.data import DataLoader


def main(model, held_out):
    dist.init_process_group("nccl")
    model = torch.nn.parallel.DistributedDataParallel(model)
    val_loss = validate(model, DataLoader(Samples(held_out)))
    logging.info("val_loss %s", val_loss)  # expect: DL601


if __name__ == "__main__":
    main(torch.nn.Linear(1, 1), [])
