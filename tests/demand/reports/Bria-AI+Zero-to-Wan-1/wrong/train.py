import argparse
import os

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard

from wan import WanModel, loss_of, video_loader


def save_checkpoint(model, optimizer, path, step):
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    weights = get_model_state_dict(model, options=options)
    torch.save({"model": weights, "step": step}, os.path.join(path, f"step_{step}.pt"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="runs/wan")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--save-every", type=int, default=500)
    args = parser.parse_args()
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    master_process = dist.get_rank() == 0
    if master_process:
        os.makedirs(args.out, exist_ok=True)
    model = WanModel().cuda()
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    loader = iter(video_loader(dist.get_rank(), dist.get_world_size()))
    for step in range(1, args.steps + 1):
        loss = loss_of(model, next(loader))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % args.save_every == 0 and master_process:
            save_checkpoint(model, optimizer, args.out, step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
