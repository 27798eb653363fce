import argparse

import torch
import torch.distributed as dist

from build import build_loader
from focalnet import FocalNet


def main():
    parser = argparse.ArgumentParser("FocalNet training")
    parser.add_argument("--use-checkpoint", action="store_true")
    parser.add_argument("--local_rank", "--local-rank", type=int, required=True)
    parser.add_argument("--epochs", type=int, default=300)
    args = parser.parse_args()
    torch.cuda.set_device(args.local_rank)
    dist.init_process_group(backend="nccl", init_method="env://")
    model = FocalNet(use_checkpoint=args.use_checkpoint).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model = torch.nn.parallel.DistributedDataParallel(
        model, device_ids=[args.local_rank], broadcast_buffers=False
    )
    loader, sampler = build_loader()
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for samples, targets in loader:
            loss = torch.nn.functional.cross_entropy(model(samples.cuda()), targets.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
