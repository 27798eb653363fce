"""A saver of another file is told which rank writes, and is made on all of them."""

import torch
import torch.distributed as dist
from saving import Saver


def main():
    dist.init_process_group("nccl")
    model = torch.nn.Linear(2, 2)
    saver = Saver("out", writes=dist.get_rank() == 0)
    for epoch in range(2):
        saver.save(model, epoch)
    dist.barrier()


if __name__ == "__main__":
    main()
