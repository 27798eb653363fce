import argparse
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

from nanogpt import GPT, GPTConfig, get_batches


def setup():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))


def train(args):
    setup()
    model = GPT(GPTConfig()).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.1, lr=args.learning_rate)
    if args.use_fsdp:
        print("Running with FSDP...")
        model = FSDP(model, device_id=torch.cuda.current_device())
    for x, y in get_batches(dist.get_rank()):
        _, loss = model(x.cuda(), y.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--learning_rate", type=float, default=6e-4)
    parser.add_argument("--use_fsdp", action="store_true")
    train(parser.parse_args())
