"""Findings that hold in some launches only, weighed by the launches that the project holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from distlint.cli import main

SAVING = """
from accelerate import Accelerator


def train(model, loader, path):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        accelerator.backward(model(batch).mean())
        if accelerator.is_main_process:
            accelerator.save_state(path)
"""
STARTING = (
    "from accelerate import Accelerator\n\nfrom saving import train\n\nAccelerator().print(train)\n"
)


@pytest.mark.parametrize(
    ("launch", "distributed", "severity"),
    [
        ("accelerate launch --config_file=./a.yaml train.py", "MULTI_GPU", "info"),
        ("accelerate launch --config_file a.yaml train.py", "FSDP", "warning"),
        ("accelerate launch --config_file a.yaml --use_fsdp train.py", "MULTI_GPU", "warning"),
        ("accelerate launch --config_file $CONFIG train.py", "MULTI_GPU", "warning"),
        ("accelerate launch --multi_gpu train.py", "FSDP", "info"),
        ("accelerate launch --config_file=./a.yaml other.py", "MULTI_GPU", "warning"),
        ("accelerate launch train.py", "MULTI_GPU", "warning"),
    ],
)
def test_a_launch_that_keeps_the_model_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launch: str, distributed: str, severity: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "saving.py").write_text(SAVING)
    (tmp_path / "train.py").write_text(STARTING)
    (tmp_path / "run.sh").write_text(f"{launch} --epochs 3\n")
    (tmp_path / "a.yaml").write_text(f"distributed_type: {distributed}\nnum_processes: 8\n")
    arguments = ["check", "--no-cache", "--select", "DL106", "--output-format", "json"]
    found = json.loads(CliRunner().invoke(main, arguments).stdout)
    assert [row["severity"] for row in found["findings"]] == [severity]


SPREAD = """
import torch
import torch.distributed as dist


def train(model):
    dist.init_process_group("nccl")
    if torch.cuda.device_count() > 1:
        model.is_parallelizable = True
        model.model_parallel = True
"""


@pytest.mark.parametrize(
    ("requirements", "found"),
    [
        ({"requirements.txt": "torch\ntransformers>=5.6.0\n"}, 0),
        ({"requirements.txt": "transformers[torch] >= 4.40, >=5.1  # the Trainer\n"}, 0),
        ({"requirements.txt": "transformers==5.6.1; python_version > '3.9'\n"}, 0),
        ({"requirements.txt": "transformers>=4.40\n"}, 1),
        ({"requirements.txt": "transformers<6\n"}, 1),
        ({"requirements.txt": "transformers\n"}, 1),
        ({"requirements.txt": "# transformers>=5.6\ntransformers_stream_generator>=5\n"}, 1),
        ({"requirements.txt": "transformers>=5\n", "code/requirements.txt": "transformers\n"}, 1),
        ({"other/requirements.txt": "transformers>=5\n"}, 1),
        ({"code/requirements.txt": "transformers>=5\n"}, 0),
        (
            {"pyproject.toml": '[project]\ndependencies = ["torch", "transformers[torch]>=5.6"]\n'},
            0,
        ),
        ({"pyproject.toml": '[project]\ndependencies = ["transformers>=4.40"]\n'}, 1),
        ({"pyproject.toml": '[project.optional-dependencies]\ntrain = ["transformers~=5.6"]\n'}, 0),
        ({"pyproject.toml": '[tool.poetry.dependencies]\ntransformers = "^5.6"\n'}, 0),
        ({"pyproject.toml": '[tool.poetry.dependencies]\ntransformers = {version = "4.40"}\n'}, 1),
        ({"pyproject.toml": '[project\ndependencies = ["transformers>=5.6"]\n'}, 1),
        ({"uv.lock": '[[package]]\nname = "transformers"\nversion = "5.6.1"\n'}, 0),
        ({"uv.lock": '[[package]]\nname = "transformers-extra"\nversion = "5.6.1"\n'}, 1),
        (
            {
                "requirements.txt": "transformers>=5.6\n",
                "poetry.lock": '[[package]]\nname = "transformers"\nversion = "4.40.2"\n',
            },
            1,
        ),
        (
            {
                "pyproject.toml": '[project]\ndependencies = ["transformers>=4.40"]\n',
                "pdm.lock": '[[package]]\nname = "transformers"\nversion = "5.6.1"\n',
            },
            0,
        ),
        ({}, 1),
    ],
)
def test_a_version_that_reads_no_flags_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, requirements: dict[str, str], found: int
) -> None:
    # MedicalGPT 2f1008c training/reward_modeling.py:676: transformers>=5.6 moves the model as ever.
    monkeypatch.chdir(tmp_path)
    for name, text in {"code/train.py": SPREAD, **requirements}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    arguments = ["check", "--no-cache", "--select", "DL508", "--output-format", "json"]
    findings = json.loads(CliRunner().invoke(main, arguments).stdout)["findings"]
    assert len(findings) == found


FLASH = """
from accelerate import Accelerator
from transformers import AutoModel


