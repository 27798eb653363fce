"""What the words of a script say beyond its commands: environments, unknown parts, files that are not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from distlint.cli import main
from distlint.launch.kinds import Kind
from distlint.launch.project import LaunchFiles, TextFile, read_files
from distlint.launch.quotes import open_quote

OLD = "python3 -m torch.distributed.launch --use_env --nproc_per_node=8 train.py\n"


def read(*files: tuple[str, Kind, str]) -> LaunchFiles:
    return read_files([TextFile(*each) for each in files])


def severities(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.chdir(folder)
    arguments = ["check", "--no-cache", "--preview", "--select", "DL8", "--output-format", "json"]
    found = json.loads(CliRunner().invoke(main, arguments).stdout)["findings"]
    return {row["code"]: row["severity"] for row in found}


@pytest.mark.parametrize(
    ("script", "environment"),
    [
        ("conda activate one\n" + OLD, "one"),
        ("source ~/miniconda3/bin/activate one\n" + OLD, "one"),
        ("conda activate two\nconda deactivate\n" + OLD, ""),
        ("conda activate $NAME\n" + OLD, ""),
        ("conda run --name one " + OLD, "one"),
        ('use() {\n  conda activate "$1"\n}\nuse one\n' + OLD, "one"),
        ('use() {\n  conda activate "$1"\n}\nuse elsewhere\n' + OLD, ""),
        ("use() {\n  conda activate fixed\n}\nuse\n" + OLD, "fixed"),
        ("use() {\n  conda activate one\n}\n" + OLD, ""),
        (OLD + "conda activate one\n", ""),
    ],
)
def test_the_environment_of_a_command(script: str, environment: str) -> None:
    listed = "name: one\ndependencies:\n  - pytorch=1.9.0\n"
    files = read(("run.sh", Kind.SHELL, script), ("one.yml", Kind.YAML, listed))
    ((_, launch),) = files.launches()
    assert launch.conda == environment
    assert files.older_than("torch", (1, 10), "run.sh", launch.conda)


def test_the_edit_is_for_the_torch_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.yml").write_text("name: old\ndependencies:\n  - pytorch=1.9.0\n")
    (tmp_path / "new.yml").write_text("name: new\ndependencies:\n  - pytorch=1.13.0\n")
    (tmp_path / "run.sh").write_text(f"conda activate old\n{OLD}conda activate new\n{OLD}")
    CliRunner().invoke(main, ["fix", "--no-cache", "--select", "DL805", "--apply"])
    assert (tmp_path / "run.sh").read_text() == (
        "conda activate old\npython3 -m torch.distributed.run --nproc_per_node=8 train.py\n"
        "conda activate new\ntorchrun --nproc_per_node=8 train.py\n"
    )


def test_an_unknown_part_of_a_text_is_only_of_its_word() -> None:
    script = 'ARGS="--config conf/a.yaml --nnodes ${N} --seed=7"\ntorchrun train.py $ARGS\n'
    ((_, launch),) = read(("run.sh", Kind.SHELL, script)).launches()
    assert {name: each.value for name, each in launch.arguments.items()} == {
        "config": "conf/a.yaml",
        "nnodes": None,
        "seed": "7",
    }


def test_what_people_fill_in_is_no_file_to_read_from() -> None:
    page = "```\npython -m torch.distributed.launch --nproc_per_node <number of gpus> train.py --cfg <file>\n```\n"
    ((_, launch),) = read(("README.md", Kind.GUIDE, page)).launches(told=True)
    assert launch.script is not None
    assert (launch.script.text, sorted(launch.arguments)) == ("train.py", ["cfg"])


@pytest.mark.parametrize(
    ("script", "severity"),
    [
        ("tools/train.py", "info"),
        ("sub/train.py", "warning"),
        ("train.py --config sub/none.yaml", "info"),
        ("train.py --config $NAME.yaml", "warning"),
    ],
)
def test_an_old_launcher_of_what_is_not_there_is_a_note(
    script: str, severity: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("train.py", "sub/train.py"):
        (tmp_path / name).write_text("import torch\n")
    (tmp_path / "sub/some.yaml").write_text("lr: 1\n")
    (tmp_path / "run.sh").write_text(f"python -m torch.distributed.launch {script}\n")
    assert severities(tmp_path, monkeypatch)["DL805"] == severity


def test_a_file_that_comes_later_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/test.py").write_text("import torch\n")
    (tmp_path / "run.sh").write_text("torchrun --nproc_per_node 2 sub/train.py\n")
    arguments = ["check", "--preview", "--cache-dir", "cache", "--select", "DL812"]
    assert CliRunner().invoke(main, arguments).exit_code == 1
    (tmp_path / "sub/train.py").write_text("import torch\n")
    assert CliRunner().invoke(main, arguments).exit_code == 0


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('a "b\n', 2),
        ("a 'b\n", 2),
        ('a "$(b "c")" "d\n', 13),
        ("a # it's\n", None),
        ('a "it\'s" ${b:-"c"} "${d:-it\'s}"\n', None),
        ("cat <<'E'\nit's\nE\n", None),
        ("cat <<-E\n\"\n\tE\nb 'c'\n", None),
        ("a $'it\\'s' \\\" \\'\n", None),
        ("case a in\n  b) c ;;\nesac\nd 'e'\n", None),
        ("a=${b#*\\'} c=${#d} e=$((1 << 2))\n", None),
        ('a <<< "b"\n', None),
        ('`a "b`\n', None),
    ],
)
def test_the_quote_that_stays_open(text: str, place: int | None) -> None:
    assert open_quote(text) == place


PARSES = """
import argparse

import torch
import torch.distributed as dist
{imported}

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
args = parser.parse_args()
torch.cuda.set_device(args.local_rank)
dist.init_process_group("nccl")
"""


@pytest.mark.parametrize(
    ("imported", "requirements", "severity"),
    [
        (
            "import timm",
            "timm==0.3.2\n",
            "info",
        ),  # esvit 2d6becd: it imports with torch below 1.9 alone
        ("import timm", "timm==0.3.2\ntorch>=2.0\n", "info"),
        ("import timm", "timm==0.9.2\n", "error"),
        ("from torch._six import container_abcs", "numpy\n", "info"),
        ("import timm", "torch==1.12.0\n", "warning"),
    ],
)
def test_an_old_launcher_of_its_time_is_a_note(
    imported: str,
    requirements: str,
    severity: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "train.py").write_text(PARSES.format(imported=imported))
    (tmp_path / "requirements.txt").write_text(requirements)
    (tmp_path / "README.md").write_text(f"```\n{OLD.replace(' --use_env', '')}```\n")
    assert severities(tmp_path, monkeypatch) == {"DL805": severity}


@pytest.mark.parametrize(
    ("page", "severity"),
    [
        ("pip install torch==1.9.1+cu111 torchvision==0.10.1\n", "info"),
        ("pip install torch==1.12.0\n", "warning"),
        ("pip install torch\n", "warning"),
    ],
)
def test_a_launch_with_a_torch_that_has_no_torchrun_is_a_note(
    page: str, severity: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text("import torch\n")
    (tmp_path / "INSTALL.md").write_text(f"```\n{page}```\n")
    (tmp_path / "run.sh").write_text(OLD.replace(" --use_env", ""))
    assert severities(tmp_path, monkeypatch) == {"DL805": severity}
