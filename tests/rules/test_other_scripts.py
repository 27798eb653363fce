"""What another script of a project does, or a file of another library, is no evidence against this one."""

import json
from pathlib import Path

import pytest

from tests.rules.checked import findings_in

_RESTORES = """\
import torch
import torch.distributed as dist


def restore(outer_optimizer, path):
    print(dist.get_rank(), path)
    outer_optimizer.load_state_dict(torch.load(path))
"""
_ON_ONE_RANK = """\
import torch.distributed as dist
from restoring import restore


def main(model, outer_optimizer, path, batches):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        restore(outer_optimizer, path)  # here
    for batch in batches:
        model(batch).sum().backward()
"""
_STEPS = """\
import torch.distributed as dist


def main(model, outer_optimizer, batches):
    dist.init_process_group("nccl")
    for batch in batches:
        model(batch).sum().backward()
        outer_optimizer.step()
"""


@pytest.mark.parametrize("same", [True, False])
def test_an_optimizer_of_that_name_in_another_script(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], same: bool
) -> None:
    # OpenDiloco a5b7236: train_fsdp.py and train_diloco_torch.py have an `outer_optimizer` each.
    script = _ON_ONE_RANK + ("        outer_optimizer.step()\n" if same else "")
    files = {"restoring.py": _RESTORES, "first.py": script, "second.py": _STEPS}
    found = findings_in("DL211", tmp_path, files, capsys)
    assert found == ([("first.py", 8)] if same else [])


_CELL = """\
from accelerate import Accelerator
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("tiny")
accelerator = Accelerator()
model = accelerator.prepare(model)
model.generate()
model.module.config
"""


@pytest.mark.parametrize("code", ["DL201", "DL204"])
@pytest.mark.parametrize(
    ("before", "reported"),
    [("", False), ("# from accelerate import notebook_launcher\n", True)],
)
def test_a_notebook_is_one_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], code: str, before: str, reported: bool
) -> None:
    # llama-recipes faae2fd end-to-end-use-cases/NotebookLlama/Step-1 PDF-Pre-Processing-Logic.ipynb
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": before + _CELL}
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    files = {"book.ipynb": json.dumps(book)}
    assert bool(findings_in(code, tmp_path, files, capsys)) is reported


_LABELS = """\
{library}
from data import rows
from transformers import TFTrainer, Trainer


def numbers(texts):
    speakers = list(set(row["speaker"] for row in rows(texts)))
    return {{speaker: number for number, speaker in enumerate(speakers)}}
"""
_DIVIDES = """\
from torch.utils.data import DistributedSampler


def rows(texts):
    return texts


def loader(data):
    return DistributedSampler(data)
"""


@pytest.mark.parametrize(
    ("library", "reported"),
    [
        ("import torch", True),
        ("import tensorflow as tf", False),
        ("import tensorflow as tf\nimport torch", True),
    ],
)
def test_a_script_of_tensorflow_has_no_ranks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], library: str, reported: bool
) -> None:
    # CodeRL ec3c526 transformers/examples/legacy/text-classification/run_tf_text_classification.py:66
    files = {"train.py": _LABELS.format(library=library), "data.py": _DIVIDES}
    assert bool(findings_in("DL405", tmp_path, files, capsys)) is reported
