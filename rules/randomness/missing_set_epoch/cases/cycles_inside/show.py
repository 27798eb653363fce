"""Shows samples of each rank."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


def main(data):
    dist.init_process_group("gloo")
    loader = DataLoader(data)

    def cycle(batches):
        while True:
            for batch in batches:
                yield batch

    batches = iter(cycle(loader))
    for _ in range(10):
        print(next(batches))


if __name__ == "__main__":
    main(torch.load("data.pt"))
