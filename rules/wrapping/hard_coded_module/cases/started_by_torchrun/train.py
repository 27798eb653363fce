"""torchrun has accelerate wrap on one process as well, and without a group the barrier ends it (UniVLA 0ab9e9d finetune_calvin.py:343)."""

import torch
import torch.distributed as dist
from accelerate import Accelerator


def main(every):
    model = Accelerator().prepare(torch.nn.Linear(2, 2))
    for step in range(10):
        model.module.weight.sum().backward()
        if step % every == 0:
            dist.barrier()


if __name__ == "__main__":
    main(5)
