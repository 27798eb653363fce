"""Launches that Python files tell at their heads: in the docstring, and in comments above their code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from distlint.cli import main
from distlint.launch.heads import head_of
from distlint.launch.kinds import Kind, tells_in_head
from distlint.launch.project import TextFile, read_files

_SCRIPT = '''\
#!/usr/bin/env python
"""Trains a model.

Usage:
    # on four GPUs
    $ torchrun --standalone --nproc_per_node=4 {name} \\
        --config a.yaml
"""

import torch
'''
_COMMENT = (
    "# Copyright\n# Run with: CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 train.py\n"
)
_BELOW = "import torch\n\n\ndef f():\n    # torchrun --nproc_per_node=2 train.py\n    return 1\n"


def launched(text: str, path: str = "train.py") -> list[tuple[int, str, list[str]]]:
    """The launches at the head of a file: line, program, and the options that the program is given."""
    files = read_files([TextFile(path, Kind.HEAD, head_of(text))], frozenset({path}))
    return [
        (each.place.line, each.file, [*each.arguments]) for _, each in files.launches(told=True)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (_SCRIPT.format(name="train.py"), [(6, "train.py", ["config"])]),
        (_SCRIPT.format(name="-m src.train"), [(6, "src/train.py", ["config"])]),
        (_COMMENT, [(2, "train.py", [])]),
        ("'''Launch with: torchrun --nproc_per_node 2 train.py'''\n", [(1, "train.py", [])]),
        # of the program that this one was copied from, of one that is called in the code, and of what trains in general
        (_SCRIPT.format(name="main.py"), []),
        (_BELOW, []),
        ('"""Works with torchrun and accelerate launch."""\n', []),
        ('PAGE = """\ntorchrun --nproc_per_node=2 train.py\n"""\n', []),
    ],
)
def test_launches_of_the_file_itself(text: str, expected: list[tuple[int, str, list[str]]]) -> None:
    assert launched(text) == expected
    assert not expected or tells_in_head("train.py", text.encode())


def test_only_python_has_a_head() -> None:
    assert not tells_in_head("train.ipynb", _SCRIPT.format(name="train.py").encode())
    assert not tells_in_head("train.py", (" " * 9000 + _COMMENT).encode())


def test_a_head_does_not_say_where_it_is_started() -> None:
    told, page = (
        read_files([TextFile(path, kind, text)], frozenset({"train.py"}))
        for path, kind, text in (
            ("train.py", Kind.HEAD, head_of(_COMMENT)),
            ("run.sh", Kind.SHELL, "torchrun --nproc_per_node=2 train.py\n"),
        )
    )
    assert told.on_several("train.py")
    assert not told.on_one_machine_alone("train.py")
    assert page.on_one_machine_alone("train.py")


def findings(*arguments: str) -> list[tuple[str, str, int]]:
    given = ["check", ".", "--preview", "--select", "DL812", "--output-format", "json", *arguments]
    rows = json.loads(CliRunner().invoke(main, given).stdout)["findings"]
    return [(row["code"], row["path"], row["line"]) for row in rows]


def test_what_a_head_names_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of an earlier check goes by the head as it is now."""
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "train.py"
    script.write_text(_SCRIPT.format(name="train.py").replace("a.yaml", "configs/a.yaml"))
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "b.yaml").write_text("lr: 1\n")
    assert findings() == [("DL812", "train.py", 7)]
    script.write_text(script.read_text().replace("configs/a.yaml", "configs/b.yaml"))
    assert findings() == []
