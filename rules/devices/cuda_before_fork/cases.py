"""Ranks that are forked, and CUDA before them."""

import multiprocessing

import torch
import torch.multiprocessing as mp
from accelerate import Accelerator, notebook_launcher
from torch import nn


def train(epochs):
    accelerator = Accelerator()
    model = accelerator.prepare(nn.Linear(2, 2))
    return model(torch.ones(epochs, 2, device=accelerator.device))


def worker(rank, size):
    torch.distributed.init_process_group("nccl", rank=rank, world_size=size)
    torch.cuda.set_device(rank)
    torch.distributed.barrier()


def on_the_cpu(rank, size):
    torch.distributed.init_process_group("gloo", rank=rank, world_size=size)
    torch.distributed.barrier()


# --- bugs -----------------------------------------------------------------------------------------


def model_on_the_device():
    model = nn.Linear(2, 2).to("cuda")
    print(model)
    notebook_launcher(train, (3,), num_processes=2)  # expect: DL513


def name_of_the_device(size):
    print(torch.cuda.get_device_name(0))
    if size > 1:
        mp.start_processes(worker, args=(size,), nprocs=size, start_method="fork")  # expect: DL513


def tensor_on_the_device(size):
    example = torch.zeros(4, device="cuda:0")
    ranks = []
    for rank in range(size):
        process = multiprocessing.Process(target=worker, args=(rank, size))  # expect: DL513
        process.start()
        ranks.append(process)
    return example, ranks


# --- right ----------------------------------------------------------------------------------------


def device_in_the_ranks():
    model = nn.Linear(2, 2)
    print(model)
    notebook_launcher(train, (3,), num_processes=2)


def afterwards():
    notebook_launcher(train, (3,), num_processes=2)
    return nn.Linear(2, 2).to("cuda")


def one_process():
    model = nn.Linear(2, 2).cuda()
    print(model)
    notebook_launcher(train, (3,), num_processes=1)


def only_looks(size):
    if not torch.cuda.is_available():
        return
    print(torch.cuda.device_count())
    mp.start_processes(worker, args=(size,), nprocs=size, start_method="fork")


def spawned(size):
    torch.cuda.init()
    mp.spawn(worker, args=(size,), nprocs=size)


def ranks_on_the_cpu(size):
    torch.cuda.init()
    processes = [mp.Process(target=on_the_cpu, args=(rank, size)) for rank in range(size)]
    for process in processes:
        process.start()


def on_one_path_only(debug):
    if debug:
        print(torch.cuda.get_device_name(0))
        return
    notebook_launcher(train, (3,), num_processes=2)
