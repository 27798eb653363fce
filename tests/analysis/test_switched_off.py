"""Ranks that never meet: the option under which they make a group is cleared in front of it."""

from __future__ import annotations

import ast

import pytest

from distlint.analysis import Source, build_model
from distlint.analysis.questions.switched_off import makes_no_group

SCRIPT = """
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel


def work(rank, args):
    if args.distributed:
        dist.init_process_group("nccl", rank=rank, world_size=args.gpus)
    model = torch.nn.Linear(8, 8).cuda(rank)
    return DistributedDataParallel(model) if args.distributed else model


def main(args):
    args.distributed = args.gpus > 1
    {cleared}
    if args.spawned:
        mp.spawn(work, nprocs=args.gpus, args=(args,))
    else:
        work(0, args)


if __name__ == "__main__":
    main(parse())
"""
ONE_ARM = "if args.gpus == 1:\n        args.distributed = False"


@pytest.mark.parametrize(
    ("cleared", "none"),
    [
        ("pass", False),
        (ONE_ARM, False),
        (ONE_ARM + "\n    else:\n        args.distributed = True", False),
        (ONE_ARM + "\n    else:\n        args.distributed = False", True),
        ("args.distributed = False", True),
        ("args.distributed = False\n    args.distributed = args.spawned", False),
        ("args.distributed = False\n    if args.gpus > 2:\n        args.distributed = True", False),
        ("work(1, args)\n    args.distributed = False", False),
    ],
)
def test_a_group_that_no_run_makes(cleared: str, none: bool) -> None:
    """crossnorm-selfnorm 58e8c73 segmentation/tool/train.py:101."""
    text = SCRIPT.format(cleared=cleared)
    model = build_model([Source("m.py", "m", text, ast.parse(text))])
    assert makes_no_group(model.program, model.program.modules["m"]) is none
