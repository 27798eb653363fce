"""Classes and functions that a name chooses at run time: tables, modules, registries, configurations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from distlint.cli import main
from tests.rules.checked import findings_in

PARTS = """\
import torch
from torch import nn


class Noise(nn.Module):
    def forward(self, batch):
        return batch + torch.randn_like(batch)


class Mask(nn.Module):
    def forward(self, batch):
        return batch * torch.bernoulli(torch.full_like(batch, 0.5))


class Same(nn.Module):
    def forward(self, batch):
        return batch
"""

MAIN = """\
import argparse
import importlib

import torch
from hydra.utils import instantiate
from torch.nn.parallel import DistributedDataParallel as DDP

import parts
from registry import PARTS, make, part_of, register

{table}

def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", default="{default}")
    return parser.parse_args()


def main(args, loader):
    torch.manual_seed(args.seed)
    part = {made}
    model = DDP(args.model)
    for batch in loader:
        model(part(batch)).sum().backward()
"""

REGISTRY = """\
import importlib

PARTS = {}


def register(name):
    def keep(cls):
        PARTS[name] = cls
        return cls

    return keep


def part_of(name):
    return PARTS[name]


def make(config):
    module, _, name = config["target"].rpartition(".")
    return getattr(importlib.import_module(module), name)(**config.get("params", {}))
"""

TABLE = 'TABLE = {"noise": parts.Noise, "mask": parts.Mask, "same": parts.Same}\n'
DRAWING = 'TABLE = {"noise": parts.Noise, "mask": parts.Mask}\n'
PARTLY = 'TABLE = {"noise": parts.Noise, "other": args_of().other}\n'
HANDED = """

def made(name="noise"):
    return TABLE[name]()

"""
NESTED = """\
TABLES = {"same": {"train": parts.Same, "test": parts.Same}}
TABLES["noise"] = {"train": parts.Noise, "test": None}

"""
BY_TABLE = "TABLE[args.part]()"

BY_NAME = {
    "the default of a table": (TABLE, "noise", BY_TABLE),
    "all of a table": (DRAWING, "", "TABLE[args.kind]()"),
    "a table that is asked": (TABLE, "mask", "TABLE.get(args.part)()"),
    "a module's attribute": ("", "Noise", "getattr(parts, args.part)()"),
    "a module's names": ("", "Mask", "parts.__dict__[args.part]()"),
    "a class in a variable": (
        TABLE,
        "noise",
        "None\n    chosen = TABLE[args.part]\n    part = chosen()",
    ),
    "a loop over names": (
        TABLE,
        "",
        'None\n    for name in ("noise",):\n        part = TABLE[name]()',
    ),
    "a table in a table": (NESTED, "noise", 'TABLES[args.part]["train"]()'),
    "a name that is handed on": (TABLE + HANDED, "mask", "made(args.part)"),
    "a default of a parameter": (TABLE + HANDED, "", "made()"),
}

OTHER_BY_NAME = {
    "the default draws nothing": (TABLE, "same", BY_TABLE),
    "some draw, and nobody says which": (TABLE, "", "TABLE[args.kind]()"),
    "an entry that is not known": (PARTLY, "", "TABLE[args.kind]()"),
    "another table in the table": (NESTED, "same", 'TABLES[args.part]["train"]()'),
    "another key of a table in a table": (NESTED, "noise", 'TABLES[args.part]["test"]()'),
    "another key": (TABLE, "", 'TABLE["same"]()'),
    "another module": ("", "Noise", "getattr(torch.nn, args.part)()"),
    "a module that draws here and there": ("", "", "getattr(parts, args.kind)()"),
    "a table that is not called": (TABLE, "noise", "print(TABLE[args.part]) or args.part_of"),
}


def _seeded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str]
) -> list[tuple[str, int]]:
    given = {"parts.py": PARTS, "registry.py": REGISTRY, **files}
    return findings_in("DL401", tmp_path, given, capsys)


def _main(table: str, default: str, made: str) -> str:
    return MAIN.format(table=table, default=default, made=made)


def _seed_line(text: str) -> list[tuple[str, int]]:
    return [("train.py", n) for n, line in enumerate(text.splitlines(), 1) if "manual_seed" in line]


@pytest.mark.parametrize("parts", BY_NAME.values(), ids=BY_NAME)
def test_what_a_name_chooses_draws(
    parts: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = _main(*parts)
    assert _seeded(tmp_path, capsys, {"train.py": text}) == _seed_line(text)


@pytest.mark.parametrize("parts", OTHER_BY_NAME.values(), ids=OTHER_BY_NAME)
def test_what_a_name_may_choose_does_not_surely_draw(
    parts: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _seeded(tmp_path, capsys, {"train.py": _main(*parts)}) == []


REGISTERED = """
@register("{name}")
class Noise(parts.Noise):
    pass


@register("same")
class Same(parts.Same):
    pass

