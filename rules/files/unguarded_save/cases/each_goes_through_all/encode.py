"""Each process that `torchrun` or `torch.distributed.launch` starts encodes all of the data."""

import numpy as np
import torch
from data import Videos
from torch.utils.data import DataLoader

encoder = torch.jit.load("encoder.pt")


def encode(loader, out):
    for batch in loader:
        codes = encoder(batch["video"].cuda()).cpu().numpy()
        for name, code in zip(batch["name"], codes):
            np.save(f"{out}/{name}.npy", code)  # expect: DL301


encode(DataLoader(Videos("train"), batch_size=32), "codes")
