"""What runs, a configuration says."""

from importlib import import_module

import torch
from training import Loop

import_module(open("plugin.txt").read()).start()
Loop(torch.nn.Linear(8, 1)).run(torch.rand(10, 4, 8))
