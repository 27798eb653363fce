"""What a launch leaves as it is: accelerate under torchrun, and models in an engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in, severities_in

_TRAINING = """\
import torch
from accelerate import Accelerator


def main():
    accelerator = Accelerator({options})
    model, optimizer = accelerator.prepare(torch.nn.Linear(2, 2), torch.optim.SGD([]))
    for batch in range(3):
        loss = model(torch.ones(2)).sum()
        loss.backward()
        optimizer.step()


main()
"""


@pytest.mark.parametrize(
    ("launch", "options", "lines"),
    [
        ("torchrun --nproc_per_node 2 train.py", 'mixed_precision="bf16"', []),
        ("torchrun --nproc_per_node 2 train.py", "", []),
        ("torchrun --nproc_per_node 2 train.py", 'mixed_precision="fp16"', [10]),
        ("torchrun --nproc_per_node 2 train.py", "gradient_accumulation_steps=4", [10]),
        ("torchrun --nproc_per_node 2 train.py", "deepspeed_plugin=Plugin()", [10]),
        ("accelerate launch train.py", 'mixed_precision="bf16"', [10]),
        ("", 'mixed_precision="bf16"', [10]),
    ],
)
def test_a_raw_backward_under_torchrun_leaves_nothing_out(
    launch: str,
    options: str,
    lines: list[int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {"run.sh": launch + "\n", "train.py": _TRAINING.format(options=options)}
    assert [line for _, line in findings_in("DL605", tmp_path, files, capsys)] == lines


_UNWRAPPED_LATE = """\
from accelerate import Accelerator

from nets import Net


def main():
    accelerator = Accelerator()
    model = accelerator.prepare(Net())
    accelerator.unwrap_model(model.policy).train()


main()
"""


@pytest.mark.parametrize(
    ("launch", "severity"),
    [
        ("accelerate launch --use_deepspeed train.py", "info"),
        ("accelerate launch train.py", "error"),
        ("accelerate launch --use_deepspeed train.py  # find_unused_parameters", "warning"),
    ],
)
def test_an_engine_passes_attributes_on_to_who_unwraps_too_late(
    launch: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = "# DistributedDataParallelKwargs\n" * ("unused" in launch)
    files = {"run.sh": launch + "\n", "train.py": told + _UNWRAPPED_LATE}
    assert severities_in("DL203", tmp_path, files, capsys) == [severity]
