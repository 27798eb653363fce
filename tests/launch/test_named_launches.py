"""Messages that name the launch in which a finding holds, where the project holds one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from distlint.cli import main
from tests.launch.test_findings_by_launch import SAVING, STARTING

PROGRAM = {"saving.py": SAVING, "train.py": STARTING}
FSDP = "distributed_type: FSDP\nnum_processes: 8\n"
DDP = "distributed_type: MULTI_GPU\nnum_processes: 8\n"
WHOLE = FSDP + "fsdp_config:\n  fsdp_sharding_strategy: NO_SHARD\n"
ZERO = "distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config:\n"
STAGE = '{{\n  "train_micro_batch_size_per_gpu": 1,\n  "zero_optimization": {{"stage": {}}}\n}}\n'
UNKNOWN = "When the model is sharded (FSDP, DeepSpeed ZeRO-3), rank 0 waits"


def findings(code: str, root: Path, files: dict[str, str]) -> list[dict[str, Any]]:
    """The findings of one rule in a project, seen from its own folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    arguments = ["check", "--no-cache", "--select", code, "--output-format", "json"]
    found: list[dict[str, Any]] = json.loads(CliRunner().invoke(main, arguments).stdout)["findings"]
    return found


def places(finding: dict[str, Any]) -> list[tuple[str, int, str]]:
    """What the related places of a finding say outside of Python."""
    rows = [(row["path"], row["line"], row["message"]) for row in finding["related"]]
    return [row for row in rows if not row[0].endswith(".py")]


LAUNCH = "accelerate launch --config_file"


