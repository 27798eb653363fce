"""Turnstiles: the others wait above, rank 0 below. Both halves are seen in whatever form their tests are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in, lines_of, marked, offers_in

_HEAD = """\
import os
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


"""

_SHAPES = {
    "attribute_flag": """\
def main(args):
    if not args.is_master:
        dist.barrier()
    data = load(args)
    if args.rank == 0:
        dist.barrier()
    return DDP(make(args)), data
""",
    "class_methods": """\
class Trainer:
    def __init__(self, args):
        self.args = args
        self.rank = args.rank
        self.wait_for_first()
        self.data = load(args)
        self.first_is_done()
        self.model = DDP(make(args))

    def wait_for_first(self):
        if self.rank not in [-1, 0]:
            dist.barrier()

    def first_is_done(self):
        if self.rank == 0:
            dist.barrier()
""",
    "context_manager": """\
@contextmanager
def first(rank):
    if rank not in [-1, 0]:
        dist.barrier()
    yield
    if rank == 0:
        dist.barrier()


def main(args):
    with first(args.rank):
        data = load(args)
    return DDP(make(args)), data
""",
    "distributed_and": """\
def main(args):
    if args.distributed and args.rank not in [-1, 0]:
        dist.barrier()
    data = load(args)
    if args.distributed and args.rank == 0:
        dist.barrier()
    return DDP(make(args)), data
""",
    "early_code": """\
def main(args):
    if args.local_rank not in [-1, 0] and not args.evaluate:
        dist.barrier()
    cached = os.path.join(args.folder, "cache.pt")
    if os.path.exists(cached) and not args.overwrite:
        data = torch.load(cached)
    else:
        data = load(args)
        if args.local_rank in [-1, 0]:
            torch.save(data, cached)
    if args.local_rank == 0 and not args.evaluate:
        dist.barrier()
    return DDP(make(args)), data
""",
    "else_of_or": """\
def main(args):
    if args.rank == -1 or args.rank == 0:
        load(args)
        if args.rank == 0:
            dist.barrier()
    else:
        dist.barrier()
    return DDP(make(args)), load(args)
""",
    "environment": """\
def main(args):
    rank = int(os.environ.get("RANK", -1))
    if rank not in [-1, 0]:
        dist.barrier()
    data = load(args)
    if rank == 0:
        dist.barrier()
    return DDP(make(args)), data
""",
    "environment_local": """\
def main(args):
    local_rank = int(os.environ["LOCAL_RANK"])
    if local_rank > 0:
        dist.barrier()
    data = load(args)
    if local_rank < 1:
        dist.barrier()
    return DDP(make(args)), data
""",
    "first_then_others": """\
def main(args):
    if args.rank == 0:
        load(args)
        dist.barrier()
    if args.rank != 0:
        dist.barrier()
    return DDP(make(args)), load(args)
""",
    "gpu_name": """\
def main(gpu, args):
    rank = args.node * args.gpus + gpu
    if rank not in [-1, 0]:
        dist.barrier()
    data = load(args)
    if rank == 0:
        dist.barrier()
    return DDP(make(args)), data
""",
    "helper_barrier": """\
def main(args):
    if args.rank not in [-1, 0]:
        dist.barrier()
    data = load(args)
    if args.rank == 0:
        sync()
    return DDP(make(args)), data


def sync():
    if dist.is_initialized():
        dist.barrier()
""",
    "in_list": """\
def main(args):
    model = make(args)
    if args.rank not in [-1, 0]:
        dist.barrier()
    data = load(args)
    if args.rank == 0:
        dist.barrier()
    model = DDP(model)
    return model, data
""",
    "is_first_flag": """\
def main(args):
    is_first = args.rank in [-1, 0]
    if not is_first:
        dist.barrier()
    data = load(args)
    if args.rank == 0:
        dist.barrier()
    return DDP(make(args)), data
""",
    "less_than_one": """\
def main(args):
    if args.rank > 0:
        dist.barrier()
    data = load(args)
    if args.rank < 1:
        dist.barrier()
    return DDP(make(args)), data
""",
    "local_rank_set": """\
def main(args):
    if args.local_rank not in {-1, 0}:
        dist.barrier()
    data = load(args)
    if args.local_rank == 0:
        dist.barrier()
    return DDP(make(args)), data
""",
    "master_flag_method": """\
def main(args, ctx):
    if not ctx.first():
        dist.barrier()
    data = load(args)
    if dist.get_rank() == 0:
        dist.barrier()
    return DDP(make(args)), data
""",
    "name_parameter": """\
def main(rank, world_size):
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
    if rank not in [-1, 0]:
        dist.barrier()
    data = load(rank)
    if rank in [-1, 0]:
        dist.barrier()
    return DDP(make()), data
""",
    "not_truth": """\
def main(args):
    if args.rank != 0:
        dist.barrier()
    data = load(args)
    if not args.rank:
        dist.barrier()
    return DDP(make(args)), data
""",
    "parameter_unknown": """\
def setup(rank, args):
    if rank > 0:
        dist.barrier()
    data = load(args)
    if rank == 0:
        dist.barrier()
    return DDP(make(args)), data
""",
    "remainder": """\
