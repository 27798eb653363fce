import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from deblur import GOPRO, ResNet
from sampler import DistributedEvalSampler


def psnr(a, b):
    return -10 * torch.log10(torch.mean((a - b) ** 2))


def evaluate(model, loader, device):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for blur, sharp in loader:
            restored = model(blur.to(device))
            score = psnr(restored, sharp.to(device))
            dist.all_reduce(score)
            total += score.item() / dist.get_world_size()
    return total / len(loader)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_root", default="~/Research/dataset")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    model = DDP(ResNet().to(device), device_ids=[device.index])
    dataset = GOPRO(args.data_root, "test")
    loader = DataLoader(dataset, batch_size=1, sampler=DistributedEvalSampler(dataset))
    score = evaluate(model, loader, device)
    if dist.get_rank() == 0:
        print(f"PSNR {score:.2f}")


if __name__ == "__main__":
    main()
