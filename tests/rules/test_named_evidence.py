"""What a finding names is what happens in training, and scripts for JAX have no ranks to tell apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from distlint.cli import main
from tests.rules.checked import findings_in, offers_in

ENCODES = """\
import numpy as np
{imports}


def encode(args, model, out):
    if args.local_rank == 0:
        print("encoding")
    np.save(out, model())
"""


@pytest.mark.parametrize(
    ("imports", "found"),
    [
        ("import torch.distributed as dist", [("encode.py", 8)]),
        # tevatron dd06310 src/tevatron/retriever/driver/jax_encode.py: one process drives all devices by `pmap`.
        ("from flax import jax_utils", []),
        ("import jax", []),
        ("import jax, torch.distributed", [("encode.py", 8)]),
    ],
)
def test_a_script_for_jax_has_one_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], imports: str, found: list[tuple[str, int]]
) -> None:
    files = {"encode.py": ENCODES.format(imports=imports)}
    assert findings_in("DL301", tmp_path, files, capsys) == found


TRAINS = """\
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

from models import Synthesizer


def train(args, loader):
    torch.manual_seed(args.seed)
    model = DDP(Synthesizer())
    for batch in loader:
        model(batch).sum().backward()
        evaluate(model, batch)


def evaluate(model, batch):
    with torch.no_grad():
        model.module.infer(batch)
"""
MODELS = """\
import torch


class Synthesizer(torch.nn.Module):
    def infer(self, batch):
        return torch.randn_like(batch)

    def forward(self, batch):
        return batch + torch.randn_like(batch)
"""


def test_a_draw_of_the_training_is_named_before_one_of_the_evaluation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text(TRAINS, encoding="utf-8")
    (tmp_path / "models.py").write_text(MODELS, encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["check", "--no-cache", "--select", "DL401", "--output-format", "json", str(tmp_path)])
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert "line 9 of models.py" in finding["message"]


DECLARES = """\
import argparse

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", default=0, type=int{more})
{reads}
dist.init_process_group("nccl")
"""


@pytest.mark.parametrize(
    ("more", "reads", "start", "offered"),
    [
        ("", "parser.parse_args()", "python -m torch.distributed.launch train.py\n", ["safe"]),
        ("", "parser.parse_args()", "", []),
        ("", "print(parser.parse_args().local_rank)", "", ["unsafe"]),
        ("", "print(vars(parser.parse_args())['local_rank'])", "", ["unsafe"]),
        ("", "local_rank = torch.cuda.current_device(), parser.parse_args()", "", []),
        (', dest="rank"', "print(parser.parse_args().rank)", "", ["unsafe"]),
    ],
)
def test_an_argument_that_nothing_reads_gets_no_default(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    more: str,
    reads: str,
    start: str,
    offered: list[str],
) -> None:
    files = {"train.py": DECLARES.format(more=more, reads=reads), "run.sh": start}
    offers = offers_in("DL805", tmp_path, files, capsys)
    assert offers == [("train.py", 6, each) for each in offered]


@pytest.mark.parametrize("reads", ["parser.parse_args()", "print(parser.parse_args().local_rank)"])
@pytest.mark.parametrize("launched", ["", "python -m torch.distributed.launch train.py\n"])
def test_an_argument_that_has_to_be_given_becomes_optional(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads: str, launched: str
) -> None:
    text = DECLARES.format(more=", required=True", reads=reads).replace("default=0, ", "")
    (tmp_path / "train.py").write_text(text)
    (tmp_path / "run.sh").write_text(launched)
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(main, ["fix", "--no-cache", "--select", "DL805", "--apply", "train.py"])
    assert (
        'parser.add_argument("--local-rank", "--local_rank", type=int, '
        'default=os.environ.get("LOCAL_RANK", "0"))\n'
    ) in (tmp_path / "train.py").read_text()
