"""A repair unwraps with what the class or the file has for it, and with nothing that would not be there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.in_this_process import distlint

PLACE = """\
from accelerate import Accelerator
from torch import nn
{imports}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.width = 3

{above}
class Trainer:
    def __init__(self):
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(Net())
{members}
    def train(self):
        return self.model.width
"""

HELPERS = """\
from torch.nn.parallel import DistributedDataParallel


def unwrap_model(model):
    if isinstance(model, DistributedDataParallel):
        return model.module
    else:
        return model


def unwrap_ddp(model, kind):
    return model.module if kind else model
"""

PROPERTY = """\

    @property
    def unwrapped_model(self):
        return self.accelerator.unwrap_model(self.model)
"""
DERIVED = """\
from accelerate import Accelerator
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.width = 3


class Base:
    def __init__(self):
        self.accelerator = Accelerator()


class Trainer(Base):
    def __init__(self):
        {constructor}
        self.model = DistributedDataParallel(Net())

    def train(self):
        return self.model.width
"""
OF_ANOTHER = PROPERTY.replace("self.model)", "self.teacher)")
PREPARES = """\

    @property
    def unwrapped_model(self):
        self.model = self.accelerator.prepare(self.model)
        return self.accelerator.unwrap_model(self.model)
"""
METHOD = """\

    def unwrap_model(self, model):
        return model.module if hasattr(model, "module") else model
"""
ELSEWHERE = """
        self.engine = self.accelerator

    def save(self, path):
        return self.engine.unwrap_model(self.model).state_dict()
"""
FUNCTION = """\

def unwrap_model(model):
    return model.module if hasattr(model, "module") else model

"""


@pytest.mark.parametrize(
    ("imports", "above", "members", "wanted"),
    [
        ("", "", PROPERTY, "self.unwrapped_model.width"),
        ("", "", OF_ANOTHER, "self.accelerator.unwrap_model(self.model).width"),
        ("", "", PREPARES, "self.accelerator.unwrap_model(self.model).width"),
        ("", "", METHOD, "self.unwrap_model(self.model).width"),
        ("", "", ELSEWHERE, "self.engine.unwrap_model(self.model).width"),
        ("", FUNCTION, "", "unwrap_model(self.model).width"),
        ("from helpers import unwrap_model", "", "", "unwrap_model(self.model).width"),
        ("from helpers import unwrap_model as unwrap", "", "", "unwrap(self.model).width"),
        # It wants to be told what kind of a model it gets.
        (
            "from helpers import unwrap_ddp",
            "",
            "",
            "self.accelerator.unwrap_model(self.model).width",
        ),
        (
            "from transformers.modeling_utils import unwrap_model",
            "",
            "",
            "unwrap_model(self.model).width",
        ),
        # It takes off PEFT alone, and gathers for one block.
        (
            "from trl.models.utils import unwrap_model_for_generation",
            "",
            "",
            "self.accelerator.unwrap_model(self.model).width",
        ),
    ],
)
def test_what_unwraps(imports: str, above: str, members: str, wanted: str, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(PLACE.format(imports=imports, above=above, members=members))
    (tmp_path / "helpers.py").write_text(HELPERS)
    _fix(tmp_path)
    assert f"        return {wanted}\n" in file.read_text()


@pytest.mark.parametrize(
    ("constructor", "wanted"),
    [
        ("super().__init__()", "self.accelerator.unwrap_model(self.model).width"),
        ("Base.__init__(self)", "self.accelerator.unwrap_model(self.model).width"),
        # Who calls no other constructor has what it makes itself.
        ("self.name = 'mine'", "unwrap(self.model).width"),
    ],
)
def test_the_accelerator_of_a_base(constructor: str, wanted: str, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(DERIVED.format(constructor=constructor))
    _fix(tmp_path, "runtime")
    assert file.read_text().endswith(f"        return {wanted}\n")


def _fix(folder: Path, style: str = "native") -> None:
    command = ["fix", "--apply", "--no-cache", "--select", "DL201", "--fix-style", style, "."]
    assert distlint([*command, "--exit-zero"], folder).returncode == 0


OF_SIBLINGS = """\
from abc import ABC

from accelerate import Accelerator
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.width = 3


class Base(ABC):
    def save(self, path):
        self.accelerator.unwrap_model(self.model).save(path)


class WithAccelerator(Base):
    def __init__(self):
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(Net())


class Trainer(Base):
    def __init__(self):
        {makes}
        self.model = DistributedDataParallel(Net())

    def train(self):
        return self.model.width
"""


@pytest.mark.parametrize(
    ("makes", "wanted"),
    [
        ("self.accelerator = Accelerator()", "self.accelerator.unwrap_model(self.model).width"),
        # align-anything 3f9decc: only the trainers of diffusion models make one.
        ("self.name = 'mine'", "self.model.module.width"),
    ],
)
def test_the_accelerator_of_a_sibling(makes: str, wanted: str, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(OF_SIBLINGS.format(makes=makes))
    _fix(tmp_path)
    assert f"        return {wanted}\n" in file.read_text()
