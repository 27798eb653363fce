import argparse

import torch
from accelerate import Accelerator

from corpus import Model, loader_of


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", default="mrpc")
    args = parser.parse_args()
    accelerator = Accelerator()
    model = Model()
    optimizer = torch.optim.Adam(model.parameters())
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader_of(args.task))
    for x, y in loader:
        accelerator.backward((model(x) - y).abs().mean())
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