"""


def test_files_that_register_others_may_be_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = REGISTERED.format(name="noise").partition('\n\n@register("same")')[0] + "\n\n"
    files = {"train.py": _main(table, "", "PARTS[args.kind]()")}
    assert _seeded(tmp_path, capsys, files) == []


@pytest.mark.parametrize("made", ["PARTS[args.part]()", "part_of(args.part)()"])
@pytest.mark.parametrize("default", ["noise", "same"])
def test_what_a_decorator_registers(
    made: str, default: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = _main(REGISTERED.format(name="noise"), default, made)
    expected = _seed_line(text) if default == "noise" else []
    assert _seeded(tmp_path, capsys, {"train.py": text}) == expected


CONFIGURED = {
    "target": ("make(args.config)", "part.yaml", "part:\n  target: parts.Noise\n"),
    "hydra": ("instantiate(args.part)", "part.yml", "_target_: 'parts.Mask'\nsize: ${size}\n"),
    "in a list": ("make(args.config)", "all.yaml", "parts:\n  - target: parts.Noise\n"),
    "JSON": ("make(args.config)", "part.json", '{"part": {"target": "parts.Noise"}}\n'),
}

NOT_CONFIGURED = {
    "another class": ("make(args.config)", "part.yaml", "part:\n  target: parts.Same\n"),
    "a word of prose": (
        "make(args.config)",
        "part.yaml",
        "# target parts.Noise\npart: parts.Noise\n",
    ),
    "of a library": ("instantiate(args.part)", "part.yaml", "_target_: torch.nn.Dropout\n"),
    "no configuration": ("make(args.config)", "notes.txt", "part:\n  target: parts.Noise\n"),
    "nothing made of it": ("print", "part.yaml", "part:\n  target: parts.Noise\n"),
    "for samples": (
        "args.part if make(args.config) else args.other",
        "part.yaml",
        "part:\n  target: parts.NoiseSampler\n",
    ),
}

SAMPLER = PARTS + "\n\nclass NoiseSampler(Noise):\n    pass\n"


@pytest.mark.parametrize("parts", CONFIGURED.values(), ids=CONFIGURED)
def test_what_a_configuration_names_draws(
    parts: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, name, configuration = parts
    text = _main("", "", made)
    found = _seeded(tmp_path, capsys, {"train.py": text, name: configuration})
    assert found == _seed_line(text)


@pytest.mark.parametrize("parts", NOT_CONFIGURED.values(), ids=NOT_CONFIGURED)
def test_what_no_configuration_names(
    parts: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made, name, configuration = parts
    files = {"train.py": _main("", "", made), name: configuration, "parts.py": SAMPLER}
    assert _seeded(tmp_path, capsys, files) == []


@pytest.mark.parametrize(
    ("name", "found"),
    [("LatentVisualNoise", True), ("NoiseVisualizer", False), ("VisualLogger", False)],
)
def test_a_model_may_be_called_after_what_it_sees(
    name: str, found: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DynamiCrafter c453369 lvdm/models/ddpm3d.py:1011."""
    text = _main("", "", "args.part if make(args.config) else args.other")
    files = {
        "train.py": text,
        "part.yaml": f"part:\n  target: parts.{name}\n",
        "parts.py": f"{PARTS}\n\nclass {name}(Noise):\n    pass\n",
    }
    assert _seeded(tmp_path, capsys, files) == (_seed_line(text) if found else [])


def test_a_configuration_that_changes_is_read_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    text = _main("", "", "make(args.config)")
    files = {"train.py": text, "parts.py": PARTS, "registry.py": REGISTRY}
    for name, content in files.items():
        (project / name).write_text(content, encoding="utf-8")
    lines = []
    for part in ("Noise", "Same", "Noise"):
        (project / "part.yaml").write_text(f"target: parts.{part}\n", encoding="utf-8")
        arguments = ["--cache-dir", str(tmp_path / "cache"), "--select", "DL401"]
        with pytest.raises(SystemExit):
            main(["check", *arguments, "--output-format", "json", str(project)])
        lines.append([f["line"] for f in json.loads(capsys.readouterr().out)["findings"]])
    expected = [line for _, line in _seed_line(text)]
    assert lines == [expected, [], expected]


FITTED = """\
import hydra
import lightning as L
from lightning import Trainer


def main(config):
    L.seed_everything(config.seed)
    module = hydra.utils.instantiate(config.module)
    trainer: Trainer = {trainer}
    trainer.fit(module)
"""

MODULE = """\
import torch
from lightning import LightningModule


class Denoiser(LightningModule):
    def training_step(self, batch, index):
        return self.net(batch + torch.randn_like(batch)).mean()
"""


@pytest.mark.parametrize(
    ("trainer", "lines"),
    [
        ("hydra.utils.instantiate(config.trainer)", [7]),
        ("Trainer.from_argparse_args(config)", [7]),
        ("Trainer(devices=1)", []),
    ],
)
def test_a_module_and_a_trainer_of_a_configuration(
    trainer: str, lines: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "train.py": FITTED.format(trainer=trainer),
        "denoiser.py": MODULE,
        "config.yaml": "module:\n  _target_: denoiser.Denoiser\n",
    }
    assert findings_in("DL401", tmp_path, files, capsys) == [("train.py", n) for n in lines]


