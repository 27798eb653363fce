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


# --- right ----------------------------------------------------------------------------------------


def in_parentheses(model, step, last, path):
    accelerator = Accelerator()
    if accelerator.is_main_process and (step % 500 == 0 or step == last):
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
