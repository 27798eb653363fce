"""What fails on all ranks of a machine or on none is information, where what may fail on one is a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import severities_in

SCRIPT = """
import os
import torch
import torch.distributed as dist


def find(folder):
    try:
        found = {call}
        dist.barrier()
    except Exception as failed:
        print(failed)
        return None
    return found
"""


@pytest.mark.parametrize(
    ("call", "severity"), [("os.listdir(folder)", "info"), ("torch.load(folder)", "warning")]
)
def test_a_look_into_a_folder_fails_alike(
    call: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = SCRIPT.format(call=call)
    assert list(severities_in("DL105", tmp_path, {"script.py": script}, capsys)) == [severity]


LEAVING = """
import json
import sys
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel
from transformers import AutoModel


def read(path):
    try:
        return json.load(open(path))
    except OSError:
        sys.exit()


def main(path, name):
    dist.init_process_group("nccl")
    options = read(path)
    model = {waits}
    return model, options


def shard(model):
    return FullyShardedDataParallel(model)


if __name__ == "__main__":
    main("options.json", "gpt2")
"""


@pytest.mark.parametrize(
    ("waits", "severity"),
    [("AutoModel.from_pretrained(name)", "info"), ("dist.barrier()", "warning")],
)
def test_who_ends_its_process_beside_a_model_goes_on_nowhere(
    waits: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """scepter 9f5b439 scepter/modules/utils/config.py:464: what waits is a collective of sharded models alone."""
    script = LEAVING.format(waits=waits)
    assert list(severities_in("DL105", tmp_path, {"script.py": script}, capsys)) == [severity]


RAISING = """
import torch.distributed as dist


def main(path):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        try:
            settings = open(path).read()
        except OSError as failed:
            raise RuntimeError(path) from failed
    else:
        settings = None
    box = [settings]
    dist.broadcast_object_list(box, src=0)
    return box


if __name__ == "__main__":
    main("options.yaml")
"""


@pytest.mark.parametrize(
    ("options", "severity"),
    [
        ("--nproc_per_node 4", "info"),
        ("--nnodes 1 --nproc_per_node 4", "info"),
        ("--nnodes 2 --nproc_per_node 4", "warning"),
    ],
)
def test_torchrun_of_one_machine_ends_the_others(
    options: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # cosmos-rl 89f2e5b tests/benchmark/launch_rollout_bench.sh:75
    files = {"script.py": RAISING, "run.sh": f"torchrun {options} script.py\n"}
    assert list(severities_in("DL105", tmp_path, files, capsys)) == [severity]
