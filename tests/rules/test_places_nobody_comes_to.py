"""Code for an option that nobody sets or several processes may not have, or for an old library: information."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import severities_in

TRACKS = """
import functools
import torch
import torch.distributed as dist

class Tracker:
    def __init__(self, size, visualize=False, name=None):
        self.visualize = visualize
        self.name = name

    def run(self, x):
        if {test}:
            torch.save(x.state_dict(), "seen.pt")

class Submitter:
    def __init__(self, size, visualize: bool = False):
        self.tracker = Tracker(size, {handed})

def main():
    dist.init_process_group("nccl")
    submitter = {made}
    x = torch.ones(1)
    {more}
    submitter.tracker.run(x)
    dist.all_reduce(x)
    print(torch.load("seen.pt"))

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("given", "severity"),
    [
        pytest.param({}, "info", id="nobody sets it"),
        pytest.param({"made": "Submitter(3, visualize=False)"}, "info", id="its default is passed"),
        pytest.param({"test": "not self.visualize"}, "error", id="its default lets in"),
        pytest.param({"test": "self.visualize and x is not None"}, "info", id="and: one is enough"),
        pytest.param({"test": "self.visualize or x is not None"}, "error", id="or: not known"),
        pytest.param({"test": "self.name is not None"}, "info", id="no name is given"),
        pytest.param({"test": "self.name is None"}, "error", id="no name is asked for"),
        pytest.param({"made": "Submitter(3, True)"}, "error", id="set by place"),
        pytest.param(
            {"made": "Submitter(3, visualize=dist.is_nccl_available())"}, "error", id="set"
        ),
        pytest.param({"made": "Submitter(**dict(size=3))"}, "error", id="handed in a dict"),
        pytest.param({"made": "functools.partial(Submitter, 3)()"}, "error", id="handed on"),
        pytest.param({"more": "submitter.tracker.visualize = True"}, "error", id="set later"),
        pytest.param({"more": "setattr(submitter.tracker, 'visualize', 1)"}, "error", id="by name"),
        pytest.param({"handed": ""}, "info", id="the inner one is not told"),
        pytest.param({"handed": "visualize=True"}, "error", id="the inner one is told"),
    ],
)
def test_an_option_that_no_call_sets(
    given: dict[str, str], severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """MeMOTR 7de13f4 models/runtime_tracker.py:98."""
    parts = {
        "test": "self.visualize",
        "handed": "visualize=visualize",
        "made": "Submitter(3)",
        "more": "print(x)",
    }
    text = TRACKS.format(**{**parts, **given})
    assert severities_in("DL301", tmp_path, {"train.py": text}, capsys) == [severity]


def test_an_option_of_a_library_may_be_set_by_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = {"test": "self.visualize", "handed": "visualize=visualize", "made": "Submitter(3)"}
    text = TRACKS.format(**parts, more="print(x)").partition("\nif __name__")[0]
    assert severities_in("DL301", tmp_path, {"library.py": text}, capsys) == ["error"]


LEAVES = """
import os
import torch.distributed as dist
from hooks import Hooks

RANK = int(os.environ["RANK"])

def fit(model, hooks=Hooks(), batches=()):
    for batch in batches:
        model(batch)
        if RANK == 0:
            {more}
            if {test}:
                return
    dist.barrier()

def main():
    dist.init_process_group("nccl")
    hooks = Hooks()
    {given}
    fit(print, hooks, range(3))

if __name__ == "__main__":
    main()
"""
HOOKS = """
class Hooks:
    def __init__(self):
        self.stop_training = False
        self.on_end = []

    def reset(self{parameters}):
        {reset}

    def run(self, *args):
        for each in self.on_end:
            each(*args)
"""


@pytest.mark.parametrize(
    ("given", "severity"),
    [
        pytest.param({}, "info", id="nothing sets it"),
        pytest.param({"reset": "self.stop_training = False"}, "info", id="set to the same"),
        pytest.param({"test": "not hooks.stop_training"}, "warning", id="it lets in"),
        pytest.param({"test": "hooks.stop_training and model"}, "info", id="and: one is enough"),
        pytest.param({"test": "hooks.on_end"}, "warning", id="no constant"),
        pytest.param({"reset": "self.stop_training = True"}, "warning", id="set by a method"),
        pytest.param({"reset": "self.stop_training |= True"}, "warning", id="changed"),
        pytest.param({"more": "hooks.stop_training = True"}, "error", id="set from outside"),
        pytest.param({"more": "setattr(hooks, 'stop_training', 1)"}, "warning", id="set by a text"),
        pytest.param({"more": "setattr(hooks, str(batch), 1)"}, "warning", id="set by any text"),
        pytest.param({"more": "setattr(model, str(batch), 1)"}, "info", id="set on something else"),
        pytest.param({"more": "vars(hooks).update(a=1)"}, "warning", id="set in its dict"),
        pytest.param(
            {"parameters": ", **given", "reset": "self.__dict__.update(given)"},
            "warning",
            id="set by keywords",
        ),
        pytest.param(
            {"more": "if model(batch):\n                return"}, "warning", id="another way out"
        ),
    ],
)
def test_a_flag_that_nothing_sets(
    given: dict[str, str], severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """yolov9 5b1ea9a utils/callbacks.py:31, asked in train.py:331."""
    parts = {
        "test": "hooks.stop_training",
        "more": "hooks.run(batch)",
        "given": "hooks = hooks.of(3)",
        "parameters": "",
        "reset": "print(self.on_end)",
    }
    parts |= given
    files = {"train.py": LEAVES.format(**parts), "hooks.py": HOOKS.format(**parts)}
    assert severities_in("DL101", tmp_path, files, capsys) == [severity]


WRITES = """
import torch
import torch.distributed as dist
from packaging import version
from accelerate.utils import is_torch_version

def main():
    dist.init_process_group("nccl")
    x = torch.ones(1)
    if {test}:
        dist.all_reduce(x)
    else:
        torch.save(x.state_dict(), "seen.pt")
    dist.all_reduce(x)
    print(torch.load("seen.pt"))

main()
"""


@pytest.mark.parametrize(
    ("test", "requirements", "severity"),
    [
        ('is_torch_version(">=", "1.11.0")', "torch==2.2.2\n", "info"),
        ('is_torch_version(">=", "1.11.0")', "", "info"),
        ('is_torch_version(">=", "1.11.0")', "torch==1.10.0\n", "error"),
        ('is_torch_version("<", "1.11.0")', "torch==2.2.2\n", "error"),
        ('version.parse(torch.__version__) >= version.parse("1.11")', "torch==2.2.2\n", "info"),
        ('torch.__version__ > "1.11"', "torch==2.2.2\n", "info"),
        ('torch.__version__ == "1.11"', "torch==2.2.2\n", "error"),
        ("torch.cuda.is_available()", "torch==2.2.2\n", "error"),
    ],
)
def test_an_arm_for_old_versions(
    test: str,
    requirements: str,
    severity: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """hallo 8fd7c57 hallo/models/unet_2d_blocks.py:933."""
    files = {"train.py": WRITES.format(test=test), "requirements.txt": requirements}
    assert severities_in("DL301", tmp_path, files, capsys) == [severity]


DRAWS = """
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

class Options:
    def check(self):
        {check}

class Worker:
    def __init__(self, rank):
        self.rank = rank

    def canvas(self, images, step):
        torch.save(self.net.state_dict(), "canvas.pt")
        if self.rank == 0:
            print("canvas.pt", step)

def work(local_rank, gpus_per_node, options):
    {rank}
    if options.run.ddp:
        dist.init_process_group("nccl", rank=rank, world_size=options.run.size)
    worker = Worker(rank)
    for step, images in enumerate(options.images()):
        {each}
        dist.barrier()
    if options.run.maps:
        worker.canvas(images, 0)

if __name__ == "__main__":
    options = Options()
    options.check()
    if options.run.ddp:
        mp.spawn(work, args=(8, options), nprocs=8)
    else:
        work(0, 8, options)
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        pytest.param({}, [], id="the sum of what is refused"),
        pytest.param(
            {"check": "assert not (self.run.ddp and self.run.maps), 'draw on one GPU'"},
            [],
            id="not both",
        ),
        pytest.param(
            {"check": "if self.run.maps:\n            assert not self.run.ddp"},
            [],
            id="not so many",
        ),
        pytest.param(
            {"check": "if self.run.ddp and self.run.maps: raise ValueError('one GPU')"},
            [],
            id="raised",
        ),
        pytest.param(
            {"check": "if self.run.ddp: assert not self.run.maps or self.run.small"},
            ["error"],
            id="refused under one more condition",
        ),
        pytest.param({"check": "if self.run.ddp: assert self.run.maps"}, ["error"], id="asked for"),
        pytest.param({"check": "assert not self.run.maps"}, ["error"], id="of one process, too"),
        pytest.param({"check": "if self.run.ddp: print(self.run.maps)"}, ["error"], id="no check"),
        pytest.param(
            {"each": "worker.canvas(images, step)"}, ["error"], id="called on all ranks, too"
        ),
        pytest.param(
            {"rank": "rank = options.run.seed * 1000 + local_rank"},
            [],
            id="a condition of some rank",
        ),
    ],
)
def test_an_option_that_several_processes_may_not_have(
    given: dict[str, str], found: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PyTorch-StudioGAN 947b35e src/config.py:684, for src/utils/misc.py:427."""
    parts = {
        "check": "if self.run.ddp: assert self.run.maps + self.run.faces == 0, 'one GPU'",
        "rank": "rank = options.run.node * gpus_per_node + local_rank",
        "each": "if rank == 0: worker.canvas(images, step)",
    }
    files = {"train.py": DRAWS.format(**(parts | given))}
    assert severities_in("DL301", tmp_path, files, capsys) == found
