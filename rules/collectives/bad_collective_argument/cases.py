"""Cases of DL108: arguments that collectives cannot work with, and those that they can."""

import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from accelerate import Accelerator, notebook_launcher

dist.init_process_group("nccl")

# --- bugs -----------------------------------------------------------------------------------------


def aliased(value):
    # One for each rank.
    gathered = dist.get_world_size() * [torch.zeros(1, device="cuda")]  # expect: DL108
    dist.all_gather(gathered, value)
    return gathered


def aliased_in_the_call(value, world_size):
    dist.all_gather([torch.empty_like(value)] * world_size, value)  # expect: DL108


def aliased_in_each_turn(value, world_size):
    outputs = [value for _ in range(world_size)]  # expect: DL108
    dist.all_gather(outputs, value)


def aliased_variable(value, world_size):
    outputs = [value] * world_size  # expect: DL108
    dist.all_gather(outputs, value)
    return outputs


def a_number(loss):
    total = loss.item()
    dist.all_reduce(total)  # expect: DL108


def a_number_with_accelerate(accelerator: Accelerator, loss, batch):
    losses = accelerator.gather(loss.item())  # expect: DL108
    sizes = accelerator.gather(len(batch))  # expect: DL108
    return losses, sizes


def on_the_cpu(predictions, labels):
    correct = 0
    correct += (predictions == labels).sum().item()
    total = torch.tensor(correct)
    dist.all_reduce(total)  # expect: DL108
    return total.item()


def on_the_cpu_with_accelerate(accelerator: Accelerator, inputs, loss, names):
    tokens = accelerator.gather_for_metrics(torch.tensor(inputs["ids"].size(1)))  # expect: DL108
    count = torch.tensor([loss.item(), len(names)])
    totals = accelerator.reduce(count)  # expect: DL108
    return tokens, totals, accelerator.gather(torch.zeros(4))  # expect: DL108


def train(rank, *given):
    dist.init_process_group("gloo", rank=rank, world_size=2)
    dist.barrier()


def no_comma():
    options = argparse.ArgumentParser().parse_args()
    mp.spawn(train, args=(options), nprocs=2)  # expect: DL108


def a_dict_that_hands_on_its_keys():
    settings = {"lr": 0.1, "epochs": 3}
    ranks = [mp.Process(target=train, args=(settings)) for _ in range(2)]  # expect: DL108
    return ranks


def a_number_in_brackets():
    epochs = 3
    notebook_launcher(train, args=(epochs), num_processes=2)  # expect: DL108


def root_of_another_group(parameters, tasks, shared):
    for parameter in parameters:
        dist.broadcast(parameter, dist.get_global_rank(tasks, 0), group=shared)  # expect: DL108


def root_of_another_group_by_name(objects, tasks, shared):
    first = dist.get_process_group_ranks(tasks)[0]
    dist.broadcast_object_list(objects, src=first, group=shared)  # expect: DL108


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


def on_the_device_with_accelerate(accelerator: Accelerator, inputs, loss):
    tokens = torch.tensor(inputs["ids"].size(1), device=inputs["ids"].device)
    moved = torch.tensor(len(inputs)).to(accelerator.device)
    return accelerator.gather_for_metrics(tokens), accelerator.gather(moved)


def a_copy_of_a_tensor(accelerator: Accelerator, loss, value):
    # Where the value is a tensor, the copy is made on its device.
    dist.all_reduce(torch.tensor(value))
    return accelerator.gather(torch.tensor(loss))


def objects_with_accelerate(accelerator: Accelerator, names):
    return accelerator.gather_for_metrics(len(names))


def moved_later(correct):
    total = torch.tensor(correct)
    dist.all_reduce(total.cuda())


def own_group(correct, cpu_group):
    total = torch.tensor(correct)
    dist.all_reduce(total, group=cpu_group)


def with_a_comma():
    options = argparse.ArgumentParser().parse_args()
    mp.spawn(train, args=(options,), nprocs=2)


