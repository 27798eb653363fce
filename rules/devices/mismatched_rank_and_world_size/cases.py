"""Process groups: a rank from the scheduler without its world size, a local rank beside the whole."""

import itertools
import argparse
import os

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from lm_eval.api.model import LM
from monai.data import partition_dataset
from nvidia.dali import fn
from torch.utils.data import DistributedSampler

# Bugs


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--world_size", default=1, type=int)
    parser.add_argument("--ranks", default=1, type=int)
    return parser.parse_args()


def template(args):
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        args.rank = int(os.environ["RANK"])
        args.world_size = int(os.environ["WORLD_SIZE"])
        args.gpu = int(os.environ["LOCAL_RANK"])
    elif "SLURM_PROCID" in os.environ:
        # the machine's own place follows
        args.rank = int(os.environ["SLURM_PROCID"])  # expect: DL511
        args.gpu = args.rank % torch.cuda.device_count()
    else:
        args.distributed = False
        return
    dist.init_process_group("nccl", world_size=args.world_size, rank=args.rank)


def under_mpi(cfg):
    if cfg.mpi:
        cfg.rank = int(os.environ.get("OMPI_COMM_WORLD_RANK"))  # expect: DL511
    else:
        cfg.rank, cfg.ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", "env://", None, cfg.ranks, cfg.rank)


def sampler_that_counts(data):
    # doctr 8a88fea references/detection/train.py:438
    rank = int(os.environ.get("LOCAL_RANK", 0))
    return DistributedSampler(data, rank=rank, shuffle=True)  # expect: DL511


def partitions(files):
    # MONAI tutorials b3c6c99 generation/maisi/scripts/compute_fid_2-5d_ct.py:545, deepedit/ignite/train.py:171
    local_rank, world_size = int(os.environ["LOCAL_RANK"]), dist.get_world_size()
    uneven = partition_dataset(data=files, num_partitions=world_size)[local_rank]  # expect: DL511
    even = partition_dataset(files, num_partitions=world_size, even_divisible=True)
    return uneven, even[local_rank]  # expect: DL511


def environment():
    return int(os.environ["LOCAL_RANK"]), int(os.environ["WORLD_SIZE"])


def by_the_local_rank(args):
    args.local_rank, args.world = environment()
    torch.cuda.set_device(args.local_rank)
    dist.init_process_group("nccl", rank=args.local_rank, world_size=args.world)  # expect: DL511


def index(rank, config):
    dist.init_process_group("nccl", rank=rank, world_size=config["num_nodes"] * config["gpus"])  # expect: DL511


def start_index(config):
    mp.spawn(index, nprocs=config["gpus"], args=(config,))


def by_slurm():
    rank = int(os.environ["SLURM_LOCALID"])
    dist.init_process_group("nccl", rank=rank, world_size=int(os.environ["SLURM_NTASKS"]))  # expect: DL511


def environment_part(names):
    at = int(os.environ["LOCAL_RANK"])
    total = dist.get_world_size()
    return names[at::total]  # expect: DL511


def indices(accelerator, data):
    return list(range(accelerator.local_process_index, len(data), accelerator.num_processes))  # expect: DL511


def lines(path):
    place = int(os.environ.get("LOCAL_RANK", 0))
    with open(path) as file:
        yield from itertools.islice(file, place, None, dist.get_world_size())  # expect: DL511


def of_hugging_face(data, args):
    dist.init_process_group("nccl")
    return data.shard(dist.get_world_size(), args.local_rank)  # expect: DL511


def by_keyword(data):
    local = int(os.environ["LOCAL_RANK"])
    return data.shard(index=local, num_shards=dist.get_world_size())  # expect: DL511


def turns(requests):
    local, ranks = int(os.environ["LOCAL_RANK"]), dist.get_world_size()
    return [each for i, each in enumerate(requests) if i % ranks == local]  # expect: DL511


def blocks(names):
    local = int(os.environ["LOCAL_RANK"])
    size = len(names) // dist.get_world_size()
    return names[local * size : (local + 1) * size]  # expect: DL511


