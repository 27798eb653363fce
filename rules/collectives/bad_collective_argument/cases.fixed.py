"""Cases of DL108: arguments that collectives cannot work with, and those that they can."""

import torch
import torch.distributed as dist
from accelerate import Accelerator

dist.init_process_group("nccl")

# --- bugs -----------------------------------------------------------------------------------------


def aliased(value):
    # One for each rank.
    gathered = [torch.zeros(1, device="cuda") for _ in range(dist.get_world_size())]  # expect: DL108
    dist.all_gather(gathered, value)
    return gathered


def aliased_in_the_call(value, world_size):
    dist.all_gather([torch.empty_like(value) for _ in range(world_size)], value)  # expect: DL108


def aliased_variable(value, world_size):
    outputs = [value.clone() for _ in range(world_size)]  # expect: DL108
    dist.all_gather(outputs, value)
    return outputs


def a_number(loss):
    total = loss.item()
    dist.all_reduce(total)  # expect: DL108


def a_number_with_accelerate(accelerator: Accelerator, loss, batch):
    losses = accelerator.gather(loss.item())  # expect: DL108
    sizes = accelerator.gather(len(batch))  # expect: DL108
    return losses, sizes


def on_the_cpu(correct):
    total = torch.tensor(correct)
    dist.all_reduce(total)  # expect: DL108
    return total.item()


# --- right ----------------------------------------------------------------------------------------


def a_list_of_its_own(value):
    gathered = [torch.zeros_like(value) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, value)
    return gathered


def objects(value):
    gathered = [None] * dist.get_world_size()
    dist.all_gather_object(gathered, value)
    return gathered


def none_of_receivers(value):
    gathered = [torch.zeros_like(value)] if dist.get_rank() == 0 else None
    dist.gather(value, gathered)


def a_tensor(accelerator: Accelerator, loss):
    return accelerator.gather(loss).mean().item()


def on_the_device(correct, device):
    total = torch.tensor(correct, device=device)
    dist.all_reduce(total)
    moved = torch.tensor(correct)
    moved = moved.to(device)
    dist.all_reduce(moved)
    return total.item()


def moved_later(correct):
    total = torch.tensor(correct)
    dist.all_reduce(total.cuda())


def own_group(correct, cpu_group):
    total = torch.tensor(correct)
    dist.all_reduce(total, group=cpu_group)
