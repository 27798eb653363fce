"""The proof of DL511, repaired by hand: the world size comes from the scheduler, too."""

import os
from argparse import ArgumentParser, Namespace
from datetime import timedelta

import torch.distributed as dist

os.environ["SLURM_PROCID"], os.environ["SLURM_NTASKS"] = os.environ["RANK"], os.environ["WORLD_SIZE"]
os.environ.pop("TORCHELASTIC_USE_AGENT_STORE", None)


def setup(args: Namespace) -> None:
    if args.torchrun:
        args.rank = int(os.environ["RANK"])
        args.world_size = int(os.environ["WORLD_SIZE"])
    elif "SLURM_PROCID" in os.environ:
        args.rank = int(os.environ["SLURM_PROCID"])
        args.world_size = int(os.environ["SLURM_NTASKS"])
    dist.init_process_group(
        "gloo",
        world_size=args.world_size,
        rank=args.rank,
        timeout=timedelta(seconds=60),
    )


parser = ArgumentParser()
parser.add_argument("--world_size", type=int, default=1)
parser.add_argument("--torchrun", action="store_true")
setup(parser.parse_args())
assert dist.get_world_size() == int(os.environ["SLURM_NTASKS"]), dist.get_world_size()
dist.barrier()  # none leaves while another still connects
dist.destroy_process_group()
