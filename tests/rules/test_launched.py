"""What code says of its launch: one GPU for each rank, and modes of sharding that nothing asks for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from distlint.cli import main
from tests.rules.checked import findings_in, lines_of

_LOADS = """\
import os

import torch
import torch.distributed as dist


def set_up():
    {environment}
    dist.init_process_group("nccl")


def resume(model, path):
    dist.barrier()
    model.load_state_dict(torch.load(path))


set_up()
resume(torch.nn.Linear(2, 2), "model.pth")
"""

_ENGINE = """\
import deepspeed
import torch.distributed as dist

{mode}


def sample(model, batch):
    engine, _, _, _ = deepspeed.initialize(model=model)
    engine.backward(engine(batch))
    engine.step()
    if dist.get_rank() == 0:
        print(engine(batch))
"""


@pytest.mark.parametrize(
    ("environment", "lines"),
    [
        ('os.environ["CUDA_VISIBLE_DEVICES"] = str(int(os.environ["RANK"]) % 8)', []),
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"', [14]),
    ],
)
def test_a_rank_with_one_visible_gpu_has_its_own_cuda_0(
    environment: str, lines: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines_of("DL505", tmp_path, _LOADS.format(environment=environment), capsys) == lines


@pytest.mark.parametrize(
    ("imports", "lines"),
    [
        ("from lightning.fabric.accelerators import XLAAccelerator", []),
        ("import torch_xla.core.xla_model as xm", []),
        ("try:\n    import torch_xla\nexcept ImportError:\n    torch_xla = None", [18]),
    ],
)
def test_a_file_for_tpus_has_no_cuda_0(
    imports: str, lines: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{imports}\n{_LOADS.format(environment='pass')}"
    assert lines_of("DL505", tmp_path, text, capsys) == lines


_PREPARES = """\
import torch


def prepare(texts, tokenizer, folder):
    rows = [tokenizer.encode(text) for text in texts]
    torch.save(rows, folder / "model_rows.pt")
    return rows{device}
"""


@pytest.mark.parametrize(("device", "lines"), [("", []), (".to(0)", [14])])
def test_a_file_of_samples_that_the_program_prepares_is_on_the_cpu(
    device: str, lines: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "preparing.py").write_text(_PREPARES.format(device=device))
    text = _LOADS.format(environment="import preparing").replace(
        "torch.load(path)", 'torch.load(path / "model_rows.pt")'
    )
    assert lines_of("DL505", tmp_path, text, capsys) == lines


@pytest.mark.parametrize(
    ("mode", "severity"),
    [("", "info"), ('CONFIG = {"zero_optimization": {"stage": 3}}', "warning")],
)
def test_an_engine_is_only_listed_where_nothing_asks_for_zero(
    mode: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.py"
    script.write_text(_ENGINE.format(mode=mode), encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["check", "--no-cache", "--select", "DL106", "--output-format", "json", str(script)])
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [(finding["line"], finding["severity"]) for finding in found] == [(12, severity)]


_SAVES = """\
import torch
from accelerate import Accelerator

accelerator = Accelerator()
model = accelerator.prepare(torch.nn.Linear(2, 2))
if accelerator.is_main_process:
    {call}
accelerator.wait_for_everyone()
"""


@pytest.mark.parametrize(
    ("call", "beside", "text", "severity"),
    [
        ("accelerator.get_state_dict(model)", "notes.sh", "python script.py", "info"),
        (
            "accelerator.get_state_dict(model)",
            "train.sh",
            "accelerate launch --use_fsdp script.py",
            "warning",
        ),
        (
            "accelerator.get_state_dict(model)",
            "config.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\n",
            "warning",
        ),
        ('accelerator.save_state("out")', "notes.sh", "python script.py", "warning"),
    ],
)
def test_a_gather_on_one_rank_is_only_listed_where_nothing_speaks_of_shards(
    call: str,
    beside: str,
    text: str,
    severity: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "script.py").write_text(_SAVES.format(call=call), encoding="utf-8")
    (tmp_path / beside).write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["check", "--no-cache", "--select", "DL106", "--output-format", "json", str(tmp_path)])
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [(finding["line"], finding["severity"]) for finding in found] == [(7, severity)]


_RESIZE = "model.resize_token_embeddings(len(tokenizer))"
_TOKENS = """\
import transformers
from transformers import Trainer, TrainingArguments


def add_tokens(model, tokenizer, count):
    {first}
    weights = model.get_output_embeddings().weight{data}
    average = weights[:-count].mean(dim=0, keepdim=True)
    {block}
        weights[-count:] = average


def main(model, tokenizer, arguments: TrainingArguments):
    add_tokens(model, tokenizer, 4)
    Trainer(model=model, args=arguments).train()
"""


@pytest.mark.parametrize(
    ("stage", "data", "block", "lines"),
    [
        (3, ".data", "if count:", [10]),
        (2, ".data", "if count:", []),
        (3, "", "with deepspeed.zero.GatheredParameters(weights, modifier_rank=0):", []),
    ],
)
def test_rows_of_new_tokens_under_zero_3(
    stage: int,
    data: str,
    block: str,
    lines: list[int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = _TOKENS.format(first="tokenizer.padding_side = 'left'", data=data, block=block)
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    config = {"zero_optimization": {"stage": stage}, "train_micro_batch_size_per_gpu": "auto"}
    (tmp_path / "zero.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["check", "--no-cache", "--select", "DL210", "--output-format", "json", str(tmp_path)])
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [finding["line"] for finding in found] == lines


@pytest.mark.parametrize(
    ("where", "asked", "first", "lines"),
    [
        ("zero.json", "transformers==4.33.0", _RESIZE, [10]),  # made under `zero.Init`
        ("zero.json", "transformers==4.34.0", _RESIZE, []),
        ("zero.json", "transformers==4.31.0", _RESIZE, []),
        ("zero.json", "transformers>=4.34.0", _RESIZE, []),
        ("zero.json", "transformers>=4.34.0", "pass", [10]),
        ("other/zero.json", "torch", "pass", []),  # of another project of the repository
        ("scripts/zero.json", "torch", _RESIZE, []),
        ("scripts/zero.json", "torch", "pass", [10]),
    ],
)
def test_what_a_resize_gives_and_whose_configuration_it_is(
    where: str,
    asked: str,
    first: str,
    lines: list[int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # LongLoRA d4eb344 fine-tune.py:90; NVlabs' Eagle 783f656 Embodied/ beside Eagle/scripts/zero3.json.
    files = {
        "train.py": _TOKENS.format(first=first, data=".data", block="if count:"),
        "requirements.txt": asked,
        where: json.dumps({"zero_optimization": {"stage": 3}, "train_batch_size": "auto"}),
        "other/requirements.txt": "torch",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["check", "--no-cache", "--select", "DL210", "--output-format", "json", str(tmp_path)])
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [finding["line"] for finding in found] == lines


RANKED = """
import torch
import torch.distributed as dist

def start(args):
    dist.init_process_group("nccl", rank={rank}, world_size=args.world_size)
    torch.cuda.set_device(dist.get_rank())
    dist.barrier()
"""


@pytest.mark.parametrize(("rank", "found"), [("args.local_rank", 0), ("args.rank", 1)])
def test_a_group_of_local_ranks_is_of_one_machine(
    rank: str, found: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": RANKED.format(rank=rank)}
    assert len(findings_in("DL504", tmp_path, files, capsys)) == found
