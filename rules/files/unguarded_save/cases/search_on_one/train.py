import argparse
from pathlib import Path

import torch
import torch.distributed as dist


def train(options, writer=None):
    # ScaledYOLOv4 6768003 train.py:116: rank 0 writes to the folder of its writer, and what it reads is there
    folder = Path(writer.log_dir) if writer else Path(options.logs) / "search"
    results = str(folder / "results.txt")
    state = torch.load(options.weights)
    with open(results, "w") as file:
        file.write(state["results"])
    for epoch in range(options.epochs):
        if options.global_rank in (-1, 0):
            with open(results) as file:
                torch.save({"epoch": epoch, "results": file.read()}, folder / "last.pt")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    parser.add_argument("--weights", default="last.pt")
    parser.add_argument("--logs", default="logs")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--search", action="store_true")
    options = parser.parse_args()
    options.global_rank = -1
    if options.local_rank != -1:
        dist.init_process_group("nccl")
        options.global_rank = dist.get_rank()
    if not options.search:
        writer = None
        if options.global_rank in (-1, 0):
            from torch.utils.tensorboard import SummaryWriter

            writer = SummaryWriter(log_dir=options.logs + "/run")
        train(options, writer)
    else:
        assert options.local_rank == -1, "the search runs on one process"
        for _ in range(10):
            train(options)


if __name__ == "__main__":
    main()
