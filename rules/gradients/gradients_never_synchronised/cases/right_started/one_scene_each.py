"""Each process has a scene of its own, which is what it is started for."""

import os

import torch
from training import Loop

scene = int(os.environ["RANK"])
Loop(torch.nn.Linear(8, 1)).run(torch.load(f"scene_{scene}.pt"))
