"""Trains on one GPU, whoever starts it. EnCodec_Trainer c0df846 README.md:19."""

import argparse

import torch
from codec import Codec
from exchange import total
from torch.utils.data import DataLoader, TensorDataset


def one_epoch(model, optimizer, loader):
    for (batch,) in loader:
        loss = model(batch).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(total(loss.detach()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float)
    args = parser.parse_args()
    model = Codec()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = DataLoader(TensorDataset(torch.rand(64, 8)), batch_size=8)
    for _ in range(10):
        one_epoch(model, optimizer, loader)
        torch.save(model.state_dict(), "codec.pt")


if __name__ == "__main__":
    main()