@pytest.mark.parametrize(
    ("files", "start", "related"),
    [
        (
            {"run.sh": f"set -e\n{LAUNCH} configs/a.yaml train.py\n", "configs/a.yaml": FSDP},
            "Launched as `run.sh` line 2 does, with configs/a.yaml (FSDP),",
            [("run.sh", 2, "this launch"), ("configs/a.yaml", 1, "asks for FSDP")],
        ),
        (
            {"run.sh": f"{LAUNCH} a.yaml train.py\n", "a.yaml": f"{ZERO}  zero_stage: 3\n"},
            "Launched as `run.sh` line 1 does, with a.yaml (DeepSpeed ZeRO-3),",
            [("run.sh", 1, "this launch"), ("a.yaml", 4, "asks for DeepSpeed ZeRO-3")],
        ),
        (
            {
                "run.sh": f"{LAUNCH} a.yaml train.py\n",
                "a.yaml": f"{ZERO}  deepspeed_config_file: z.json\n",
                "z.json": STAGE.format(3),
            },
            "Launched as `run.sh` line 1 does, with a.yaml (DeepSpeed ZeRO-3),",
            [("run.sh", 1, "this launch"), ("z.json", 3, "asks for DeepSpeed ZeRO-3")],
        ),
        (
            {
                "jobs/run.sh": "torchrun --nproc_per_node 8 \\\n  train.py --deepspeed z.json\n",
                "z.json": STAGE.format(3),
            },
            "Launched as `jobs/run.sh` line 1 does, with z.json (DeepSpeed ZeRO-3),",
            [("jobs/run.sh", 1, "this launch"), ("z.json", 3, "asks for DeepSpeed ZeRO-3")],
        ),
        (
            {
                "run.sh": "deepspeed train.py --deepspeed --deepspeed_config z.json\n",
                "z.json": STAGE.format(3),
            },
            "Launched as `run.sh` line 1 does, with z.json (DeepSpeed ZeRO-3),",
            [("run.sh", 1, "this launch"), ("z.json", 3, "asks for DeepSpeed ZeRO-3")],
        ),
        (
            {"run.sh": "accelerate launch --use_fsdp --num_processes 8 train.py\n"},
            "Launched as `run.sh` line 1 does, with --use_fsdp (FSDP),",
            [("run.sh", 1, "this launch")],
        ),
        (
            {"run.sh": "deepspeed --include localhost:0,1 train.py --lr 1 --zero-stage 3\n"},
            "Launched as `run.sh` line 1 does, with --zero_stage 3 (DeepSpeed ZeRO-3),",
            [("run.sh", 1, "this launch")],
        ),
        (
            {"run.sh": "torchrun --nproc_per_node 8 train.py --fsdp 'full_shard auto_wrap'\n"},
            "Launched as `run.sh` line 1 does, with --fsdp (FSDP),",
            [("run.sh", 1, "this launch")],
        ),
        (
            {
                "b.sh": f"{LAUNCH} a.yaml train.py\n",
                "a.sh": f"{LAUNCH} b.yaml train.py\necho done\n{LAUNCH} a.yaml train.py\n",
                "a.yaml": FSDP,
                "b.yaml": DDP,
            },
            "Launched as `a.sh` line 3 does, with a.yaml (FSDP),",
            [("a.sh", 3, "this launch"), ("a.yaml", 1, "asks for FSDP")],
        ),
        (
            {
                "run.sh": f"{LAUNCH} b.yaml tune.py\n{LAUNCH} a.yaml train.py\n",
                "a.yaml": FSDP,
                "b.yaml": f"{ZERO}  zero_stage: 3\n",
                "tune.py": STARTING,
            },
            "Launched as `run.sh` line 1 does, with b.yaml (DeepSpeed ZeRO-3),",
            [("run.sh", 1, "this launch"), ("b.yaml", 4, "asks for DeepSpeed ZeRO-3")],
        ),
        (
            {
                "run.sh": f"{LAUNCH} a.yaml saving.py\n",
                "a.yaml": FSDP,
                "tune.py": STARTING,
            },
            "Launched as `run.sh` line 1 does, with a.yaml (FSDP),",
            [("run.sh", 1, "this launch"), ("a.yaml", 1, "asks for FSDP")],
        ),
        (
            {
                "README.md": "```\npython -m torch.distributed.launch old.py\n"
                f"$ {LAUNCH} a.yaml train.py\n```\n",
                "a.yaml": FSDP,
            },
            "Launched as `README.md` line 3 does, with a.yaml (FSDP),",
            [("README.md", 3, "this launch"), ("a.yaml", 1, "asks for FSDP")],
        ),
        (
            {
                "README.md": f"```\ncd code\n{LAUNCH} configs/a.yaml train.py\n```\n",
                "code/configs/a.yaml": FSDP,
                "code/other/a.yaml": DDP,
            },
            "Launched as `README.md` line 3 does, with code/configs/a.yaml (FSDP),",
            [("README.md", 3, "this launch"), ("code/configs/a.yaml", 1, "asks for FSDP")],
        ),
    ],
)
def test_the_launch_that_shards_the_model(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    start: str,
    related: list[tuple[str, int, str]],
) -> None:
    monkeypatch.chdir(tmp_path)
    (found,) = findings("DL106", tmp_path, {**PROGRAM, **files})
    assert found["message"].startswith(f"{start} rank 0 waits in `accelerator.save_state(...)`")
    assert places(found) == related
    assert found["severity"] == "warning"


