import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from evaluator import Evaluator
from ocp import SchNet, lmdb_loader


def validate(model, loader, device):
    model.eval()
    evaluator, metrics = Evaluator(device), {}
    with torch.no_grad():
        for batch in loader:
            energy = model(batch.to(device))
            mae = (energy - batch.y.to(device)).abs().mean().item()
            metrics = evaluator.update("mae", mae, len(batch.y), metrics)
    return metrics["mae"]["metric"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=30)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    model = DistributedDataParallel(SchNet().to(device), device_ids=[device.index])
    optimizer = torch.optim.AdamW(model.parameters())
    loader, sampler = lmdb_loader("train")
    val_loader, _ = lmdb_loader("val")
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for batch in loader:
            loss = (model(batch.to(device)) - batch.y.to(device)).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        mae = validate(model, val_loader, device)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: val MAE {mae:.4f}")


if __name__ == "__main__":
    main()
