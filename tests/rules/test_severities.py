"""How bad a finding is depends on the rest of the program, which one cases.py cannot show."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from distlint.cli import main


def severities(tmp_path: Path, code: str, *texts: str) -> list[str]:
    for number, text in enumerate(texts):
        (tmp_path / f"file_{number}.py").write_text(text)
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with redirect_stdout(out), pytest.raises(SystemExit):
        main(["check", "--no-cache", "--select", code, "--output-format", "json", str(tmp_path)])
    return [finding["severity"] for finding in json.loads(out.detach().getvalue())["findings"]]


TEMPORARY = """
import torch.distributed as dist

def sample(model, batch):
    use_cache = model.config.use_cache
    model.config.use_cache = False
    out = model.generate(**batch)
    model.config.use_cache = use_cache
    return out
"""

DECORATED = """
import torch.distributed as dist

def in_eval(method):
    def inner(model, *args):
        was_training = model.training
        model.eval()
        out = method(model, *args)
        model.train(was_training)
        return out
    return inner

@in_eval
def sample(model, batch):
    return model(batch)
"""


def caller(handler: str) -> str:
    return f"""
import torch.distributed as dist
from file_0 import sample

def preview(model, batch):
    return sample(model, batch)

def train(model, loader):
    for batch in loader:
        try:
            preview(model, batch)
        {handler}
"""


@pytest.mark.parametrize(
    ("text", "handler", "expected"),
    [
        (TEMPORARY, "except RuntimeError:\n            continue", "error"),
        (DECORATED, "except RuntimeError:\n            continue", "warning"),
        (TEMPORARY, "except RuntimeError:\n            print(1)\n            raise", "info"),
        (TEMPORARY, "finally:\n            print(1)", "info"),
        (DECORATED, "finally:\n            print(1)", "info"),
    ],
)
def test_a_temporary_value_matters_where_somebody_catches(
    tmp_path: Path, text: str, handler: str, expected: str
) -> None:
    assert severities(tmp_path, "DL202", text, caller(handler)) == [expected]


UNWRAP = """
import deepspeed
{head}

def inner(model):
    return model.module if hasattr(model, "module") else model

def save(net):
    engine, _, _, _ = deepspeed.initialize(model=net)
    return engine.module if hasattr(engine, "module") else engine
"""


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("", ["info"]),  # the engine of `save` is known: name and class agree
        ("from torch import compile as torch_compile", ["warning"]),
        (
            "class Net:\n    def __init__(self, part):\n        self.module = part",
            ["warning", "warning"],
        ),
    ],
)
def test_unwrapping_by_name_matters_where_the_name_says_something_else(
    tmp_path: Path, head: str, expected: list[str]
) -> None:
    assert severities(tmp_path, "DL205", UNWRAP.format(head=head)) == expected


PAST = """
from torch.nn.parallel import DistributedDataParallel

def compare(net, batch):
    model = DistributedDataParallel(net)
    model.module(batch).sum().backward()
    return [p.grad for p in net.parameters()]
"""
STEPS = """
from file_0 import compare

def train(net, batch, optimizer):
    compare(net, batch)
    optimizer.step()
"""


def test_a_forward_past_the_wrapper_matters_where_an_optimizer_steps(tmp_path: Path) -> None:
    assert severities(tmp_path, "DL206", PAST) == []
    assert severities(tmp_path, "DL206", PAST, STEPS) == ["error"]


COPIED = """
import os
import shutil

import torch.distributed as dist

def keep_code(source, target, options):
    {shown}
    if os.path.exists(target):
        return
    shutil.copytree(source, target)
"""


@pytest.mark.parametrize(
    ("shown", "expected"),
    [("dist.barrier()", "error"), ("if dist.get_rank() == 0: print(options)", "warning")],
)
def test_a_tree_that_all_ranks_copy_matters_where_all_come(
    tmp_path: Path, shown: str, expected: str
) -> None:
    assert severities(tmp_path, "DL305", COPIED.format(shown=shown)) == [expected]
