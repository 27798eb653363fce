"""Folders that rank 0 makes, and what the ranks write into them."""

import os
from pathlib import Path

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torchvision.utils import save_image

# Bugs


def samples(args, model):
    rank = dist.get_rank()
    folder = f"{args.out}/seed-{args.seed}"
    if rank == 0:
        os.makedirs(folder, exist_ok=True)  # expect: DL310
    dist.barrier()
    for number in range(args.count):
        index = number * dist.get_world_size() + rank
        save_image(model(index), f"{folder}/{index:06d}.png")


def write_part(part, folder):
    torch.save(part, os.path.join(folder, f"part-{dist.get_rank()}.pt"))


def parts(args, rows):
    accelerator = Accelerator()
    if accelerator.is_main_process and not os.path.exists(args.folder):
        os.makedirs(args.folder)  # expect: DL310
    accelerator.wait_for_everyone()
    write_part(rows, args.folder)


# Correct


def made_by_all(args, model):
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(model(args), folder / f"{dist.get_rank()}.pt")


def made_on_each_machine(args, model):
    accelerator = Accelerator()
    if accelerator.is_local_main_process:
        os.makedirs(args.out, exist_ok=True)
    accelerator.wait_for_everyone()
    torch.save(model(args), os.path.join(args.out, f"{accelerator.process_index}.pt"))


def written_by_rank_0(args, model):
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), os.path.join(args.out, "model.pt"))


def made_by_all_further_down(args, model):
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)
    dist.barrier()
    os.makedirs(args.out, exist_ok=True)
    torch.save(model(args), os.path.join(args.out, f"{dist.get_rank()}.pt"))


def written_elsewhere(args, model):
    if dist.get_rank() == 0:
        os.makedirs(args.logs, exist_ok=True)
    dist.barrier()
    torch.save(model(args), os.path.join(args.out, f"{dist.get_rank()}.pt"))


def written_where_it_is(args, model):
    if dist.get_rank() == 0:
        os.makedirs(args.out, exist_ok=True)
    dist.barrier()
    if os.path.isdir(args.out):
        torch.save(model(args), os.path.join(args.out, f"{dist.get_rank()}.pt"))
