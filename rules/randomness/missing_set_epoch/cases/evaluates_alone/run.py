"""Runs the engine on words."""

import torch
import torch.distributed as dist

from engine import OfWords

if __name__ == "__main__":
    dist.init_process_group("nccl")
    engine = OfWords(torch.nn.Linear(8, 1), torch.load("words.pt"))
    print(engine.test())