def train(name):
    accelerator = Accelerator()
    return accelerator.prepare(AutoModel.from_pretrained(name, attn_implementation="flash_attention_2"))
"""


@pytest.mark.parametrize(
    ("lock", "keyword"),
    [("4.55.4", "torch_dtype"), ("4.56.0", "dtype"), ("", "torch_dtype")],
)
def test_the_dtype_by_the_name_that_the_version_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock: str, keyword: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(FLASH)
    if lock:
        text = f'[[package]]\nname = "transformers"\nversion = "{lock}"\n'
        (tmp_path / "uv.lock").write_text(text)
    arguments = ["fix", "--preview", "--select", "DL804", "--unsafe-fixes", "--apply"]
    CliRunner().invoke(main, arguments)
    assert f", {keyword}=torch.bfloat16)" in (tmp_path / "train.py").read_text()


def test_another_version_is_another_answer_of_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(SPREAD)
    counts = []
    for version in ("4", "5", "4.57"):
        (tmp_path / "requirements.txt").write_text(f"transformers>={version}\n")
        arguments = ["check", "--select", "DL508", "--output-format", "json"]
        counts.append(len(json.loads(CliRunner().invoke(main, arguments).stdout)["findings"]))
    assert counts == [1, 0, 1]


LAUNCHED = """
import argparse
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
parser.parse_args()
dist.init_process_group("nccl")
"""


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({}, "error"),
        ({"requirements.txt": "torch\n"}, "error"),
        ({"requirements.txt": "torch>=1.7\n"}, "error"),
        ({"requirements.txt": "torch==1.13.1+cu117\n"}, "info"),
        ({"requirement.txt": "torch==1.13.1+cu117\n"}, "info"),
        ({"requirements.txt": "torch>=1.7,<2.0  # the old launcher\n"}, "info"),
        ({"requirements.txt": "torch~=1.9\n"}, "info"),
        ({"requirements.txt": "torch<=2.0\n"}, "error"),
        ({"requirements.txt": "torch==2.0.1\ntorchvision==0.15\n"}, "error"),
        ({"requirements.txt": "torchmetrics==1.0\n"}, "error"),
        ({"beside/requirements.txt": "torch==1.7.0\n"}, "error"),
        ({"tools/environment.yml": "dependencies:\n  - python=3.8\n  - pytorch=1.9\n"}, "warning"),
        ({"tools/environment.yml": "dependencies:\n  - pytorch=2.1\n"}, "error"),
        ({"tools/environment.yml": "dependencies:\n  - pytorch>=1.9\n"}, "error"),
        ({"INSTALL.md": "`conda install pytorch=1.7.0 torchvision=0.8.0 -c pytorch`\n"}, "info"),
        ({"INSTALL.md": "```\n$ pip install numpy torch==1.11.0+cu113\n```\n"}, "info"),
        ({"INSTALL.md": "```\ntorch==1.11.0+cu113\ntorchvision==0.12.0\n```\n"}, "info"),
        ({"INSTALL.md": "pip install torch==1.11.0\n\npip install torch==2.1.0\n"}, "error"),
        ({"INSTALL.md": "We were slower with torch==1.11.0.\n"}, "error"),
        ({"INSTALL.md": "pip install pytorch-lightning==1.9\n"}, "error"),
        ({"INSTALL.md": "Tried with `torch==1.10.2+cu113 torchvision==0.11.3`.\n"}, "info"),
        ({"INSTALL.md": "`torch<2.0` is too old. `torch==1.13` is slow.\n"}, "info"),
        ({"INSTALL.md": "`torch<2.0` is too old, torch==1.13 the worst.\n"}, "error"),
        ({"docs/INSTALL.md": "conda install pytorch==1.4.0 -c pytorch\n"}, "info"),
        ({"model/INSTALL.md": "conda install pytorch==1.4.0 -c pytorch\n"}, "error"),
        ({"docs/README.md": "torchrun\n- Python 3.7\n- PyTorch 1.8.1  \n"}, "info"),
        ({"docs/README.md": "torchrun\n- Python 3.7\n- PyTorch `1.8.1`\n"}, "info"),
        ({"docs/README.md": "torchrun\r\n- torch 1.8.0\r\n- tqdm\r\n"}, "info"),
        # CoTNet 895e024 README.md:19: there is no torch 2 for it
        ({"docs/README.md": "torchrun\n* PyTorch 1.8.0+\n* Python3.7\n"}, "warning"),
        ({"docs/README.md": "torchrun\n- Python 3.8\n- PyTorch 1.8 or higher\n"}, "error"),
        ({"docs/README.md": "torchrun\n* Pytorch version 1.1\n\n* Python 3\n"}, "info"),
        ({"INSTALL.md": "conda create -n one python=3.7 -y\n"}, "warning"),
        ({"INSTALL.md": "conda create -n one python=3.10 -y\n"}, "error"),
        (
            {"INSTALL.md": "conda install pytorch torchvision cudatoolkit=10.0 -c pytorch\n"},
            "warning",
        ),
        ({"INSTALL.md": "conda install cudatoolkit-dev=12.1 -c conda-forge\n"}, "error"),
        (
            {"INSTALL.md": "conda create -n one python=3.7\n", "requirements.txt": "torch>=2.1\n"},
            "error",
        ),
        (
            {"environment.yml": "name: one\ndependencies:\n  - python=3.7.4\n  - pytorch\n"},
            "warning",
        ),
        ({"environment.yml": "name: one\ndependencies:\n  - pytorch=1.12\n"}, "info"),
        ({"requirements.txt": "numpy\ntorchaudio==0.13.0\n"}, "warning"),
        ({"requirements.txt": "torchvision>=0.8,<=0.14.1\n"}, "warning"),
        ({"requirements.txt": "torchvision==0.15.1\n"}, "error"),
        (
            {"docs/README.md": "torchrun\n* [PyTorch](https://pytorch.org) >= 1.9, <= 1.10.2\n"},
            "info",
        ),
        ({"docs/README.md": "torchrun\n* Python >= 3.6, <3.8\n"}, "warning"),
        (
            {"docs/README.md": "torchrun\n* [PyTorch](https://pytorch.org) >= 1.9, <= 2.1\n"},
            "error",
        ),
        ({"requirements.txt": "torchvision==0.14.1\ntorch>=2.0\n"}, "error"),
        ({"Dockerfile": "FROM pytorch/pytorch:1.10.0-cuda11.3-cudnn8-devel\n"}, "info"),
        ({"docker/Dockerfile": "FROM pytorch/pytorch:2.1.0-cuda12.1-cudnn8-devel\n"}, "error"),
        (
            {"INSTALL.md": "pip install torch==1.10.1\n", "requirements.txt": "torch>=1.1\n"},
            "info",
        ),
        (
            {"INSTALL.md": "pip install torch==1.10.1\n", "requirements.txt": "torch>=2.1\n"},
            "error",
        ),
        (
            {"tools/environment.yml": "- pytorch=1.9\n", "requirements.txt": "torch==2.1\n"},
            "error",
        ),
    ],
)
def test_an_old_torch_whose_launcher_passes_an_underscore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], severity: str
) -> None:
    monkeypatch.chdir(tmp_path)
    told = "```\npython -m torch.distributed.launch --nproc_per_node=8 train.py\n```\n"
    assert _severities(tmp_path, {"README.md": told, **files}) == [severity]


def _severities(tmp_path: Path, files: dict[str, str]) -> list[str]:
    for name, text in {"train.py": LAUNCHED, **files}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    arguments = ["check", "--no-cache", "--select", "DL805", "--output-format", "json"]
    findings = json.loads(CliRunner().invoke(main, arguments).stdout)["findings"]
    return [each["severity"] for each in findings if each["path"] == "train.py"]


LOADING = """
import deepspeed


