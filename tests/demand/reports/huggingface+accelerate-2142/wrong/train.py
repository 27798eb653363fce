import argparse

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

from timeseries import Forecaster, Windows


def build(args, accelerator):
    loader = DataLoader(Windows(args.csv), batch_size=args.batch_size, shuffle=True)
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    steps = len(loader) // accelerator.num_processes
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=args.lr, steps_per_epoch=steps, epochs=args.epochs
    )
    return accelerator.prepare(model, optimizer, loader, scheduler)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--csv", required=True)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--epochs", type=int, default=10)
    args = parser.parse_args()
    accelerator = Accelerator()
    model, optimizer, loader, scheduler = build(args, accelerator)
    for _ in range(args.epochs):
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    main()
