"""Ends at the local rank that torch's old launcher passes."""

import argparse

import torch
from training import Loop

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.parse_args()
Loop(torch.nn.Linear(8, 1)).run(torch.rand(10, 4, 8))
