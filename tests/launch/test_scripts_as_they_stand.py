"""What the words of a script say beyond its commands: environments, unknown parts, files that are not there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from distlint.cli import main
from distlint.launch.cut_short import cut_short
from distlint.launch.environments import torch_of
from distlint.launch.kinds import Kind, is_of_launch, kind_of, may_be_of_launch
from distlint.launch.project import LaunchFiles, TextFile, read_files
from distlint.launch.quotes import commands_of_nothing, open_quote

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
        (tmp_path / name).write_text("import torch\nargs = parser.parse_args()\n")
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


def test_a_page_in_utf_16_is_read_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "README.md"
    page.write_bytes(f"```\r\n{OLD}```\r\n".encode("utf-16"))
    (tmp_path / "train.py").write_text("import torch\n")
    assert severities(tmp_path, monkeypatch)["DL805"] == "info"
    before = page.read_bytes()
    fixed = CliRunner().invoke(main, ["fix", "--apply", "--select", "DL805", "--no-cache"])
    assert "README.md: is UTF-16" in fixed.output
    assert page.read_bytes() == before


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


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("torchrun a.py \\\n # a comment\n --b c \\\n # another\n --d\n", [(3, 2)]),
        ("torchrun a.py --b \\ \n  --c d\n", [(2, 1)]),
        ("torchrun a.py \\\n --b c \\\n # --d e\n", []),
        ("torchrun a.py \\\n # a comment\necho b\n", []),
        ("torchrun a.py \\\n --b c \\\n --d e\n", []),
        ("x=$(torchrun a.py \\\n --b c)\n", []),
        ("python a.py \\\n # a comment\n --b c\n", []),
        ("torchrun --x \\ \n  a.py --c d\n", [(2, 1)]),
        ('torchrun a.py --b\n# --c \\\n"$@"\n', [(3, 1)]),
        ('torchrun a.py \\\n --b c\n"$@"\n', [(3, 1)]),
        ('torchrun a.py --b\n# --c\n"$@"\n', []),
        ('torchrun a.py --b\n"$@"\n', []),
        ('torchrun a.py \\\n --b\nelse\n"$@"\n', []),
        ("torchrun a.py --b\n# c \\ \nd\n", []),
        ('torchrun a.py --b\n\n"$@"\n', []),
        ('torchrun a.py --b \\\n"$@"\n', []),
    ],
)
def test_the_launch_that_ends_above_its_arguments(text: str, lost: list[tuple[int, int]]) -> None:
    (script,) = read_files([TextFile("run.sh", Kind.SHELL, text)]).scripts
    assert [(at.line, number) for _, _, at, number in cut_short(script)] == lost


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
        ("from torch._six import inf", "numpy\n", "info"),
        ("import timm", "torch==1.12.0\n", "info"),
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
    ("test", "codes"),
    [
        ("if command -v torchrun &> /dev/null", set()),
        ("if ! which torchrun >/dev/null 2>&1", set()),
        ("if command -v nvidia-smi", {"DL805"}),
        ('if [ "$LAUNCHER" = torchrun ]', {"DL805"}),
    ],
)
def test_the_old_launcher_where_torchrun_is_missing(
    test: str, codes: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sa2VA 9832e1a tools/dist.sh:29."""
    script = f"{test}; then\n  torchrun train.py\nelse\n  python -m torch.distributed.launch train.py\nfi\n"
    (tmp_path / "run.sh").write_text(script)
    (tmp_path / "train.py").write_text("import torch.distributed as dist\n")
    assert set(severities(tmp_path, monkeypatch)) == codes


