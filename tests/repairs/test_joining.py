"""What a fix makes alike in both arms of a test is written once."""

from __future__ import annotations

from pathlib import Path

import pytest

from distlint.cli import main

SCRIPT = """\
import torch
import torch.distributed as dist


def resume(model, path, gpu, log):
    dist.barrier()
{arms}
    return model


if __name__ == "__main__":
    dist.init_process_group("nccl")
"""
ONE = 'model.load_state_dict(torch.load(path, map_location="cpu"))'


@pytest.mark.parametrize(
    ("arms", "wanted"),
    [
        pytest.param(
            # sam-hq fb181f8 train/train.py:369
            "    if torch.cuda.is_available():\n"
            "        model.load_state_dict(torch.load(path))\n"
            f"    else:\n        {ONE}\n",
            f"    {ONE}\n",
            id="alike",
        ),
        pytest.param(
            f"    if gpu is None:\n        {ONE}\n"
            "    else:\n        model.load_state_dict(torch.load(path))\n",
            f"    {ONE}\n",
            id="the other way round",
        ),
        pytest.param(
            # wekws 1a8ee65 wekws/utils/checkpoint.py:26
            "    if torch.cuda.is_available():\n"
            "        log('for GPU')\n        state = torch.load(path)\n"
            "    else:\n"
            "        log('for CPU')\n        state = torch.load(path, map_location='cpu')\n"
            "    model.load_state_dict(state)\n",
            "    if torch.cuda.is_available():\n        log('for GPU')\n"
            "    else:\n        log('for CPU')\n"
            "    state = torch.load(path, map_location='cpu')\n"
            "    model.load_state_dict(state)\n",
            id="words in both",
        ),
        pytest.param(
            "    if log():\n        model.load_state_dict(torch.load(path))\n"
            f"    else:\n        {ONE}\n",
            f"    if log():\n        {ONE}\n    else:\n        {ONE}\n",
            id="a test that does something",
        ),
        pytest.param(
            "    if gpu:\n        model.load_state_dict(torch.load(path))\n"
            f"    else:\n        {ONE[:-1]}, strict=False)\n",
            f"    if gpu:\n        {ONE}\n    else:\n        {ONE[:-1]}, strict=False)\n",
            id="arms that differ",
        ),
        pytest.param(
            "    if gpu:\n        # of this machine\n        model.load_state_dict(torch.load(path))\n"
            f"    else:\n        {ONE}\n",
            f"    if gpu:\n        # of this machine\n        {ONE}\n    else:\n        {ONE}\n",
            id="a comment",
        ),
        pytest.param(
            f"    if path is None:\n        pass\n    elif gpu:\n        {ONE}\n"
            "    else:\n        model.load_state_dict(torch.load(path))\n",
            f"    if path is None:\n        pass\n    elif gpu:\n        {ONE}\n    else:\n        {ONE}\n",
            id="elif",
        ),
    ],
)
def test_a_load_that_both_arms_make(arms: str, wanted: str, tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(SCRIPT.format(arms=arms.rstrip("\n")))
    arguments = ["fix", "--apply", "--unsafe-fixes", "--no-cache", "--select", "DL505"]
    with pytest.raises(SystemExit):
        main([*arguments, str(file)])
    assert file.read_text() == SCRIPT.format(arms=wanted.rstrip("\n"))
