"""What is launched on several processes, each of which encodes its part of the data."""

import numpy as np
import torch
import torch.distributed as dist
from data import Videos
from torch.utils.data import DataLoader, DistributedSampler

encoder = torch.jit.load("encoder.pt")


def encode(loader, out):
    for batch in loader:
        codes = encoder(batch["video"].cuda()).cpu().numpy()
        for name, code in zip(batch["name"], codes):
            np.save(f"{out}/{name}.npy", code)


dist.init_process_group("nccl")
videos = Videos("train")
encode(DataLoader(videos, batch_size=32, sampler=DistributedSampler(videos)), "codes")