def load(path):
    deepspeed.init_distributed(dist_backend="nccl")
    return deepspeed.init_inference(build(path)).module
"""
MERGING = """
import argparse

from loading import load

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)
options = parser.parse_args()
# os.environ["WORLD_SIZE"] = "1"
model = load("parts")
model.save_pretrained("merged")
"""
BY_RANK = MERGING + "print(options.local_rank)\n"
TRAINING = MERGING.replace("model.save", "model.train()\nmodel.save")


@pytest.mark.parametrize(
    ("script", "launch", "expected"),
    [
        (MERGING, "deepspeed --include localhost:0 merge.py", []),
        (MERGING, "CUDA_VISIBLE_DEVICES=0 deepspeed merge.py", []),
        (MERGING, "torchrun --nproc_per_node=1 merge.py", []),
        (MERGING, "python merge.py", []),
        (MERGING, "deepspeed --include localhost:0 scripts/merge.py", []),
        (MERGING, "deepspeed merge.py", ["DL301"]),
        (MERGING, "deepspeed --include localhost:0,1 merge.py", ["DL301"]),
        (MERGING, "python merge.py\ntorchrun --nproc_per_node=4 merge.py", ["DL301"]),
        (MERGING, "python other.py", ["DL301"]),
        (MERGING, "deepspeed --include localhost:0 loading.py", ["DL301"]),
        (BY_RANK, "deepspeed --include localhost:0 merge.py", ["DL301"]),
        (TRAINING, "deepspeed --include localhost:0 merge.py", ["DL301"]),
    ],
)
@pytest.mark.parametrize("told", [True, False])
def test_a_script_that_is_started_as_one_process(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    launch: str,
    expected: list[str],
    told: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loading.py").write_text(LOADING)
    (tmp_path / "merge.py").write_text(script)
    # The words of a launcher make a page one that is read.
    text = f"```bash\n{launch}\n```\n`torchrun`\n" if told else f"{launch}\ntorchrun --help\n"
    (tmp_path / ("README.md" if told else "run.sh")).write_text(text)
    arguments = ["check", "--no-cache", "--select", "DL301", "--output-format", "json"]
    found = json.loads(CliRunner().invoke(main, arguments).stdout)
    assert [row["code"] for row in found["findings"]] == expected


@pytest.mark.parametrize(
    ("requirements", "severity"),
    [
        ("deepspeed==0.8.3\n", "info"),
        ("deepspeed<0.17\n", "info"),
        ("deepspeed>=0.9\n", "error"),
        ("deepspeed==0.18.1\n", "error"),
        ("torch==2.1\n", "error"),
    ],
)
def test_an_old_deepspeed_that_reads_no_such_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, requirements: str, severity: str
) -> None:
    monkeypatch.chdir(tmp_path)
    fp16 = {"enabled": "auto", "opt_level": "O1"}
    settings = {
        "train_micro_batch_size_per_gpu": 1,
        "zero_optimization": {"stage": 2},
        "fp16": fp16,
    }
    (tmp_path / "ds.json").write_text(json.dumps(settings))
    (tmp_path / "requirements.txt").write_text(requirements)
    arguments = ["check", "--no-cache", "--select", "DL802", "--output-format", "json"]
    found = json.loads(CliRunner().invoke(main, arguments).stdout)["findings"]
    assert [each["severity"] for each in found] == [severity]


def test_a_comment_between_the_lines_of_a_launch_ends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print(1)\n")
    (tmp_path / "run.sh").write_text(
        "torchrun --nproc_per_node 8 \\\n  # --master_port 29511 \\\n  train.py --lr 1e-4\n"
        "torchrun --nproc_per_node 8 \\\n  train.py --lr 1e-4\n"
    )
    arguments = ["check", "--no-cache", "--preview", "--select", "DL812", "--output-format", "json"]
    found = json.loads(CliRunner().invoke(main, arguments).stdout)["findings"]
    assert [each["line"] for each in found] == [1]


@pytest.mark.parametrize(
    ("requirements", "severity"),
    [("deepspeed==0.6.5\n", []), ("deepspeed==0.7.1\n", ["error"]), ("deepspeed\n", ["error"])],
)
def test_a_key_that_deepspeed_read_before_its_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, requirements: str, severity: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = {
        "train_micro_batch_size_per_gpu": 1,
        "zero_optimization": {"stage": 3, "cpu_offload_params": True},
    }
    (tmp_path / "ds.json").write_text(json.dumps(settings))
    (tmp_path / "requirements.txt").write_text(requirements)
    arguments = ["check", "--no-cache", "--select", "DL802", "--output-format", "json"]
    found = json.loads(CliRunner().invoke(main, arguments).stdout)["findings"]
    assert [each["severity"] for each in found] == severity


OLD = """
import argparse
import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=0)
args = parser.parse_args()
torch.cuda.set_device(args.local_rank)
dist.init_process_group("nccl")
"""


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ({"requirements.txt": "torch==1.1.0\n"}, "info"),
        ({"requirements.txt": "torch==1.11.0\n"}, "info"),
        ({"README.md": "- Pytorch == 1.1.0\n"}, "info"),
        # CodeRL ec3c526: the copy of a library asks for what it needs itself.
        (
            {"requirements.txt": "torch==1.9.1\n", "net/requirements.txt": "transformers\n"},
            "warning",
        ),
    ],
)
def test_a_pin_of_a_torch_below_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], severity: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net").mkdir()
    launch = "python -m torch.distributed.launch --nproc_per_node=8 train.py\n"
    for name, text in {**files, "net/train.py": OLD, "net/run.sh": launch}.items():
        (tmp_path / name).write_text(text)
    arguments = ["check", "--no-cache", "--select", "DL805", "--output-format", "json", "."]
    document = json.loads(CliRunner().invoke(main, arguments).stdout)
    found = {Path(each["path"]).name: each["severity"] for each in document["findings"]}
    assert found["train.py"] == severity


WRITING = """
import torch
from torch.nn.parallel import DistributedDataParallel