@pytest.mark.parametrize(
    ("environment", "severity"),
    [("py3.8_pt1.8.1", "info"), ("torch2.1", "warning"), ("train", "warning")],
)
def test_a_launch_in_an_environment_whose_name_tells_its_torch(
    environment: str, severity: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text("import torch\nargs = parser.parse_args()\n")
    launch = OLD.replace(" --use_env", "")
    (tmp_path / "run.sh").write_text(f"source activate {environment}\n{launch}")
    assert severities(tmp_path, monkeypatch) == {"DL805": severity}


@pytest.mark.parametrize(
    ("page", "severity"),
    [
        ("pip install torch==1.9.1+cu111 torchvision==0.10.1\n", "info"),
        ("pip install torch==1.12.0\n", "info"),
        ("pip install torch\n", "warning"),
        ("docker run --gpus all nvcr.io/nvidia/pytorch:21.03-py3\n", "info"),
        ("docker run --gpus all nvcr.io/nvidia/pytorch:21.11-py3\n", "info"),
    ],
)
def test_a_launch_with_a_torch_that_passes_an_underscore_is_a_note(
    page: str, severity: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text("import torch\nargs = parser.parse_args()\n")
    (tmp_path / "INSTALL.md").write_text(f"```\n{page}```\n")
    (tmp_path / "run.sh").write_text(OLD.replace(" --use_env", ""))
    assert severities(tmp_path, monkeypatch) == {"DL805": severity}


BOTH = 'parser.add_argument("--local_rank", "--local-rank", type=int, default=0)\nargs = parser.parse_args()\n'
KNOWN = 'args, _ = parser.parse_known_args()\nrank = int(os.environ["RANK"])\n'
ALONE = 'parser.add_argument("--local_rank", type=int, default=0)\nargs = parser.parse_args()\n'


@pytest.mark.parametrize(
    ("parses", "severity"),
    [
        (BOTH, "info"),
        (KNOWN, "info"),
        (ALONE.replace("_rank", "-rank") + 'os.environ["LOCAL_RANK"]\n', "info"),
        (ALONE.replace("_rank", "-rank"), "warning"),
        (KNOWN.replace('os.environ["RANK"]', "0"), "warning"),
        ("", "info"),
        ("options = TrainOptions().parse()\n", "warning"),
        ("options = start()\n", "info"),
        (f'import timm\nassert timm.__version__ == "0.3.2"\n{ALONE}', "info"),
        (f'import timm\nassert timm.__version__ == "0.4.5"\n{ALONE}', "warning"),
        (f"from torch._six import inf\n{ALONE}", "info"),
        (f"from util.misc import save\n{ALONE}", "info"),
        (f"from util import (\n    io,\n    misc,\n)\n{ALONE}", "info"),
        (f"import util.misc\n{ALONE}", "info"),
        (f"from torchvision.models.utils import load_state_dict_from_url\n{ALONE}", "info"),
        (f"from util import io\n{ALONE}", "warning"),
        (f"from other.util.misc import save\n{ALONE}", "warning"),
    ],
)
@pytest.mark.parametrize("program", ["train.py", '$(dirname "$0")/train.py'])
def test_a_launch_of_what_takes_any_rank_is_a_note(
    program: str, parses: str, severity: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(f"import os\nimport torch.distributed\n{parses}")
    (tmp_path / "util").mkdir()
    (tmp_path / "util" / "misc.py").write_text("import os\nfrom torch._six import inf\n")
    tried = "try:\n    from torch._six import inf\nexcept ImportError:\n    from math import inf\n"
    (tmp_path / "util" / "io.py").write_text(tried)
    (tmp_path / "run.sh").write_text(OLD.replace(" --use_env", "").replace("train.py", program))
    monkeypatch.chdir(tmp_path)
    arguments = ["check", "--select", "DL805", "--output-format", "json", "--cache-dir", "cache"]
    for _ in range(2):  # the second time from the cache
        found = json.loads(CliRunner().invoke(main, arguments).stdout)["findings"]
        assert [f["severity"] for f in found if f["path"] == "run.sh"] == [severity]


@pytest.mark.parametrize(
    ("wanted", "spelled", "severity"),
    [
        ("torch>=2.0.1", "--local-rank", "info"),
        ("torch>=2.0.1", "--local_rank", "warning"),
        ("torch>=1.9", "--local-rank", "warning"),
        ("torch", "--local-rank", "warning"),
    ],
)
def test_a_hyphen_is_what_the_launcher_of_torch_2_passes(
    wanted: str, spelled: str, severity: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(
        f"import torch.distributed\n{ALONE.replace('--local_rank', spelled)}"
    )
    (tmp_path / "run.sh").write_text(OLD.replace(" --use_env", ""))
    (tmp_path / "requirements.txt").write_text(f"{wanted}\n")
    monkeypatch.chdir(tmp_path)
    arguments = ["check", "--select", "DL805", "--output-format", "json", "--cache-dir", "cache"]
    for _ in range(2):  # the second time from the cache
        found = json.loads(CliRunner().invoke(main, arguments).stdout)["findings"]
        assert [f["severity"] for f in found if f["path"] == "run.sh"] == [severity]


@pytest.mark.parametrize(
    ("name", "text", "older"),
    [
        (
            "Dockerfile_gpu",
            'ARG TORCH="1.8.0"\nFROM pytorch/pytorch:${TORCH}-cuda11.1-devel\n',
            True,
        ),
        ("Dockerfile-gpu", "FROM pytorch/pytorch:1.8.0-cuda11.1-devel\n", True),
        ("Dockerfile_gpu", 'ARG TORCH="1.13.0"\nFROM pytorch/pytorch:$TORCH\n', False),
        ("Dockerfile_gpu", "ARG TORCH\nFROM pytorch/pytorch:$TORCH\n", False),
        (
            "README.md",
            "-f https://download.openmmlab.com/mmcv/dist/cu111/torch1.8.0/index.html",
            True,
        ),
        (
            "README.md",
            "-f https://download.openmmlab.com/mmcv/dist/cu113/torch1.10/index.html",
            False,
        ),
        ("INSTALL.md", "- Linux\n- PyTorch 1.0\n- CUDA 9.0", True),
        ("INSTALL.md", "- Linux\n* **PyTorch** 1.12.1\n", False),
        ("README.md", "* Install PyTorch [v1.7.1](https://x.org) and OpenPCDet [v0.3](y).", True),
        ("README.md", "Install [PyTorch](https://pytorch.org) 1.4 and others.", True),
    ],
)
def test_what_names_a_torch_before_torchrun(name: str, text: str, *, older: bool) -> None:
    kind = Kind.GUIDE if name.endswith(".md") else Kind.DOCKERFILE
    assert kind_of(name) is kind
    assert may_be_of_launch(name)
    assert is_of_launch(kind, text.encode())
    assert read((name, kind, text)).older_than("torch", (1, 10), "train.py") is older


@pytest.mark.parametrize(
    ("page", "old"),
    [
        ("We use pytorch 1.8.1 and timm==0.3.2.", True),
        ("Based on timm==0.3.2, for which a fix is needed to work with newer ones.", False),
        ("pip install timm==0.6.12", False),
        ("It needs timm>=0.3.2.", False),
    ],
)
def test_a_timm_that_a_page_wants(page: str, *, old: bool) -> None:
    assert is_of_launch(Kind.GUIDE, page.encode()) or not old
    assert read(("README.md", Kind.GUIDE, f"{page}\n")).older_than("timm", (0, 3, 3), "a.py") is old


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("py3.8_pt1.8.1", (1, 8, 1)),
        ("torch1.7", (1, 7)),
        ("pytorch-2.1", (2, 1)),
        ("ckpt1.2", ()),
        ("py3.8", ()),
        ("opt_1.3", ()),
        ("torch", ()),
    ],
)
def test_the_torch_that_the_name_of_an_environment_tells(
    name: str, version: tuple[int, ...]
) -> None:
    assert torch_of(name) == version


@pytest.mark.parametrize(
    ("page", "old"),
    [
        ("- [PyTorch](http://pytorch.org/) (currently tested on version 0.4 and 1.0)", True),
        ("The code has been tested with PyTorch 1.7.1, CUDA 11.", True),
        ("For the large model, we use PyTorch 1.1.0.", True),
        ("We use python3.8, pytorch 1.8.1, mmcv 1.3.13 and others.", True),
        ("We use Python 3.10 and PyTorch 2.0.1.", False),
        ("The work is with **Python 3.7** and **PyTorch 1.7**.", True),
        ("It runs with Python 3.8 and PyTorch 1.7 or later.", False),
        ("It wants at least Python 3.8 and PyTorch 1.7.", False),
        ("It wants Python 3.8 and PyTorch 1.7+.", False),
        ("We use pytorch>=1.8, as older ones lack a layer.", False),
        ("We use python3.8, pytorch 1.8+.", False),
        ("The code has been tested with PyTorch 1.7.1 and 2.0.", False),
        ("The code has been tested with PyTorch 1.7+.", False),
        ("The code has been tested with PyTorch 2.1.", False),
        ("Install PyTorch 1.7.0+ and torchvision 0.8.1+.", False),
        ("Install PyTorch [v1.7.1](https://x.org) or newer.", False),
        ("pip install mmcv-full==1.3.0", True),
        ("pip install mmcv-full==1.7.0", False),
        ("pip install mmcv-full==1.3.0 torch==2.0.0", False),
    ],
)
def test_what_was_tried_with_torch_1_is_older_than_torch_2(page: str, *, old: bool) -> None:
    files = read(("README.md", Kind.GUIDE, page + "\n"))
    assert files.older_than("torch", (2,), "train.py") is old
    assert not files.older_than("torch", (1, 10), "train.py")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "--nproc_per_node=8 \\\n\t--use_env training/main.py\n",
            "--nproc_per_node=8 \\\n\ttraining/main.py\n",
        ),
        (
            "--nproc_per_node=8 \\\n  --use_env \\\n  train.py\n",
            "--nproc_per_node=8 \\\n  train.py\n",
        ),
        ("--nproc_per_node=8 --use_env \\\n  train.py\n", "--nproc_per_node=8 \\\n  train.py\n"),
    ],
)
def test_an_option_goes_with_its_blanks(
    before: str, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.sh").write_text(f"python -m torch.distributed.launch {before}")
    CliRunner().invoke(main, ["fix", "--no-cache", "--select", "DL805", "--apply"])
    assert (tmp_path / "run.sh").read_text() == f"torchrun {after}"


def test_another_language_in_a_page_ends_no_launch() -> None:
    page = "```\nfor x in y:\n    if x is None:\n        z(x)\n```\nthen\n```\ntorchrun train.py\n```\n"
    ((_, launch),) = read(("README.md", Kind.GUIDE, page)).launches(told=True)
    assert (launch.script and launch.script.text, launch.place.line) == ("train.py", 8)


@pytest.mark.parametrize(
    ("script", "tested"),
    [
        ("if [[ $N == 1 ]]; then\n torchrun train.py\nfi\n", {"N"}),
        ('if [ "${N}" = 1 ]; then\n true\nelse\n torchrun train.py\nfi\n', {"N"}),
        ("case $N in\n 1) torchrun train.py;;\nesac\n", {"N"}),
        ("if python check.py $N; then\n torchrun train.py\nfi\n", set()),
        ("if [[ $N == 1 ]]; then\n true\nfi\ntorchrun train.py\n", set()),
    ],
)
def test_the_variables_that_tests_around_a_launch_ask_for(script: str, tested: set[str]) -> None:
    ((_, launch),) = read(("run.sh", Kind.SHELL, script)).launches()
    assert launch.tested == tested


@pytest.mark.parametrize(
    "folder",
    [
        "$(dirname $0)",
        '$(dirname "${BASH_SOURCE[0]}")',
        '$(cd "$(dirname "$0")" && pwd)',
        "$(realpath $(dirname $0))",
    ],
)
def test_the_folder_of_a_script(folder: str) -> None:
    script = f"torchrun {folder}/train.py\n"
    ((_, launch),) = read(("tools/run.sh", Kind.SHELL, script)).launches()
    assert launch.script is not None
    assert launch.script.text == "./train.py"
    files = read(("tools/run.sh", Kind.SHELL, script))
    assert files.starting("tools/train.py")
    assert not files.starting("train.py")


def test_a_bare_name_is_looked_for_in_the_folders_above() -> None:
    files = read(("tools/run.sh", Kind.SHELL, "torchrun train.py\n"))
    assert files.starting("tools/train.py") and files.starting("train.py")


@pytest.mark.parametrize(
    ("page", "severity"),
    [
        ("docker run nvcr.io/nvidia/pytorch:21.11-py3 bash\n", "info"),
        ("docker run nvcr.io/nvidia/pytorch:23.10-py3 bash\n", "error"),
        ("- PyTorch == 1.8 or 1.12 (other versions are not tested)\n", "info"),
        ("- PyTorch == 1.12 or 2.1 (other versions are not tested)\n", "error"),
        ("- PyTorch `1.8.1`\n", "info"),
        ("- PyTorch >= 1.8, tried with 1.12\n", "error"),
    ],
)
def test_a_page_that_names_an_older_torch(
    page: str, severity: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """yolov9 5b1ea9a README.md:109, STMixer 2c3cd1d README.md:5, STCN eb83102 README.md:71."""
    (tmp_path / "train.py").write_text(PARSES.format(imported=""))
    launch = OLD.replace(" --use_env", "").strip()
    (tmp_path / "README.md").write_text(f"{page}\nTrain it: `{launch}`\n")
    assert severities(tmp_path, monkeypatch) == {"DL805": severity}


def test_a_launch_that_passes_nothing_is_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """mPLUG c666bfa scripts/vqa_mplug_base.sh:3."""
    (tmp_path / "train.py").write_text("import torch\n")
    (tmp_path / "run.sh").write_text(OLD)
    assert severities(tmp_path, monkeypatch) == {"DL805": "info"}


def test_a_bare_name_in_a_page_is_the_one_file_of_that_name_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept of the one file is not said of it when another of its name has come."""
    page = "`python -m torch.distributed.launch --nproc_per_node=<gpus> main_train.py`\n"
    text = (
        "import argparse\nimport torch.distributed as dist\n"
        "argparse.ArgumentParser().parse_args()\ndist.init_process_group()\n"
    )
    monkeypatch.chdir(tmp_path)
    cache = tmp_path.parent / f"{tmp_path.name}-cache"

    def told() -> list[str]:
        arguments = ["check", "--cache-dir", str(cache), "--select", "DL805", "--output-format"]
        found = json.loads(CliRunner().invoke(main, [*arguments, "json"]).stdout)["findings"]
        return [row["path"] for row in found]

    for folder in ("code", "other"):
        (tmp_path / folder).mkdir()
    (tmp_path / "README.md").write_text(page)
    (tmp_path / "code" / "main_train.py").write_text(text)
    assert told() == ["code/main_train.py"]
    (tmp_path / "other" / "main_train.py").write_text(text)
    assert told() == []
    (tmp_path / "other" / "main_train.py").unlink()
    assert told() == ["code/main_train.py"]


@pytest.mark.parametrize(
    ("text", "shells"),
    [
        ('srun bash -c \\\n&& ray start --block" &> "log &\n', ["bash -c"]),
        ("srun /bin/bash -lc || true\nsrun sh -c | tee log\n", ["bash -lc", "sh -c"]),
        ('srun bash -c \\\n  "ray start" && true\necho "bash -c && run"\n# bash -c && run\n', []),
    ],
)
def test_shells_that_are_given_no_command(text: str, shells: list[str]) -> None:
    assert [text[start:end] for start, end in commands_of_nothing(text)] == shells


def test_a_timm_of_a_page_makes_notes_of_launches_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Efficient-AI-Backbones f90e129 cmt_pytorch/README.md:14: whoever reads the script has another timm as well."""
    (tmp_path / "README.md").write_text("    pip install timm==0.3.2\n")
    (tmp_path / "train.py").write_text(
        f"import argparse\nimport torch.distributed as dist\nparser = argparse.ArgumentParser()\n{ALONE}"
        'dist.init_process_group("nccl")\nprint(args.local_rank)\n'
    )
    (tmp_path / "run.sh").write_text(OLD.replace(" --use_env", ""))
    monkeypatch.chdir(tmp_path)
    arguments = ["check", "--no-cache", "--select", "DL805", "--output-format", "json"]
    found = json.loads(CliRunner().invoke(main, arguments).stdout)["findings"]
    assert {f["path"]: f["severity"] for f in found} == {"run.sh": "info", "train.py": "warning"}
