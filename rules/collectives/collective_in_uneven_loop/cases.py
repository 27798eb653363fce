"""Cases of DL104: collectives in loops of a rank's own length, and in loops of one length."""

import torch
import torch.distributed as dist
from accelerate import Accelerator, PartialState

# --- bugs -----------------------------------------------------------------------------------------


def every_nth(prompts, score):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    for prompt in prompts[rank::world_size]:
        dist.all_reduce(score(prompt))  # expect: DL104


def own_part(accelerator: Accelerator, prompts, score):
    state = PartialState()
    with state.split_between_processes(prompts) as part:
        for prompt in part:
            accelerator.gather(score(prompt))  # expect: DL104


def what_the_mask_left(accelerator: Accelerator, values, mask):
    kept = values[mask.bool()]
    for value in kept:
        accelerator.gather(value)  # expect: DL104


def through_a_name(files, load):
    mine = files[dist.get_rank() :: dist.get_world_size()]
    for name in mine:
        load(name)
        dist.barrier()  # expect: DL104


# --- right ----------------------------------------------------------------------------------------


def after_the_loop(prompts, score):
    scores = [score(p) for p in prompts[dist.get_rank() :: dist.get_world_size()]]
    total = torch.tensor(sum(scores))
    dist.all_reduce(total)
    return total


def all_of_them(parameters):
    for p in parameters:
        dist.all_reduce(p.grad)


def batches(loader, accelerator: Accelerator, model):
    for batch in loader:
        accelerator.gather(model(batch))


def equal_chunks(prompts, size, score):
    start = dist.get_rank() * size
    for prompt in prompts[start : start + size]:
        dist.all_reduce(score(prompt))


def one_for_each_rank(value):
    for source in range(dist.get_world_size()):
        dist.broadcast(value, source)


def until_all_are_done(queue):
    while True:
        left = torch.tensor(len(queue))
        dist.all_reduce(left)
        if left.item() == 0:
            break
        queue.pop()