@pytest.mark.parametrize(
    "files",
    [
        {"run.sh": f"{LAUNCH} a.yaml other.py\n", "a.yaml": FSDP},
        {"run.sh": f"{LAUNCH} a.yaml train.py\n", "a.yaml": WHOLE},
        {"run.sh": f"{LAUNCH} a.yaml --multi_gpu train.py\n", "a.yaml": FSDP},
        {"run.sh": f"{LAUNCH} a.yaml train.py\n", "a.yaml": f"{ZERO}  zero_stage: 2\n"},
        {
            "run.sh": f"{LAUNCH} a.yaml --zero_stage 2 train.py\n",
            "a.yaml": f"{ZERO}  zero_stage: 3\n",
        },
        {"run.sh": "deepspeed train.py --deepspeed z.json\n", "z.json": STAGE.format(2)},
        {"run.sh": "accelerate launch train.py\n", "configs/a.yaml": FSDP},
        {
            "README.md": f"```\n{LAUNCH} configs/a.yaml train.py\n```\n",
            "one/configs/a.yaml": FSDP,
            "two/configs/a.yaml": FSDP,
        },
        {"README.md": f"```\n{LAUNCH} a.yaml train.py\n```\n", "code/a.yaml": FSDP},
        {"run.sh": f"{LAUNCH} configs/a.yaml train.py\n", "code/configs/a.yaml": FSDP},
        {"run.sh": f"{LAUNCH} $1 train.py\n", "a.yaml": FSDP},
        {"run.sh": f"{LAUNCH} ${{CONFIG:-a.yaml}} train.py\n", "a.yaml": FSDP},
        {"run.sh": f"{LAUNCH} a.yaml --num_processes 1 train.py\n", "a.yaml": FSDP},
        {
            "run.sh": "deepspeed --num_gpus=1 train.py --deepspeed z.json\n",
            "z.json": STAGE.format(3),
        },
        {"run.sh": "deepspeed train.py --deepspeed --zero_stage 2\n"},
        {"run.sh": "deepspeed --include localhost:0 train.py --zero_stage 3\n"},
        {"run.sh": "CUDA_VISIBLE_DEVICES=0 deepspeed train.py --zero_stage 3\n"},
        {"run.sh": "torchrun train.py --deepspeed z.json\n", "z.json": STAGE.format(3)},
        {
            "run.sh": f"{LAUNCH} a.yaml train.py\n",
            "a.yaml": FSDP,
            "tune.py": STARTING,
        },
    ],
)
def test_a_launch_that_says_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (found,) = findings("DL106", tmp_path, {**PROGRAM, **files})
    assert found["message"].startswith(UNKNOWN)
    assert not places(found)
    assert found["severity"] == "warning"


def test_launches_that_all_keep_it_whole_are_information(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"run.sh": f"{LAUNCH} a.yaml train.py\n", "a.yaml": DDP, "b.yaml": FSDP}
    (found,) = findings("DL106", tmp_path, {**PROGRAM, **files})
    assert (found["severity"], places(found)) == ("info", [])
    assert found["message"].startswith(UNKNOWN)


READING = """
from accelerate import Accelerator
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(2, 2)
        self.width = 2


accelerator = Accelerator()
model = accelerator.prepare(Net())
print(model.width)
"""


@pytest.mark.parametrize(
    ("files", "cause", "related"),
    [
        (
            {"run.sh": f"{LAUNCH} a.yaml train.py\n", "a.yaml": DDP},
            "launched as `run.sh` line 1 does, with a.yaml (DistributedDataParallel), which does not",
            [("run.sh", 1, "this launch"), ("a.yaml", 1, "asks for DistributedDataParallel")],
        ),
        (
            {"run.sh": "accelerate launch --multi_gpu train.py\n"},
            "launched as `run.sh` line 1 does, with --multi_gpu (DistributedDataParallel), which",
            [("run.sh", 1, "this launch")],
        ),
        (
            {"run.sh": f"{LAUNCH} a.yaml train.py\n", "a.yaml": FSDP},
            "where the launch configuration asks for DistributedDataParallel, which does not",
            [],
        ),
        (
            {
                "run.sh": f"{LAUNCH} a.yaml train.py --deepspeed z.json\n",
                "a.yaml": DDP,
                "z.json": STAGE.format(2),
            },
            "where the launch configuration asks for DistributedDataParallel, which does not",
            [],
        ),
    ],
)
def test_the_launch_that_wraps_it_in_ddp(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    cause: str,
    related: list[tuple[str, int, str]],
) -> None:
    monkeypatch.chdir(tmp_path)
    (found,) = findings("DL201", tmp_path, {"train.py": READING, **files})
    assert f"`model.width` raises AttributeError on every rank {cause}" in found["message"]
    assert places(found) == related


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({"README.md": f"```\n{LAUNCH} a.yaml train.py\n```\n", "a.yaml": ZERO}, "info"),
        ({"run.sh": f"{LAUNCH} a.yaml train.py\n", "a.yaml": FSDP}, "info"),
        ({"run.sh": f"{LAUNCH} a.yaml train.py\n", "a.yaml": ZERO, "b.yaml": DDP}, "warning"),
        (
            {"run.sh": f"{LAUNCH} a.yaml train.py\naccelerate launch train.py\n", "a.yaml": ZERO},
            "warning",
        ),
        ({"a.yaml": ZERO}, "warning"),
        (
            {
                "run.sh": f"{LAUNCH} a.yaml train.py\n",
                "a.yaml": ZERO,
                "train.py": f"{READING}print(accelerator.distributed_type)\n",
            },
            "warning",
        ),
    ],
)
def test_an_attribute_where_no_launch_asks_for_ddp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], severity: str
) -> None:
    """EasyContext 6b0d310 eval_needle.py:182."""
    monkeypatch.chdir(tmp_path)
    (found,) = findings("DL201", tmp_path, {"train.py": READING, **files})
    assert found["severity"] == severity