model = torch.nn.Linear(2, 2)
torch.save(model.state_dict(), "model.pt")
"""


@pytest.mark.parametrize(
    ("name", "launch", "several"),
    [
        ("run.sh", "torchrun --nproc_per_node 2 train.py", True),
        ("run.sh", "torchrun --nproc_per_node $GPUS train.py", True),
        ("run.sh", "torchrun --nproc_per_node 1 train.py", False),
        ("run.sh", "torchrun --nnodes 2 --nproc_per_node 1 train.py", True),
        ("run.sh", "python train.py", False),
        ("run.sh", "deepspeed train.py", True),
        ("run.sh", "deepspeed --include localhost:3 train.py", False),
        ("run.sh", "accelerate launch train.py", False),
        ("run.sh", "accelerate launch --num_processes 4 train.py", True),
        ("run.sh", "torchrun --nproc_per_node 2 /home/somebody/code/train.py", True),
        ("run.sh", "torchrun --nproc_per_node 2 src/train.py", False),
        ("run.sh", "torchrun --nproc_per_node 2 -m train", True),
        ("run.sh", "accelerate launch --num_processes 2 -m train --lr 1", True),
        ("run.sh", "torchrun --nproc_per_node 2 -m another.module", False),
        ("run.sh", "CMD='torchrun --nproc_per_node 2'\nCMD+=' train.py'\n$CMD", True),
        ("run.sh", 'eval "torchrun --nproc_per_node $GPUS train.py $@"', True),
        ("pages/run.sh", "torchrun --nproc_per_node 2 train.py", True),
        ("pages/run.sh", "torchrun --nproc_per_node 2 other.py", False),
        ("README.md", "```\ntorchrun --nproc_per_node 2 train.py\n```", True),
        ("run.sh", "srun python train.py", False),
        ("run.sh", "srun -n 8 python train.py", True),
        ("run.sh", "srun -n 1 --nodes=2 python train.py", False),
        ("run.sh", "#SBATCH --ntasks-per-node=8\nsrun python train.py", True),
        ("run.sh", "#SBATCH --nodes=4\nsrun python train.py", True),
        ("run.sh", "#SBATCH --nodes=1\n#SBATCH --gres=gpu:8\nsrun python train.py", False),
        (
            "run.sh",
            "#SBATCH --nodes=1\ntorchrun --nnodes=$SLURM_NNODES --nproc_per_node=1 train.py",
            False,
        ),
        (
            "run.sh",
            "#SBATCH --nodes=2\nn=$SLURM_JOB_NUM_NODES\ntorchrun --nnodes=$n --nproc_per_node=1 train.py",
            True,
        ),
        ("run.sh", "#SBATCH --ntasks=4\nCMD='train.py -x'\nexport CMD\npython train.py", False),
        (
            "run.sh",
            "#SBATCH --ntasks=4\nexport CMD='/a/train.py -x'\nsrun bash -c 'python $CMD'",
            True,
        ),
    ],
)
def test_what_is_started_on_several_processes_runs_on_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, launch: str, several: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(WRITING)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(f"{launch}\n")
    arguments = ["check", "--no-cache", "--select", "DL301", "--output-format", "json"]
    found = json.loads(CliRunner().invoke(main, arguments).stdout)
    assert bool(found["findings"]) is several


def test_a_script_beside_the_launch_is_meant_and_no_other_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pages").mkdir()
    (tmp_path / "train.py").write_text(WRITING)
    (tmp_path / "pages/train.py").write_text(WRITING)
    (tmp_path / "pages/run.sh").write_text("torchrun --nproc_per_node 2 train.py\n")
    arguments = ["check", "--no-cache", "--select", "DL301", "--output-format", "json"]
    found = json.loads(CliRunner().invoke(main, arguments).stdout)
    assert [row["path"] for row in found["findings"]] == ["pages/train.py"]


WORKING = """
import torch
from torch.nn.parallel import DistributedDataParallel


