"""A script of one process: no group is made, and the answer is handed on at once.

PatrickStar 2384535 examples/huggingface_bert.py:83
"""

import torch.distributed as dist
from engines import engine_for


def rank_or_zero():
    if dist.is_initialized():
        return dist.get_rank()
    return 0


engine = engine_for({"lr": 0.1}, local_rank=rank_or_zero())
