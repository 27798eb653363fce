"""A fix may change other files than the finding's: the calls of a helper that all ranks make, once for all that is in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from distlint.cli import main

HELPER = """\
import os

import torch


def write_settings(folder, settings):
    torch.save(settings, os.path.join(folder, "settings.pt"))
    torch.save(settings, os.path.join(folder, "again.pt"))
"""

TRAIN = """\
import torch.distributed as dist

from helper import write_settings


def main(settings):
    dist.init_process_group("gloo")
    write_settings("out", settings)
    dist.barrier()
"""

ALONE = """\
import torch.distributed as dist

from helper import write_settings


def main(settings):
    dist.init_process_group("gloo")
    if dist.get_rank() == 0:
        write_settings("tuned", settings)
    dist.barrier()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {"helper.py": HELPER, "train.py": TRAIN, "tune.py": ALONE}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    with pytest.raises(SystemExit):
        main([arguments[0], "--no-cache", *arguments[1:]])
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_the_call_in_another_file_is_changed_once(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, told = _run(capsys, "fix", "--diff", str(project))
    assert "Would apply 1 fix in 1 file" in told
    _run(capsys, "fix", "--apply", str(project))
    assert (project / "train.py").read_text() == TRAIN.replace(
        "import torch.distributed as dist\n",
        "import torch.distributed as dist\nfrom distlint.runtime import run_on_main\n",
    ).replace('write_settings("out"', 'run_on_main(write_settings, "out"')
    assert (project / "helper.py").read_text() == HELPER
    assert (project / "tune.py").read_text() == ALONE


def test_nothing_is_left_to_do_then(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _run(capsys, "fix", "--apply", str(project))
    out, _ = _run(capsys, "check", str(project))
    assert out.startswith("No findings")


def test_a_file_that_was_not_named_is_left_alone(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(capsys, "fix", "--apply", "--unsafe-fixes", str(project / "helper.py"))
    assert (project / "train.py").read_text() == TRAIN
    assert (project / "helper.py").read_text() == HELPER


def test_the_other_file_is_named(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = _run(capsys, "check", "--output-format", "json", str(project))
    fixes = [finding["fix"] for finding in json.loads(out)["findings"]]
    assert [Path(fix["path"]).name for fix in fixes] == ["train.py", "train.py"]
    assert all("train.py:8" in fix["message"] for fix in fixes)


@pytest.mark.parametrize(
    "text",
    [
        # What it gives is read by all ranks.
        TRAIN.replace("    write_settings(", "    settings = write_settings("),
        # Nobody is seen to call this one.
        TRAIN + "\n\ndef again(settings, *more):\n    write_settings(*more)\n",
    ],
)
def test_what_one_call_does_not_repair_is_only_shown(
    text: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "train.py" if "= write" in text else project / "other.py").write_text(text)
    out, _ = _run(capsys, "check", "--output-format", "json", str(project))
    fixes = [finding["fix"] for finding in json.loads(out)["findings"]]
    assert all(fix is None or not fix.get("path") for fix in fixes)


@pytest.fixture
def two_scripts(project: Path) -> tuple[Path, dict[str, str]]:
    """The project with a second script that all ranks run, and what is to become of both."""
    texts = {"train.py": TRAIN, "other.py": TRAIN.replace('"out"', '"other"')}
    (project / "other.py").write_text(texts["other.py"])
    fixed = {
        name: text.replace(
            "import torch.distributed as dist\n",
            "import torch.distributed as dist\nfrom distlint.runtime import run_on_main\n",
        ).replace("write_settings(", "run_on_main(write_settings, ")
        for name, text in texts.items()
    }
    return project, fixed


def test_the_calls_in_two_other_files_are_changed_together(
    two_scripts: tuple[Path, dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    # LoRA c4593f0 seq2seq-distillation/utils.py:446: a helper that writes where each script says.
    project, fixed = two_scripts
    out, told = _run(capsys, "fix", "--diff", str(project))
    assert "Would apply 1 fix in 2 files" in told
    assert out.count("+++ ") == 2
    _run(capsys, "fix", "--apply", "--line", f"{project}/helper.py:7", str(project))
    assert {name: (project / name).read_text() for name in fixed} == fixed
    assert (project / "helper.py").read_text() == HELPER
    out, told = _run(capsys, "fix", "--apply", "--unsafe-fixes", str(project))
    assert out.startswith("No findings")
    assert told.startswith("Nothing to fix")


@pytest.mark.parametrize("output_format", ["json", "sarif"])
def test_programs_are_told_of_both_files(
    output_format: str,
    two_scripts: tuple[Path, dict[str, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, _ = _run(capsys, "fix", "--diff", "--output-format", output_format, str(two_scripts[0]))
    document = json.loads(out)
    if output_format == "json":
        found = [finding["fix"] for finding in document["findings"]]
        changed = [{each["path"] for each in (fix, *fix["elsewhere"])} for fix in found]
    else:
        results = document["runs"][0]["results"]
        changed = [
            {each["artifactLocation"]["uri"] for each in result["fixes"][0]["artifactChanges"]}
            for result in results
        ]
    assert [sorted(Path(path).name for path in paths) for paths in changed] == [
        ["other.py", "train.py"]
    ] * 2


def test_both_files_are_changed_or_none(
    two_scripts: tuple[Path, dict[str, str]],
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
) -> None:
    project, fixed = two_scripts
    # Named alone, a file is not the whole fix.
    _run(capsys, "fix", "--apply", f"{project}/helper.py", f"{project}/train.py")
    assert (project / "train.py").read_text() == TRAIN
    outside = tmp_path_factory.mktemp("outside") / "train.py"
    (project / "train.py").rename(outside)
    (project / "train.py").symlink_to(outside)
    other = (project / "other.py").read_text()
    _, told = _run(capsys, "fix", "--apply", str(project))
    assert "train.py: not written, it is a link out of the project" in told
    assert "other.py: not written, as " in told
    assert (outside.read_text(), (project / "other.py").read_text()) == (TRAIN, other)
    assert other != fixed["other.py"]


LOADERS = """\
from torch.utils.data import DataLoader, DistributedSampler


def loaders(data, others):
    sampler = DistributedSampler(data)
    return DataLoader(data, sampler=sampler), DataLoader(others)
"""

EPOCHS = """\
import torch.distributed as dist

from loaders import loaders


def main(model, data, others, epochs):
    dist.init_process_group("gloo")
    train_loader, other_loader = loaders(data, others)
    for epoch in range(epochs):
        # one pass
        for batch in {loader}:
            model(batch).sum().backward()
"""


@pytest.mark.parametrize(
    ("loader", "told"), [("train_loader", True), ("enumerate(train_loader)", True), ("data", False)]
)
def test_a_sampler_of_another_file_is_told_by_its_loader(
    loader: str, told: bool, tmp_path: Path
) -> None:
    # radtts 07759cd train.py:149, with the loop in another file.
    files = {"loaders.py": LOADERS, "train.py": EPOCHS.format(loader=loader)}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    arguments = ["fix", "--apply", "--unsafe-fixes", "--no-cache", "--select", "DL403"]
    for _ in range(2):  # the second time there is nothing left to do
        with pytest.raises(SystemExit):
            main([*arguments, str(tmp_path)])
    assert (tmp_path / "loaders.py").read_text() == LOADERS
    code = "        train_loader.sampler.set_epoch(epoch)\n" if told else ""
    wanted = files["train.py"].replace("        # one pass\n", code + "        # one pass\n")
    assert (tmp_path / "train.py").read_text() == wanted
