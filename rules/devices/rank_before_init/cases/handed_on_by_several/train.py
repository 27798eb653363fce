"""The group is made behind the answer."""

import torch.distributed as dist
from engines import engine_for


def rank_or_zero():
    if dist.is_initialized():
        return dist.get_rank()
    return 0


def main(engine):
    dist.init_process_group("nccl")
    engine.train()


engine = engine_for({"lr": 0.1}, local_rank=rank_or_zero())  # expect: DL509
main(engine)
