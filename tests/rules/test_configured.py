"""Objects that configurations name: their constructors and methods run where the program makes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from distlint.cli import main
from tests.rules.checked import findings_in, severities_in

FINDING = """\
import importlib


def class_of(name):
    module, _, cls = name.rpartition(".")
    return getattr(importlib.import_module(module), cls)


def made(section):
    return class_of(section["target"])(**section.get("params", {}))
"""

KEEPERS = """\
import os

import torch


class Keeper:
    def __init__(self, folder):
        self.folder = folder
        if not os.path.exists(folder):
            os.makedirs(folder)  # here

    def keep(self, model):
        torch.save(model.state_dict(), os.path.join(self.folder, "kept.pt"))  # here


class Other:
    def __init__(self, folder):
        self.path = os.path.join(folder, "other.pt")
        if not os.path.exists(folder):
            os.makedirs(folder)  # other

    def keep(self, model):
        torch.save(model.state_dict(), self.path)  # other


class Silent:
    def keep(self, model):
        return model
"""

TRAIN = """\
import torch
import torch.distributed as dist
from omegaconf import OmegaConf
from torch.nn.parallel import DistributedDataParallel as DDP
from hydra.utils import get_class, instantiate

from finding import made


def main(path, net, loader):
    dist.init_process_group("nccl")
    config = OmegaConf.load(path)
    keeper = {made}
    model = DDP(net)
    for batch in loader:
        model(batch).sum().backward()
    {guard}keeper.keep(model.module)


if __name__ == "__main__":
    main("config.yaml", torch.nn.Linear(2, 2), [])
"""

ONE = "keeper:\n  target: keepers.Keeper\n  params:\n    folder: out\n"
OTHER = ONE.replace("Keeper", "Other")
LIBRARY = ONE.replace("keepers.Keeper", "torch.nn.Linear")


def _files(made: str, guard: str = "", **configurations: str) -> dict[str, str]:
    beside = {f"configs/{name}.yaml": text for name, text in configurations.items()}
    text = TRAIN.format(made=made, guard=guard)
    return {"train.py": text, "finding.py": FINDING, "keepers.py": KEEPERS, **beside}


def _lines(*marks: str) -> list[tuple[str, int]]:
    lines = enumerate(KEEPERS.splitlines(), 1)
    return [("keepers.py", n) for n, line in lines if line.endswith(tuple(f"# {m}" for m in marks))]


KEPT = next(each for each in _lines("here") if "torch.save" in KEEPERS.splitlines()[each[1] - 1])


def _found(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> list[tuple[str, int]]:
    return sorted(
        findings_in("DL301", tmp_path, files, capsys)
        + findings_in("DL305", tmp_path, files, capsys)
    )


MADE = {
    "by an attribute": "made(config.keeper)",
    "by a key": 'made(config["keeper"])',
    "by a key that is taken out": 'made(config.pop("keeper"))',
    "of a section in a variable": "None\n    section = config.keeper\n    keeper = made(section)",
    "of a copy": "made(OmegaConf.to_container(config.keeper))",
    "hydra": "instantiate(config.keeper)",
    "hydra's class": "get_class(config.keeper.target)(folder=path)",
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_what_the_configurations_agree_on(
    made: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = _files(made, one=ONE, another=ONE.replace("out", "elsewhere"))
    assert _found(files, tmp_path, capsys) == _lines("here")


def test_each_of_two_is_made_by_some_launch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = _files("made(config.keeper)", one=ONE, another=OTHER)
    assert _found(files, tmp_path, capsys) == _lines("here", "other")


ELSEWHERE = {
    "under another key": _files(
        "made(config.keeper)",
        one=ONE.replace("keeper:", "other:", 1) + "keeper:\n  target: keepers.Silent\n",
    ),
    "of a library": _files("made(config.keeper)", one=LIBRARY),
    "no configuration": _files("made(config.keeper)"),
    "not made": _files("config.keeper", one=ONE),
}


@pytest.mark.parametrize("files", ELSEWHERE.values(), ids=ELSEWHERE)
def test_the_section_of_another_key_is_no_object_here(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert KEPT not in _found(files, tmp_path, capsys)


def test_what_one_rank_does_with_it_is_no_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    guard = "if dist.get_rank() == 0:\n        "
    files = _files("made(config.keeper)", guard, one=ONE)
    assert findings_in("DL301", tmp_path, files, capsys) == []


STATES = """\
import importlib


