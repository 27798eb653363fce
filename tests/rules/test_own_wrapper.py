"""A project's own wrapper keeps the network that it is handed as `module`, which only the name takes off."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import lines_of, offers_in

_UNWRAPS = """\
import torch
import torch.distributed as dist
from torch import nn


class {name}(nn.Module):
    def __init__(self, {parameter}):
        super().__init__()
        {keeps}


def innermost(model):
    model = torch.compile(model) if dist.get_rank() else model
    while hasattr(model, "module"):
        model = model.module
    return model
"""


@pytest.mark.parametrize(
    ("name", "parameter", "keeps", "lines"),
    [
        ("Half", "module", 'self.add_module("module", module.half())', []),
        ("Half", "module", "self.module = module.half()", []),
        ("Net", "width", "self.module = nn.Linear(width, width)", [14]),
    ],
)
def test_a_wrapper_of_the_project_is_taken_off_by_name(
    name: str,
    parameter: str,
    keeps: str,
    lines: list[int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = _UNWRAPS.format(name=name, parameter=parameter, keeps=keeps)
    assert lines_of("DL205", tmp_path, text, capsys) == lines


_IN_PLACE_OF_DDP = """\
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Plain(nn.Module):
    def __init__(self, {parameter}):
        super().__init__()
        self.module = {keeps}


def wrap(model):
    if dist.is_initialized():
        return DistributedDataParallel(model)
    return model


def main(model):
    model = wrap(model)
    model.module.update_average()
"""


@pytest.mark.parametrize(
    ("parameter", "keeps", "offered"),
    [
        ("module", "module", "display"),
        ("network", "network", "display"),
        ("network", "network.float()", "display"),
        ("width", "nn.Linear(width, width)", "safe"),
    ],
)
def test_unwrapping_by_class_is_only_shown_beside_a_wrapper_of_the_project(
    parameter: str,
    keeps: str,
    offered: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = _IN_PLACE_OF_DDP.format(parameter=parameter, keeps=keeps)
    assert [o for _, _, o in offers_in("DL204", tmp_path, {"train.py": text}, capsys)] == [offered]
