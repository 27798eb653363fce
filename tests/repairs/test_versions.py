"""What a fix writes is there in the version of the package that the project asks for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from distlint.cli import main

EVALUATION = """
from accelerate import Accelerator
from torch.utils.data import DataLoader


def evaluate(model, data, metric):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, DataLoader(data, batch_size=8))
    for batch in loader:
        metric.add(accelerator.gather(model(batch).argmax(-1)))
    return metric.compute()
"""


@pytest.mark.parametrize(
    ("files", "offered"),
    [
        ({}, "unsafe"),
        ({"requirements.txt": "accelerate\n"}, "unsafe"),
        ({"requirements.txt": "accelerate>=0.3.0\n"}, "unsafe"),
        ({"requirements.txt": "accelerate==0.12.0\n"}, "unsafe"),
        ({"requirements.txt": "accelerate==0.3.0\n"}, "display"),
        ({"requirements.txt": "numpy\naccelerate<0.12\n"}, "display"),
        ({"beside/requirements.txt": "accelerate==0.3.0\n"}, "unsafe"),
        ({"pyproject.toml": '[project]\ndependencies = ["accelerate~=0.11.0"]\n'}, "display"),
        ({"uv.lock": '[[package]]\nname = "accelerate"\nversion = "0.6.2"\n'}, "display"),
        (
            {"environment.yml": "dependencies:\n  - pip:\n    - accelerate==0.3.0\n"},
            "display",
        ),
        (
            {"environment.yml": "dependencies:\n  - conda-forge\n  - accelerate=1.2\n"},
            "unsafe",
        ),
        (
            # LoRA c4593f0 examples/NLU: the one file pins it, the other takes what is there.
            {
                "environment.yml": "- pip:\n  - accelerate==0.3.0\n",
                "requirements.txt": "accelerate",
            },
            "display",
        ),
        (
            {"environment.yml": "- accelerate=0.3.0\n", "requirements.txt": "accelerate>=0.20"},
            "unsafe",
        ),
    ],
)
def test_a_method_that_an_old_accelerate_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], offered: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert applicability(tmp_path, EVALUATION, files) == [offered]


FIRST = """
import os

import torch.distributed as dist
{imports}


def main(model, path):
    dist.init_process_group("nccl")
    {made}
    dist.barrier()
    if not os.path.exists(path):
        with open(path, "w") as file:
            file.write(str((model, gpu_id)))
    return model
"""


@pytest.mark.parametrize(
    ("imports", "made", "offered"),
    [
        ("from accelerate import Accelerator", "accelerator = Accelerator()", "display"),
        ("", "pass", "safe"),  # the runtime's own `main_process_first()`
    ],
)
def test_the_runtime_has_what_an_old_accelerate_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, imports: str, made: str, offered: str
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"requirements.txt": "accelerate==0.3.0\n"}
    code = FIRST.format(imports=imports, made=made)
    assert applicability(tmp_path, code, files, "DL305") == [offered]


def test_a_file_that_calls_it_already_is_newer_than_its_pin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    more = "\n\ndef of(accelerator, x):\n    return accelerator.gather_for_metrics(x)\n"
    files = {"requirements.txt": "accelerate==0.3.0\n"}
    assert applicability(tmp_path, EVALUATION + more, files) == ["unsafe"]


def applicability(folder: Path, code: str, files: dict[str, str], rule: str = "DL602") -> list[str]:
    """What a rule offers for `evaluate.py`, beside other files."""
    for name, text in {"evaluate.py": code, **files}.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    options = ["--no-cache", "--preview", "--select", rule, "--output-format", "json"]
    result = CliRunner().invoke(main, ["check", *options])
    return [each["fix"]["applicability"] for each in json.loads(result.stdout)["findings"]]
