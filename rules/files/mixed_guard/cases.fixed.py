"""Cases of DL308: `or` beside a test of the rank."""

import torch
import torch.distributed as dist
from accelerate import Accelerator


# --- bugs -----------------------------------------------------------------------------------------


def periodically(model, step, last, path):
    accelerator = Accelerator()
    if accelerator.is_main_process and (step % 500 == 0 or step == last):
        # The checkpoint.
        torch.save(model, path)  # expect: DL308


def asks(force):
    if dist.get_rank() == 0 and (not force or force == "ask"):
        return input("overwrite? ")  # expect: DL308
    return None


def first_of_all_or_best(model, best, loss, path):
    # sentiment-discovery 17bcf05 main.py:401
    if dist.get_rank() == 0 and (not best or loss < best):
        torch.save(model, path)  # expect: DL308


# --- right ----------------------------------------------------------------------------------------


def in_parentheses(model, step, last, path):
    accelerator = Accelerator()
    if accelerator.is_main_process and (step % 500 == 0 or step == last):
        torch.save(model, path)


def grouped_by_the_author(image, step, args, path):
    # an option lets all ranks in, each with a file of its own
    rank = dist.get_rank()
    if (step < 5 and (rank == 0 or args.every_rank)) or args.all_images:
        image.save(f"{path}/{step}.png")


def grouped_over_lines(model, step, args, path):
    if (
        (dist.get_rank() == 0 and step % 500 == 0)
        or args.save_all
    ):  # fmt: skip
        torch.save(model, f"{path}/{dist.get_rank()}.pt")


def grouped_at_the_end(model, step, args, path):
    if args.save_all or (step % 500 == 0 and dist.get_rank() == 0):
        torch.save(model, f"{path}/{dist.get_rank()}.pt")


def alone_or_first(model, path, step):
    if not dist.is_initialized() or step % 500 == 0 and dist.get_rank() == 0:
        torch.save(model, path)


def or_not_distributed(model, path):
    if dist.is_initialized() and dist.get_rank() == 0 or not dist.is_initialized():
        torch.save(model, path)


def or_alone(model, path, world_size):
    if world_size > 1 and dist.get_rank() == 0 or world_size == 1:
        torch.save(model, path)


def no_rank(model, step, last, path):
    if step > 0 and step % 500 == 0 or step == last:
        torch.save(model, path)
