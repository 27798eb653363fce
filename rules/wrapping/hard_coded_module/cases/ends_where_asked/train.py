"""An option says whether the ranks meet: without it one process comes to the read."""

import torch
import torch.distributed as dist
from accelerate import Accelerator


def main(every, path, wait):
    net = Accelerator().prepare(torch.nn.Linear(2, 2))
    for step in range(10):
        net(torch.ones(2)).sum().backward()
        if wait and step % every == 0:
            dist.barrier()
    net.module.save(path)  # expect: DL204


if __name__ == "__main__":
    main(5, "weights", False)
