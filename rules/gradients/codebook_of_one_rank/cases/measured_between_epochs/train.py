"""Evaluates between the epochs, and goes on training (AiT 3527d50 vae/train_depth_vqvae_dist.py:27)."""

import torch
import torch.distributed as dist
from codes import Codec
from torch.nn.parallel import DistributedDataParallel


def measure(codec, held_out):
    codec.eval()
    total = sum(codec(batch).mean().item() for batch in held_out)
    codec.train()
    return total


def main(batches, held_out, epochs):
    dist.init_process_group("nccl")
    codec = Codec()
    codec = DistributedDataParallel(codec.cuda())
    optimizer = torch.optim.AdamW(codec.parameters())
    for _ in range(epochs):
        for batch in batches:
            codec(batch).mean().backward()
            optimizer.step()
        measure(codec, held_out)
