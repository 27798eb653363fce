import argparse
import math

import torch
from accelerate import Accelerator
from torch.optim.lr_scheduler import LambdaLR

from vit import ViT, image_loader


def warmup_cosine(warmup, total):
    def factor(step):
        if step < warmup:
            return step / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))

    return factor


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--warmup", type=int, default=10_000)
    args = parser.parse_args()
    accelerator = Accelerator()
    model = ViT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = image_loader()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    total = args.epochs * len(loader)
    scheduler = LambdaLR(optimizer, warmup_cosine(args.warmup, total))
    scheduler = accelerator.prepare(scheduler)
    for _ in range(args.epochs):
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    main()