def train():
    model = DistributedDataParallel(torch.nn.Linear(2, 2))
    torch.save(model.state_dict(), "model.pt")
"""


@pytest.mark.parametrize(
    ("launch", "severity"),
    [
        ("torchrun --nproc_per_node 2 jobs/train_mem.py", "error"),
        ("torchrun --nproc_per_node 2 -m jobs.train_mem", "error"),
        ("torchrun --nproc_per_node 1 jobs/train_mem.py", "info"),
        ("torchrun --nproc_per_node 2 jobs/other.py", "info"),
    ],
)
def test_a_short_script_that_hands_on_is_known_by_the_launch_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launch: str, severity: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/work.py").write_text(WORKING)
    (tmp_path / "jobs/train_mem.py").write_text("from jobs.work import train\n\ntrain()\n")
    (tmp_path / "jobs/other.py").write_text("print(1)\n")
    (tmp_path / "run.sh").write_text(f"{launch}\n")
    arguments = ["check", "--no-cache", "--select", "DL301", "--output-format", "json"]
    found = json.loads(CliRunner().invoke(main, arguments).stdout)
    assert [row["severity"] for row in found["findings"]] == [severity]


@pytest.mark.parametrize(
    ("script", "command", "several"),
    [
        ("torchrun --nproc_per_node $2 $1 --lr 1", "bash tools/dist.sh train.py 8", True),
        ("F=$1\ntorchrun --nproc_per_node $2 $F", "./tools/dist.sh train.py 8", True),
        ("torchrun --nproc_per_node $2 $1 --lr 1", "bash tools/dist.sh other.py 8", False),
        ("torchrun --nproc_per_node 1 $1 --lr 1", "bash tools/dist.sh train.py 8", False),
        ("shift\ntorchrun --nproc_per_node $2 $1", "bash tools/dist.sh train.py 8", False),
    ],
)
def test_a_script_that_is_handed_on_to_a_launch_is_started_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, command: str, several: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "train.py").write_text(WRITING)
    (tmp_path / "tools/dist.sh").write_text(f"{script}\n")
    (tmp_path / "run.sh").write_text(f"{command}\n")
    arguments = ["check", "--no-cache", "--select", "DL301", "--output-format", "json"]
    found = json.loads(CliRunner().invoke(main, arguments).stdout)
    assert bool(found["findings"]) is several