BY_KEY = """\
import hydra
import lightning as L
from hydra.utils import instantiate
from denoiser import Denoiser


def main(config):
    L.seed_everything(config.seed)
    trainer = {made}
    trainer.fit(Denoiser())
"""


@pytest.mark.parametrize(
    ("made", "lines"),
    [
        ("hydra.utils.instantiate(config.trainer, callbacks=[])", [8]),
        ('instantiate(config["trainer"])', [8]),
        ("instantiate(config.lightning.pl_trainer, _convert_='partial')", [8]),
        ("instantiate(config.solver)", []),
        ("make(config.trainer)", []),
        ("instantiate(config.trainer.callbacks)", []),
    ],
)
def test_a_trainer_that_the_key_of_a_configuration_names(
    made: str, lines: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing but the key and what the file imports says of which class the Trainer is."""
    text = BY_KEY.format(made=made)
    files = {"train.py": text, "denoiser.py": MODULE}
    assert findings_in("DL401", tmp_path, files, capsys) == [("train.py", n) for n in lines]
    of_nobody = text.replace("import lightning as L\n", "import seeding as L\n")
    files = {"train.py": of_nobody, "denoiser.py": MODULE}
    assert findings_in("DL401", tmp_path, files, capsys) == []


def test_files_of_a_program_whose_trainer_a_configuration_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """\
import os
import hydra
import torch
import lightning as L
from denoiser import Denoiser


def prepare(path, data):
    if not os.path.exists(path):
        torch.save(data, path)  # here
    return torch.load(path)


def main(config, data):
    loader = prepare("cache.pt", data)
    trainer = MADE
    trainer.fit(Denoiser(), loader)
"""
    for made, found in (("hydra.utils.instantiate(config.trainer)", 1), ("config.trainer()", 0)):
        files = {"train.py": text.replace("MADE", made), "denoiser.py": MODULE}
        assert len(findings_in("DL305", tmp_path, files, capsys)) == found


def test_one_entry_of_a_table_is_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """\
import torch.distributed as dist


class Solver:
    def fit(self):
        if dist.get_rank() == 0:
            dist.barrier()


TASKS = {"detection": Solver}


def main(config):
    TASKS[config["task"]]().fit()
"""
    assert findings_in("DL101", tmp_path, {"train.py": text}, capsys) == [("train.py", 7)]


BASE = """\
import torch


class Base:
    def __init__(self, config):
        self.config = config

    def train(self):
        for step in range(self.config.steps):
            self.step(step)
            self.save(self.config.out)

    def step(self, step):
        raise NotImplementedError

    def save(self, folder):
        torch.save(self.config.state, f"{folder}/state.pt")
"""
TRAINERS = {
    "trainers/base.py": BASE,
    "trainers/small.py": (
        "import torch.distributed as dist\n\nfrom .base import Base\n\n\nclass Small(Base):\n"
        "    def step(self, step):\n        return step * dist.get_world_size()\n"
    ),
    "trainers/large.py": (
        "import torch.distributed as dist\n\nfrom .base import Base\n\n\nclass Large(Base):\n"
        "    def step(self, step):\n        return step / dist.get_world_size()\n{own}"
    ),
    "trainers/__init__.py": (
        "from .small import *\nfrom .large import *\n\n"
        'TRAINERS = {"small": Small, "large": Large}\n'
    ),
    "train.py": (
        "import torch.distributed as dist\n\nfrom trainers import TRAINERS\n\n\n"
        "def main(config):\n    made = TRAINERS[config.kind]\n    trainer = made(config)\n    trainer.train()\n    dist.barrier()\n\n\n"
        'if __name__ == "__main__":\n    dist.init_process_group("nccl")\n    main(options())\n'
    ),
}
OWN_TRAIN = "\n    def train(self):\n        print(self.config)\n"


def _trainers(folder: Path, own: str) -> dict[str, str]:
    (folder / "trainers").mkdir()
    return {name: text.replace("{own}", own) for name, text in TRAINERS.items()}


def test_what_all_classes_of_a_table_inherit_is_called(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = next(n for n, text in enumerate(BASE.splitlines(), 1) if "torch.save" in text)
    found = findings_in("DL301", tmp_path, _trainers(tmp_path, ""), capsys)
    assert found == [("base.py", line)]


def test_what_one_class_of_a_table_overrides_another_one_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some launch names the one that inherits it: `--kind small` has all ranks write one file."""
    line = next(n for n, text in enumerate(BASE.splitlines(), 1) if "torch.save" in text)
    files = _trainers(tmp_path, OWN_TRAIN)
    assert findings_in("DL301", tmp_path, files, capsys) == [("base.py", line)]
