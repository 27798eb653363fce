import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, random_split

from robots import Policy, TrajectoryDataset


def make_splits(dataset, fraction):
    n_val = int(len(dataset) * fraction)
    return random_split(dataset, [len(dataset) - n_val, n_val])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--val_fraction", type=float, default=0.05)
    parser.add_argument("--steps", type=int, default=100_000)
    args = parser.parse_args()
    accelerator = Accelerator()
    set_seed(args.seed + accelerator.process_index)
    train_set, val_set = make_splits(TrajectoryDataset(args.root), args.val_fraction)
    train_loader = DataLoader(train_set, batch_size=8, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=8)
    policy = Policy()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=2.5e-5)
    policy, optimizer, train_loader, val_loader = accelerator.prepare(policy, optimizer, train_loader, val_loader)
    for step, batch in zip(range(args.steps), train_loader):
        loss = policy(batch)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
