"""Scripts that start the ranks themselves."""

import os
import subprocess
import sys
from multiprocessing import Process

import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank, size):
    join(rank, size)
    dist.barrier()


def join(rank, size):
    dist.init_process_group("nccl", init_method="tcp://localhost:29500", rank=rank, world_size=size)


def convert(part):
    print("part", part)


def started_in_a_loop(size):
    processes = []
    for rank in range(size):
        process = Process(target=work, args=(rank, size))
        process.start()
        processes.append(process)
    for each in processes:  # expect: DL816
        each.join()


def listed(size):
    ranks = [Process(target=work, args=(rank, size)) for rank in range(size)]
    for each in ranks:
        each.start()
    for each in ranks:  # expect: DL816
        each.join()


def commands(size, program):
    running = []
    for rank in range(size):
        variables = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(size)}
        running.append(subprocess.Popen([sys.executable, program], env=variables))
    for each in running:  # expect: DL816
        each.wait()
        if each.returncode:
            raise RuntimeError("a rank has failed")


def handed_on(size):
    given = sys.argv[1:]
    running = []
    for rank in range(size):
        each = subprocess.Popen([sys.executable, *given, f"--rank={rank}"])
        running.append(each)
    return [each.wait() for each in running]  # expect: DL816


def by_number(size):
    children = []
    for rank in range(size):
        child = Process(target=work, args=(rank, size))
        children.append(child)
        child.start()
    for rank in range(size):  # expect: DL816
        children[rank].join()


def by_number_with_a_timeout(size):
    children = [Process(target=work, args=(rank, size)) for rank in range(size)]
    for rank in range(size):
        children[rank].start()
    for rank in range(size):
        children[rank].join(600)


def by_spawn(size):
    mp.spawn(work, nprocs=size, args=(size,))


def no_ranks(parts):
    workers = [Process(target=convert, args=(part,)) for part in parts]
    for each in workers:
        each.start()
    for each in workers:
        each.join()


def no_ranks_by_commands(parts):
    running = []
    for part in parts:
        running.append(subprocess.Popen([sys.executable, "convert.py", f"--rank={part}"]))
    for each in running:
        each.wait()


def with_a_timeout(size):
    ranks = [Process(target=work, args=(rank, size)) for rank in range(size)]
    for each in ranks:
        each.start()
    for each in ranks:
        each.join(timeout=600)


def one(program):
    launcher = subprocess.Popen(["torchrun", "--nproc_per_node=8", program], env={"RANK": "0"})
    launcher.wait()


def on_cpus(rank, size):
    print("rank", rank)
    os.environ["MASTER_ADDR"] = "localhost"
    dist.init_process_group("gloo", rank=rank, world_size=size)
    dist.barrier()


def run_on_cpus(rank, size):
    print("begin", os.getpid())
    on_cpus(rank, size)


def joined_first_by_gloo(size):
    # monolithic_examples 55fce10 ddp_train.py:172: gloo ends the others when one is gone
    ranks = [Process(target=run_on_cpus, args=(rank, size)) for rank in range(size)]
    for each in ranks:
        each.start()
    for each in ranks:
        each.join()


def reads_first(rank, size):
    data = open(f"part-{rank}").read()
    dist.init_process_group(backend="gloo", rank=rank, world_size=size)
    return data


def joined_later_by_gloo(size):
    ranks = [Process(target=reads_first, args=(rank, size)) for rank in range(size)]
    for each in ranks:
        each.start()
    for each in ranks:  # expect: DL816
        each.join()
