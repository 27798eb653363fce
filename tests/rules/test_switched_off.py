"""Ranks that never meet: the option under which they make a group is cleared in front of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import severities

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
    torch.manual_seed(args.seed)
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
    ("cleared", "severity"),
    [
        ("pass", "warning"),
        (ONE_ARM, "warning"),
        (ONE_ARM + "\n    else:\n        args.distributed = True", "warning"),
        (ONE_ARM + "\n    else:\n        args.distributed = False", "info"),
        ("args.distributed = False", "info"),
        ("args.distributed = False\n    args.distributed = args.spawned", "warning"),
    ],
)
def test_a_group_that_no_run_makes(cleared: str, severity: str, tmp_path: Path) -> None:
    """crossnorm-selfnorm 58e8c73 segmentation/tool/train.py:101."""
    text = SCRIPT.format(cleared=cleared)
    assert severities(tmp_path, "DL407", text) == [severity]