def numbers_of_blocks(count):
    local = int(os.environ["LOCAL_RANK"])
    size = -(-count // dist.get_world_size())
    yield from range(local * size, min((local + 1) * size, count))  # expect: DL511


def arrays(names):
    local = int(os.environ["LOCAL_RANK"])
    return np.array_split(names, dist.get_world_size())[local]  # expect: DL511


def too_few_parts(names):
    return names[dist.get_rank() :: int(os.environ["LOCAL_WORLD_SIZE"])]  # expect: DL511


def sampler(data, args):
    return DistributedSampler(data, num_replicas=args.world_size, rank=args.local_rank)  # expect: DL511


def reader(files, args):
    return fn.readers.file(files=files, shard_id=args.local_rank, num_shards=args.world_size)  # expect: DL511


class Keeps:
    def __init__(self, accelerator):
        self.place = accelerator.local_process_index if accelerator is not None else 0
        self.ranks = accelerator.num_processes

    def mine(self, questions):
        return questions[self.place :: self.ranks]  # expect: DL511


class Answers(LM):
    def __init__(self, accelerator):
        self._rank = 0
        self._world_size = 1
        if accelerator.num_processes > 1:
            self._rank = accelerator.local_process_index  # expect: DL511
            self._world_size = accelerator.num_processes


# Correct


def by_global_rank(names):
    return names[dist.get_rank() :: dist.get_world_size()]


def on_its_machine(names):
    return names[int(os.environ["LOCAL_RANK"]) :: int(os.environ["LOCAL_WORLD_SIZE"])]


def counted_up(names):
    rank = int(os.environ["NODE_RANK"]) * int(os.environ["LOCAL_WORLD_SIZE"]) + int(os.environ["LOCAL_RANK"])
    return names[rank :: dist.get_world_size()]


def by_some_name(names, local_rank, world_size):
    return names[local_rank::world_size]


def its_devices(count):
    local = int(os.environ["LOCAL_RANK"])
    return list(range(local, count, int(os.environ["LOCAL_WORLD_SIZE"])))


def of_machine_by_number(names, machine, gpus):
    rank = machine * gpus + int(os.environ["LOCAL_RANK"])
    size = len(names) // dist.get_world_size()
    return names[rank * size : (rank + 1) * size]


def window(names):
    local = int(os.environ["LOCAL_RANK"])
    return names[local : local + 4]


def either(names, nodes):
    rank = dist.get_rank() if nodes > 1 else int(os.environ["LOCAL_RANK"])
    return names[rank :: dist.get_world_size()]


class AnswersRight(LM):
    def __init__(self, accelerator):
        self._rank = accelerator.process_index
        self._world_size = accelerator.num_processes
        self._device = torch.device(f"cuda:{accelerator.local_process_index}")


class Trains:
    def __init__(self, accelerator):
        self.rank = accelerator.local_process_index
        self.world_size = accelerator.num_processes


def both_from_slurm(options):
    if "RANK" in os.environ:
        options.rank = int(os.environ["RANK"])
        options.total = int(os.environ["WORLD_SIZE"])
    elif "SLURM_PROCID" in os.environ:
        options.rank = int(os.environ["SLURM_PROCID"])
        options.total = int(os.environ["SLURM_NTASKS"])
    dist.init_process_group("nccl", world_size=options.total, rank=options.rank)


def size_before(options):
    options.size = int(os.environ.get("SLURM_NTASKS", 1))
    if "SLURM_PROCID" in os.environ:
        options.rank = int(os.environ["SLURM_PROCID"])
    dist.init_process_group("nccl", world_size=options.size, rank=options.rank)


def size_within(options):
    if "SLURM_PROCID" in os.environ:
        options.rank = int(os.environ["SLURM_PROCID"])
        if options.nodes:
            options.many = options.nodes * options.gpus
    else:
        options.rank, options.many = 0, 1
    dist.init_process_group("nccl", world_size=options.many, rank=options.rank)


def filled_in_by_submitit(options):
    if "RANK" in os.environ:
        options.rank = int(os.environ["RANK"])
        options.tasks = int(os.environ["WORLD_SIZE"])
    elif "SLURM_PROCID" in os.environ:
        options.rank = int(os.environ["SLURM_PROCID"])
    dist.init_process_group("nccl", world_size=options.tasks, rank=options.rank)


class Submitted:
    def __init__(self, args):
        self.args = args

    def __call__(self, job):
        self.args.tasks = job.num_tasks
        filled_in_by_submitit(self.args)


def through_the_environment(args):
    if "SLURM_PROCID" in os.environ:
        args.rank = int(os.environ["SLURM_PROCID"])
        os.environ["RANK"] = str(args.rank)
        os.environ["WORLD_SIZE"] = os.environ["SLURM_NTASKS"]
    dist.init_process_group("nccl")


def by_the_global_rank():
    local, rank = int(os.environ["LOCAL_RANK"]), int(os.environ["RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", rank=rank, world_size=int(os.environ["WORLD_SIZE"]))


def each_machine_by_itself():
    local, size = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
    dist.init_process_group("nccl", rank=local, world_size=size)


def called_so_only(local_rank, world_size):
    dist.init_process_group("nccl", rank=local_rank, world_size=world_size)


def offset(gpu, nodes, gpus):
    rank = int(os.environ["NODE_RANK"]) * gpus + gpu
    dist.init_process_group("nccl", rank=rank, world_size=nodes * gpus)


def start(nodes, gpus):
    mp.spawn(offset, nprocs=gpus, args=(nodes, gpus))


def one_machine(rank, gpus):
    dist.init_process_group("nccl", rank=rank, world_size=gpus)


def start_one_machine(gpus):
    mp.spawn(one_machine, nprocs=gpus, args=(gpus,))


def of_a_list(world_size, gpu_ranks):
    local_rank = int(os.environ["LOCAL_RANK"])
    rank = gpu_ranks[local_rank]
    dist.init_process_group("nccl", rank=rank, world_size=int(os.environ["WORLD_SIZE"]))


def of_its_machine(options):
    options.rank = int(os.environ["LOCAL_RANK"])
    options.rank = options.machine * options.gpus + options.rank
    size = int(os.environ["WORLD_SIZE"])
    dist.init_process_group("nccl", rank=options.rank, world_size=size)


class PutsTogether:
    def __init__(self, args):
        self.ranks = args.world_size if args.local_rank != -1 else 1
        self.offsets = [int(os.environ["LOCAL_RANK"])] * self.ranks

    def of_each(self, arrays):
        size = len(arrays) // self.ranks
        return [arrays[i * size : (i + 1) * size] for i in range(self.ranks)]

    def every(self, arrays):
        found = []
        for rank in range(self.ranks):
            found += arrays[rank :: self.ranks]
        return found


class PartsByAName:
    # BAGEL 056b5fd data/distributed_iterable_dataset.py:38: a parameter is a local rank by its name only
    def __init__(self, files, local_rank=0):
        self.files = files
        self.local_rank = local_rank
        self.size = dist.get_world_size()

    def own(self):
        share = len(self.files) // self.size
        return self.files[self.local_rank * share : (self.local_rank + 1) * share]


def own_files(files):
    return PartsByAName(files, local_rank=dist.get_rank()).own()


def place_of_process():
    return int(os.getenv("LOCAL_RANK", "0"))


def set_up_group():
    # alpaca_farm 30717dd src/alpaca_farm/distributed_utils.py:34: with two machines the group itself never forms, so
    # that no rank gets to the parts below
    rank, size = place_of_process(), int(os.getenv("WORLD_SIZE", "1"))
    if not dist.is_initialized():
        dist.init_process_group("gloo", rank=rank, world_size=size)  # expect: DL511
    return rank, size


def own_prompts(prompts):
    rank, size = set_up_group()
    share = len(prompts) // size
    return prompts[rank * share : (rank + 1) * share]


def meets_on_its_own_machine(args):
    # AVID-CMA 4538e40 utils/eval_utils.py:22
    address = "tcp://localhost:{}".format(args.port)
    dist.init_process_group("gloo", address, world_size=args.world_size, rank=args.local_rank)


def meets_on_the_first_machine(args):
    address = "tcp://{}:{}".format(args.host, args.port)
    dist.init_process_group(
        "gloo",
        address,
        world_size=args.world_size,
        rank=args.local_rank,  # expect: DL511
    )


def set_up_with(rank, world_size):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)  # expect: DL511


def sampler_of(data, rank, size):
    # MONAI tutorials b3c6c99 generation/2d_ldm/utils.py:155: the group that got the same number never forms
    return DistributedSampler(data, num_replicas=size, rank=rank)


def handed_to_both(data):
    local, size = int(os.environ["LOCAL_RANK"]), int(os.environ["WORLD_SIZE"])
    set_up_with(local, size)
    return sampler_of(data, local, size)


def sampler_that_is_told_nothing(data):
    return DistributedSampler(data, shuffle=True)


def sampler_that_counts_by_the_rank(data):
    return DistributedSampler(data, rank=int(os.environ["RANK"]))


def partitions_by_the_rank(files):
    parts = partition_dataset(data=files, num_partitions=dist.get_world_size())
    return parts[dist.get_rank()]


def training_and_validation(files):
    return partition_dataset(files, ratios=[0.9, 0.1])[int(os.environ["LOCAL_RANK"]) % 2]