class State:
    pass


class Configured:
    def __init__(self, **sections):
        for name, section in sections.items():
            setattr(self, name, self.part(section))

    def part(self, section):
        module, _, name = section["target"].rpartition(".")
        return getattr(importlib.import_module(module), name)(**section["params"])


class Experiment(Configured):
    keeper = State()
"""

BY_STATE = """\
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from states import Experiment


def main(experiment: Experiment, net, loader):
    dist.init_process_group("nccl")
    model = DDP(net)
    for batch in loader:
        model(batch).sum().backward()
    experiment.keeper.keep(model.module)
"""


@pytest.mark.parametrize(("another", "found"), [(ONE, True), (OTHER, False), (LIBRARY, False)])
def test_an_attribute_that_is_set_by_its_name(
    another: str, found: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """MhLiao/DB 65ca77a: `self.experiment.train.model_saver.maybe_save_model(…)`."""
    files = _files("None", one=ONE, another=another)
    files |= {"states.py": STATES, "train.py": BY_STATE}
    assert findings_in("DL301", tmp_path, files, capsys) == ([KEPT] if found else [])


CODER = """\
import pytorch_lightning as pl


class Coder(pl.LightningModule):
    def __init__(self, net, monitor="val/rec"):
        super().__init__()
        self.net = net
        self.monitor = monitor

    def validation_step(self, batch, index):
        self.log_dict(self.net(batch))
"""

FIT = """\
import pytorch_lightning as pl
from omegaconf import OmegaConf
from pytorch_lightning.callbacks import ModelCheckpoint

from finding import made


def main(path, folder, loader):
    config = OmegaConf.load(path)
    module = made(config.model)
    kept = {"dirpath": folder}
    kept["monitor"] = module.monitor
    kept = OmegaConf.merge(kept, config.lightning.get("checkpoint", {}))
    trainer = pl.Trainer(devices=4, strategy="ddp", callbacks=[ModelCheckpoint(**kept)])
    trainer.fit(module, loader)
"""

FITTED = "model:\n  target: coder.Coder\n  params:\n    monitor: val/rec\ndata:\n  size: 8\n"
WATCHES = FITTED + "lightning:\n  checkpoint:\n    monitor: epoch\n"
FOR_SAMPLES = FITTED.partition("data:")[0]


@pytest.mark.parametrize(
    ("configurations", "severity"),
    [
        ([FITTED], "warning"),
        ([WATCHES], "info"),
        ([WATCHES, FOR_SAMPLES], "info"),
        ([WATCHES, FITTED], "warning"),
    ],
)
def test_a_section_of_the_checkpoint_says_what_it_watches(
    configurations: list[str], severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Make-An-Audio 0d84177 configs/train/diffusion.yaml."""
    files = {"coder.py": CODER, "fit.py": FIT, "finding.py": FINDING}
    files |= {f"configs/{n}.yaml": text for n, text in enumerate(configurations)}
    assert severities_in("DL601", tmp_path, files, capsys) == [severity]


def test_a_key_that_moves_is_read_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "project"
    for name, text in _files("made(config.keeper)", one=ONE).items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    found = []
    for text in (ONE, LIBRARY, ONE):
        (project / "configs/one.yaml").write_text(text, encoding="utf-8")
        arguments = ["--cache-dir", str(tmp_path / "cache"), "--select", "DL301"]
        with pytest.raises(SystemExit):
            main(["check", *arguments, "--output-format", "json", str(project)])
        found.append([f["line"] for f in json.loads(capsys.readouterr().out)["findings"]])
    assert found == [[KEPT[1]], [], [KEPT[1]]]