def main(args):
    if args.rank % args.gpus != 0:
        dist.barrier()
    data = load(args)
    if args.rank % args.gpus == 0:
        dist.barrier()
    return DDP(make(args)), data
""",
    "reversed_sides": """\
def main(args):
    if 0 != args.rank:
        dist.barrier()
    data = load(args)
    if 0 == args.rank:
        dist.barrier()
    return DDP(make(args)), data
""",
    "truth": """\
def main(args):
    if args.rank:
        dist.barrier()
    data = load(args)
    if args.rank == 0:
        dist.barrier()
    return DDP(make(args)), data
""",
    "try_finally": """\
def main(args):
    if args.rank not in [-1, 0]:
        dist.barrier()
    try:
        data = load(args)
    finally:
        if args.rank == 0:
            dist.barrier()
    return DDP(make(args)), data
""",
    "two_functions": """\
def main(args):
    before(args)
    data = load(args)
    after(args)
    return DDP(make(args)), data


def before(args):
    if args.rank not in (-1, 0):
        dist.barrier()


def after(args):
    if args.rank == 0:
        dist.barrier()
""",
    "with_return_value": """\
def must_wait(args):
    return args.rank not in [-1, 0]


def main(args):
    if must_wait(args):
        dist.barrier()
    data = load(args)
    if not must_wait(args):
        dist.barrier()
    return DDP(make(args)), data
""",
    "methods_of_the_rank": """\
class Trainer:
    def __init__(self, args):
        self.rank = dist.get_rank()
        self.wait_for_first()
        self.data = load(args)
        self.first_is_done()
        self.model = DDP(make(args))

    def wait_for_first(self):
        if self.rank not in [-1, 0]:
            dist.barrier()

    def first_is_done(self):
        if self.rank == 0:
            dist.barrier()
""",
    "two_calls_deep": """\
def main(args):
    prepare(args)
    after()
    return DDP(make(args))


def prepare(args):
    before()
    args.data = load(args)


def before():
    if dist.get_rank() != 0:
        dist.barrier()


def after():
    if dist.get_rank() == 0:
        dist.barrier()
""",
}
"""Each is right on any number of ranks. `in_list` is that of P-tuning-v2 b1520c9
PT-Retrieval/colbert/colbert/training/training.py:41, `two_functions` the same in functions."""


@pytest.mark.parametrize("shape", _SHAPES)
def test_a_turnstile_is_no_finding(
    shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"script.py": _HEAD + _SHAPES[shape]}
    assert findings_in("DL101,DL102,DL103", tmp_path, files, capsys) == []


_HALVES = {
    "rank 0 alone": """\
def main(args):
    if args.rank not in [-1, 0]:
        load(args)
    if args.rank == 0:
        dist.barrier()  # here
    return DDP(make(args))
""",
    "one of two callers has both": """\
def main(args):
    before()
    data = load(args)
    after()
    return DDP(make(args)), data


def evaluate(args):
    before()
    return DDP(make(args))


def before():
    if dist.get_rank() != 0:
        dist.barrier()  # here


def after():
    if dist.get_rank() == 0:
        dist.barrier()
""",
    "the same half twice": """\
def main(args):
    before()
    data = load(args)
    before()
    return DDP(make(args)), data


def before():
    if dist.get_rank() != 0:
        dist.barrier()  # here
""",
}


_BY_SETTINGS = ("save", 'mode == "train"', "not args.evaluate", 'mode.startswith("t")', "step % 10 == 0",
                "torch.cuda.is_available()")  # fmt: skip


@pytest.mark.parametrize("test", _BY_SETTINGS)
def test_a_barrier_under_a_setting_is_no_half(
    test: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All ranks come to the first barrier or none: the second waits for those that never come."""
    text = f"""{_HEAD}\
def main(args, mode, save, step):
    if {test}:
        dist.barrier()
    if dist.get_rank() == 0:
        dist.barrier()  # here
    return DDP(make(args))
"""
    assert lines_of("DL101", tmp_path, text, capsys) == marked(text)


@pytest.mark.parametrize("shape", _HALVES)
def test_a_half_is_found(shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = _HEAD + _HALVES[shape]
    assert lines_of("DL101", tmp_path, text, capsys) == marked(text)


_OTHER_HALF = {
    "in the function": """\
def main(args):
    if dist.get_rank() > 1:
        dist.barrier()
    data = load(args)
    if dist.get_rank() == 0:
        dist.barrier()
    return DDP(make(args)), data
""",
    "in a function that is called beside it": """\
def main(args):
    before()
    data = load(args)
    after()
    dist.broadcast(data, 0)
    return data


def before():
    if dist.get_rank() > 1:
        dist.barrier()


def after():
    if dist.get_rank() == 0:
        dist.barrier()
""",
}


@pytest.mark.parametrize("shape", _OTHER_HALF)
def test_no_half_is_taken_from_under_its_test(
    shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One barrier without its test would wait for ranks that pass the other alone."""
    offers = offers_in("DL101", tmp_path, {"script.py": _HEAD + _OTHER_HALF[shape]}, capsys)
    assert offers
    assert {applicability for _, _, applicability in offers} == {"display"}