@pytest.mark.parametrize(("started", "severity"), [("work", "info"), ("work/other", "warning")])
def test_of_a_folder_python_runs_the_main_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: str, severity: str
) -> None:
    """robust-llm-2024 0062a38 README.md:170: a test imports `robust_llm.__main__`, too."""
    monkeypatch.chdir(tmp_path)
    files = {
        "README.md": f"```\n{LAUNCH} a.yaml {started}\n```\n",
        "a.yaml": FSDP,
        "work/__init__.py": "",
        "work/__main__.py": READING,
        "work/other.py": "",
        "tests/test_work.py": "from work.__main__ import model\n",
    }
    (found,) = findings("DL201", tmp_path, files)
    assert found["severity"] == severity


DECLARED = (
    "import argparse\n\nimport torch.distributed as dist\n\nparser = argparse.ArgumentParser()\n"
    'parser.add_argument("--local_rank", type=int)\nargs = parser.parse_args()\n'
    'dist.init_process_group("nccl")\n'
)


@pytest.mark.parametrize(
    ("page", "line"),
    [
        ("> python -m torch.distributed.launch --nproc_per_node=8 train.py\n", 1),
        (
            "> CUDA_VISIBLE_DEVICES=0,1 \\\\\\\n"
            "> python -m torch.distributed.launch --nproc_per_node=2 train.py\n",
            2,
        ),
        (
            "Training:\n\n    python3 -m torch.distributed.launch --nproc_per_node=8 \\\n"
            "        train.py --lr 1\n\nIt's quick.\n",
            3,
        ),
        ("1. Run\n    > python -m torch.distributed.launch --nproc_per_node=8 train.py\n", 2),
        ("python -m torch.distributed.launch is what we don't use for train.py\n", None),
        ("To train:\n`python -m torch.distributed.launch --nproc_per_node=8 train.py`\n", 2),
        ("Training: `python -m torch.distributed.launch --nproc_per_node=8 train.py --lr 1`.\n", 1),
        ("Not `python -m torch.distributed.launch --nproc_per_node=8 train.py`\n", None),
        (
            "> We don't start train.py with python -m torch.distributed.launch --nproc_per_node=8\n",
            None,
        ),
    ],
)
def test_a_launch_that_a_page_quotes_or_indents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str, line: int | None
) -> None:
    monkeypatch.chdir(tmp_path)
    found = findings("DL805", tmp_path, {"README.md": page, "train.py": DECLARED})
    wanted = [] if line is None else [[("README.md", line, "started here")]]
    assert [places(each) for each in found] == wanted
