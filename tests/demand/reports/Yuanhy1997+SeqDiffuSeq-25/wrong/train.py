import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from model import TransformerNet
from text import text_loader


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100_000)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    model = TransformerNet().cuda()
    ddp_model = DDP(model, device_ids=[local_rank], broadcast_buffers=False, find_unused_parameters=False)
    optimizer = torch.optim.AdamW(ddp_model.parameters(), lr=1e-4)
    loader = text_loader(dist.get_rank(), dist.get_world_size())
    for step, (x, t) in zip(range(args.steps), loader):
        loss = (ddp_model(x.cuda(), t.cuda()) - x.cuda()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