def one_of_each_turn(values, value):
    outputs = [made for made in range(len(values))]
    dist.all_gather(outputs, value)
    others = [values[rank] for rank in range(dist.get_world_size())]
    dist.all_gather(others, value)


def a_tuple_in_brackets(world_size):
    given = (world_size, "gloo")
    mp.spawn(train, args=(given), nprocs=world_size)


def handed_on(given):
    mp.spawn(train, args=(given), nprocs=2)


def two_values():
    return 2, "gloo"


def a_tuple_that_a_function_returns():
    given = two_values()
    mp.spawn(train, args=(given), nprocs=2)


def without_brackets(self):
    ranks = mp.Process(target=train, args=self.rank_args)
    ranks.start()


def root_of_its_group(parameter, tasks):
    dist.broadcast(parameter, dist.get_global_rank(tasks, 0), group=tasks)


def root_of_its_group_by_another_name(parameter, tasks):
    group = tasks
    dist.broadcast(parameter, dist.get_global_rank(tasks, 0), group=group)


def root_of_all(parameter, tasks):
    dist.broadcast(parameter, dist.get_global_rank(dist.group.WORLD, 0), group=tasks)


def both_of_all(inputs, labels):
    # VideoActionModel 948f1f1 vam/evaluation/hbird.py:254
    every_input = [torch.zeros_like(inputs) for _ in range(dist.get_world_size())]
    every_label = [torch.zeros_like(labels) for _ in range(dist.get_world_size())]
    dist.all_gather(every_input, inputs)
    dist.all_gather(every_label, inputs)  # expect: DL108
    return torch.cat(every_input), torch.cat(every_label)


def each_of_all(inputs, labels):
    every_input = [torch.zeros_like(inputs) for _ in range(dist.get_world_size())]
    every_label = [torch.zeros_like(labels) for _ in range(dist.get_world_size())]
    dist.all_gather(every_input, inputs)
    dist.all_gather(every_label, labels)
    return torch.cat(every_input), torch.cat(every_label)


def into_tensors_like_its_source(inputs):
    padded = torch.nn.functional.pad(inputs, (0, 1))
    every = [torch.zeros_like(padded) for _ in range(dist.get_world_size())]
    flat = padded.contiguous()
    dist.all_gather(every, flat)
    return torch.cat(every)


def one_name_for_both(inputs, labels):
    sent = inputs.contiguous()
    every_input = [torch.zeros_like(sent) for _ in range(dist.get_world_size())]
    dist.all_gather(every_input, sent)
    sent = labels.contiguous()
    every_label = [torch.zeros_like(labels) for _ in range(dist.get_world_size())]
    dist.all_gather(every_label, sent)
    return torch.cat(every_input), torch.cat(every_label)


def one_buffer_for_both(sent, labels):
    every_input = [torch.zeros_like(sent) for _ in range(dist.get_world_size())]
    every_label = [torch.zeros_like(labels) for _ in range(dist.get_world_size())]
    dist.all_gather(every_input, sent)
    sent.copy_(labels)
    dist.all_gather(every_label, sent)
    return torch.cat(every_input), torch.cat(every_label)


def group_of_its_block(size):
    # FSDP-Training b7a4635 train_sp_tp_fsdp_real.py:125
    first = dist.get_rank() // size * size
    ranks = list(range(first, first + size))
    return dist.new_group(ranks=ranks)  # expect: DL108


def groups_of_all_blocks(size):
    own = None
    for first in range(0, dist.get_world_size(), size):
        ranks = list(range(first, first + size))
        group = dist.new_group(ranks)
        if dist.get_rank() in ranks:
            own = group
    return own


def group_that_its_members_make(size):
    first = dist.get_rank() // size * size
    ranks = list(range(first, first + size))
    return dist.new_group(ranks, use_local_synchronization=True)


def group_of_itself():
    return dist.new_group([dist.get_rank()])
