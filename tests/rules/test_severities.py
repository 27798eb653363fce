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


WRAPPING = """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

class Trainer:
    def __init__(self, args):
        self.is_distributed = args.distributed

    def train(self, model):
        self.begin(model)
        self.draw(model)

    def begin(self, model):
        {wrap}
        self.model = model

    def draw(self, batch):
        {read}
"""

DERIVED = """
import torch.distributed as dist

from file_0 import Trainer

class Drawing(Trainer):
    def draw(self, batch):
        return self.model.sample(batch)

def main(args, model):
    Drawing(args).train(model)
"""


@pytest.mark.parametrize(
    ("test", "apart", "expected"),
    [
        ("", False, ["error"]),
        ("if self.is_distributed: ", False, ["warning"]),
        ("", True, ["warning"]),
        ("if self.is_distributed: ", True, ["info"]),
    ],
)
def test_an_attribute_behind_a_wrapper_of_another_place(
    test: str, apart: bool, expected: list[str], tmp_path: Path
) -> None:
    wrap = f"{test}model = DistributedDataParallel(model)"
    read = "raise NotImplementedError" if apart else "return self.model.sample(batch)"
    texts = [WRAPPING.format(wrap=wrap, read=read), *([DERIVED] if apart else [])]
    assert severities(tmp_path, "DL201", *texts) == expected
