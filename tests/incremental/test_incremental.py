"""After any edit, a check that reads the cache says byte for byte what one without says.

So does a check of one file: what a check of everything says of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from distlint.checking import check
from distlint.cli.inputs import Inputs, prepare
from distlint.project.cache import encode_finding
from tests.incremental.edits import (
    PACKAGES,
    copied,
    differences,
    differences_in_an_editor,
    generated,
    said,
)

LARGE = ("accelerate", "transformers", "peft")
"""Packages whose edits take half a minute and more."""
EACH_PACKAGE = [
    pytest.param(name, marks=pytest.mark.long if name in LARGE else pytest.mark.slow)
    for name in PACKAGES
]
EDITED = [
    *(pytest.param(name, 3, marks=pytest.mark.slow) for name in PACKAGES if name not in LARGE),
    *(pytest.param(name, 6, marks=pytest.mark.long) for name in PACKAGES),
]
"""With how many edits: each row of six begins with the row of three."""


@pytest.mark.parametrize("seed", range(4))
def test_edits_of_small_projects(seed: int, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    generated(folder, seed)
    assert said(folder, ["."], None)  # there is something to lose
    assert not list(differences(folder, tmp_path / "cache", seed, 12))


@pytest.mark.parametrize("saved", [True, False])
@pytest.mark.parametrize("seed", range(4, 7))
def test_edits_of_small_projects_in_an_editor(seed: int, saved: bool, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    generated(folder, seed)
    cache = tmp_path / "cache"
    assert not list(differences_in_an_editor(folder, cache, seed, 10, saved=saved))


@pytest.mark.parametrize("top", ["pyproject.toml", "README.md", ".gitignore"])
def test_of_a_file_alone_is_said_what_is_said_of_all(top: str, tmp_path: Path) -> None:
    """Scripts need the packages beside them, packages the scripts that use them: wherever the project starts."""
    generated(tmp_path, 1)
    for name in ("pyproject.toml", "README.md"):
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / top).write_text("", encoding="utf-8")
    everything = said(tmp_path, ["."], None)
    assert {"lib/files.py", "run_0.py"} <= everything.keys()
    for path in sorted(tmp_path.rglob("*.py")):
        name = path.relative_to(tmp_path).as_posix()
        expected = {name: everything[name]} if name in everything else {}
        assert said(tmp_path, [name], None) == expected


def test_only_groups_with_a_changed_file_are_analysed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    barrier = "import torch.distributed as dist\n\ndist.barrier()\n"
    for name in ("one.py", "two.py", "tool.py"):
        Path(name).write_text("x = 1\n" if name == "tool.py" else barrier, encoding="utf-8")

    def analysed() -> int:
        """How many groups are analysed anew."""
        stages = []
        requests = prepare(Inputs((".",), cache_dir="cache")).requests
        for request in requests:
            request.progress = lambda stage, done, total: stages.append(stage)
        check(requests)
        return stages.count("analysing")

    def append(name: str, text: str) -> None:
        with Path(name).open("a", encoding="utf-8") as file:
            file.write(text)

    assert analysed() == 2
    assert analysed() == 0
    append("two.py", "dist.barrier()\n")
    assert analysed() == 1
    append("tool.py", "y = 2\n")
    assert analysed() == 0
    append("three.py", barrier)
    assert analysed() == 1
    append("one.py", "import two\n")
    assert analysed() == 1
    append("two.py", "dist.barrier()\n")
    assert analysed() == 1
    Path("one.py").unlink()
    assert analysed() == 1  # `two` stands alone again


def test_how_code_is_launched_matters_where_a_rule_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain.py").write_text(
        "import torch.distributed as dist\n\ndef meet():\n    dist.barrier()\n",
        encoding="utf-8",
    )
    asking = (
        "import argparse\nimport torch.distributed as dist\n\nparser = argparse.ArgumentParser()\n"
    )
    asking += 'parser.add_argument("--local_rank")\nparser.parse_args()\ndist.barrier()\n'
    Path("asking.py").write_text(asking, encoding="utf-8")

    def found(cache: str | None) -> tuple[int, list[str]]:
        """How many groups are analysed anew, and what is found."""
        stages = []
        inputs = Inputs(
            (".",), select=("ALL",), preview=True, cache_dir=cache, no_cache=cache is None
        )
        requests = prepare(inputs).requests
        for request in requests:
            request.progress = lambda stage, done, total: stages.append(stage)
        rows = [repr(encode_finding(row.finding)) for row in check(requests).findings]
        return stages.count("analysing"), rows

    texts = [None, "torchrun asking.py\n", "python -m torch.distributed.launch asking.py\n", None]
    said_then: list[list[str]] = []
    for text, analysed in zip(texts, (2, 1, 1, 0), strict=True):
        if text is None:
            Path("run.sh").unlink(missing_ok=True)
        else:
            Path("run.sh").write_text(text, encoding="utf-8")
        times, rows = found("cache")
        assert times == analysed
        assert rows == found(None)[1]
        said_then.append(rows)
    assert said_then[1] != said_then[2]
    assert said_then[0] == said_then[3]


def test_a_file_that_is_saved_during_a_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is found in the new text is not kept as what is found in the old one."""
    monkeypatch.chdir(tmp_path)
    train, cache = tmp_path / "train.py", str(tmp_path / "cache")
    right = "import torch.distributed as dist\n\ndist.init_process_group()\ndist.barrier()\n"
    wrong = right.replace("dist.barrier()", "if dist.get_rank() == 0:\n    dist.barrier()")
    train.write_text(right, encoding="utf-8")

    def save(stage: str, done: int, total: int) -> None:
        if (stage, done) == ("parsing", 0) and total:
            train.write_text(wrong, encoding="utf-8")

    requests = prepare(Inputs((".",), cache_dir=cache)).requests
    for request in requests:
        request.progress = save
    assert check(requests).findings
    train.write_text(right, encoding="utf-8")
    assert not check(prepare(Inputs((".",), cache_dir=cache)).requests).findings


@pytest.mark.parametrize(("package", "edits"), EDITED)
def test_edits_of_installed_packages(package: str, edits: int, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    copied(package, PACKAGES[package], folder)
    assert not list(differences(folder, tmp_path / "cache", 1, edits))
    editor = differences_in_an_editor(folder, tmp_path / "cache", 2, (edits + 1) // 2, saved=True)
    assert not list(editor)


def said_with_hashes(folder: Path, seed: str) -> bytes:
    """What a check of `folder` prints where Python salts its hashes with `seed`.

    The order of a set of texts is another with each salt, and Python draws one for each process.
    """
    arguments = "check --no-cache --preview --output-format json ."
    run = subprocess.run(
        [sys.executable, "-m", "distlint", *arguments.split()],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert run.returncode in (0, 1), run.stderr
    return run.stdout


def test_two_processes_say_the_same(tmp_path: Path) -> None:
    generated(tmp_path, 2)
    first = said_with_hashes(tmp_path, "0")
    assert b'"code"' in first
    assert {said_with_hashes(tmp_path, seed) for seed in ("1", "2")} == {first}


@pytest.mark.parametrize("package", EACH_PACKAGE)
def test_two_processes_say_the_same_of_installed_packages(package: str, tmp_path: Path) -> None:
    copied(package, PACKAGES[package], tmp_path)
    assert said_with_hashes(tmp_path, "3") == said_with_hashes(tmp_path, "4")
