"""Cases of DL102: branches with the same collectives in another order, and branches that match."""

import torch
import torch.distributed as dist
from accelerate import Accelerator

# --- bugs -----------------------------------------------------------------------------------------


def swapped(config, total):
    if dist.get_rank() == 0:
        dist.broadcast(config, 0)  # expect: DL102
        dist.all_reduce(total)
    else:
        dist.all_reduce(total)
        dist.broadcast(config, 0)


def barrier_on_the_other_side(config):
    if dist.get_rank() == 0:
        config = torch.ones(4)
    else:
        config = torch.empty(4)
        dist.barrier()  # expect: DL102
    dist.broadcast(config, 0)
    if dist.get_rank() == 0:
        dist.barrier()


def each_its_own(accelerator: Accelerator, values):
    if accelerator.is_main_process:
        values = accelerator.gather(values)  # expect: DL102
        accelerator.wait_for_everyone()
        print(values)
    else:
        accelerator.wait_for_everyone()
        accelerator.gather(values)


# --- right ----------------------------------------------------------------------------------------


def matched(config, total):
    if dist.get_rank() == 0:
        config = torch.ones(4)
        dist.broadcast(config, 0)
        dist.all_reduce(total)
    else:
        config = torch.empty(4)
        dist.broadcast(config, 0)
        dist.all_reduce(total)


def size_then_data(data, rank, src=0):
    # verl 0.9.1 verl/workers/rollout/sglang_rollout/utils.py: one or two broadcasts, as the size says.
    if rank == src:
        if len(data) == 0:
            size = torch.tensor([0])
            dist.broadcast(size, src=src)
        else:
            size = torch.tensor([len(data)])
            dist.broadcast(size, src=src)
            dist.broadcast(data, src=src)
        return data
    size = torch.tensor([0])
    dist.broadcast(size, src=src)
    if size.item() == 0:
        return []
    data = torch.empty(size.item())
    dist.broadcast(data, src=src)
    return data


def one_for_each(values):
    for source in range(dist.get_world_size()):
        if source == dist.get_rank():
            dist.broadcast(values, source)
        else:
            dist.broadcast(torch.empty(4), source)


def gather_on_main(value):
    if dist.get_rank() == 0:
        values = [torch.empty(4) for _ in range(dist.get_world_size())]
        dist.gather(value, values, dst=0)
        dist.barrier()
        return values
    dist.gather(value, None, dst=0)
    dist.barrier()
    return None


def same_branch(config, flag):
    if flag:
        dist.broadcast(config, 0)
        dist.barrier()
    else:
        dist.barrier()
        dist.broadcast(config, 0)


def cached(args, path):
    if args.local_rank not in [-1, 0]:
        dist.barrier()
    features = torch.load(path)
    if args.local_rank == 0:
        dist.barrier()
    return features


def two_pairs_and_an_option_around_one_half(args, model, path):
    # Without the option rank 0 has no half of its own: DL101 says so, and the second pair is as it should be.
    if args.local_rank not in [-1, 0]:
        dist.barrier()
    if not args.predict:
        model = model.to(args.device)
        if args.local_rank == 0:
            dist.barrier()
    if args.train:
        features = cached(args, path)
        return torch.nn.parallel.DistributedDataParallel(model), features
