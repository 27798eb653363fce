import argparse
import glob
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

from llama import build, token_loader


def get_last_checkpoint(folder):
    names = glob.glob(os.path.join(folder, "llama-*steps"))
    if not names:
        return None
    return max(names, key=lambda name: int(name.split("-")[-1].replace("steps", "")))


def save(model, optimizer, folder, step):
    state, optim = get_state_dict(model, optimizer)
    dcp.save({"model": state, "optimizer": optim}, checkpoint_id=os.path.join(folder, f"llama-{step}steps"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkpoint_dir", default="checkpoints")
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = FSDP(build().cuda(), use_orig_params=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    last = get_last_checkpoint(args.checkpoint_dir) if args.resume else None
    if last is not None:
        state, optim = get_state_dict(model, optimizer)
        dcp.load({"model": state, "optimizer": optim}, checkpoint_id=last)
        set_state_dict(model, optimizer, model_state_dict=state, optim_state_dict=optim)
    for step, batch in enumerate(token_loader(dist.get_rank(), dist.get_world_size()), 1):
        loss = model(batch.cuda()).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 500 == 0:
            save(model, optimizer, args.checkpoint_dir, step)
        if step == args.steps:
            break


if __name__ == "__main__":
    main()
