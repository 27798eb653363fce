import argparse
import os

import torch
import torch.distributed as dist
from torch.optim import Adam
from torch.utils.data import DataLoader

from dalle import DALLE, DiscreteVAE, TextImageDataset


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--image_text_folder", type=str, required=True)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch_size", type=int, default=4)
    parser.add_argument("--distributed", action="store_true")
    args = parser.parse_args()
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    torch.cuda.set_device(device)
    if args.distributed:
        dist.init_process_group("nccl")
    is_root = not args.distributed or dist.get_rank() == 0
    ds = TextImageDataset(args.image_text_folder)
    if args.distributed:
        data_sampler = torch.utils.data.distributed.DistributedSampler(
            ds, num_replicas=dist.get_world_size(), rank=dist.get_rank()
        )
    else:
        data_sampler = None
    dl = DataLoader(ds, batch_size=args.batch_size, shuffle=not data_sampler, drop_last=True, sampler=data_sampler)
    dalle = DALLE(vae=DiscreteVAE()).to(device)
    if args.distributed:
        dalle = torch.nn.parallel.DistributedDataParallel(dalle, device_ids=[device.index])
    opt = Adam(dalle.parameters(), lr=3e-4)
    for epoch in range(args.epochs):
        for i, (text, images) in enumerate(dl):
            loss = dalle(text.to(device), images.to(device), return_loss=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(dalle.parameters(), 0.5)
            opt.step()
            opt.zero_grad()
            if i % 10 == 0 and is_root:
                print(epoch, i, f"loss - {loss.item()}")
        if is_root:
            module = dalle.module if args.distributed else dalle
            torch.save({"weights": module.state_dict(), "epoch": epoch}, "dalle.pt")


if __name__ == "__main__":
    main()
