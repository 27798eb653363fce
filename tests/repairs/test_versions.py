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


def test_a_file_that_calls_it_already_is_newer_than_its_pin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    more = "\n\ndef of(accelerator, x):\n    return accelerator.gather_for_metrics(x)\n"
    files = {"requirements.txt": "accelerate==0.3.0\n"}
    assert applicability(tmp_path, EVALUATION + more, files) == ["unsafe"]


def applicability(folder: Path, code: str, files: dict[str, str]) -> list[str]:
    """What DL602 offers for `evaluate.py`, beside other files."""
    for name, text in {"evaluate.py": code, **files}.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    options = ["--no-cache", "--preview", "--select", "DL602", "--output-format", "json"]
    result = CliRunner().invoke(main, ["check", *options])
    return [each["fix"]["applicability"] for each in json.loads(result.stdout)["findings"]]
