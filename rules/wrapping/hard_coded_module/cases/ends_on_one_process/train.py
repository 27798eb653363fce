"""Where nothing is wrapped there is no group, and the barrier ends the run (bitfit_dr b635516 src/bitfit.py:307)."""

import torch
import torch.distributed as dist
from accelerate import Accelerator


def main(every, path):
    model = Accelerator().prepare(torch.nn.Linear(2, 2))
    for step in range(10):
        model(torch.ones(2)).sum().backward()
        if step % every == 0:
            dist.barrier()
    model.module.save(path)


if __name__ == "__main__":
    main(5, "weights")
