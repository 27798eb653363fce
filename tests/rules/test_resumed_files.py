"""Which write a finding about a resume names: that of the file which is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import evidence_in

SCRIPT = """
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def main(net, optimizer, folder):
    dist.init_process_group()
    model = DDP(net)
    path = os.path.join(folder, {loaded})
    start = 0
    if os.path.exists(path):
        state = torch.load(path)
        optimizer.load_state_dict(state["optimizer"])
        start = state["epoch"]
    for epoch in range(start, 10):
        train(model, optimizer)
        if dist.get_rank() == 0:
            torch.save(net.state_dict(), f"{{folder}}/weights.pt")
            last = "last.pt"
            torch.save({{"optimizer": optimizer.state_dict(), "epoch": epoch}}, os.path.join(folder, last))
"""


@pytest.mark.parametrize(
    ("loaded", "line"), [('"last.pt"', 22), ("f'last.pt'", 22), ('"weights.pt"', 20), ("name", 20)]
)
def test_the_write_of_what_is_loaded(
    loaded: str, line: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"train.py": SCRIPT.format(loaded=loaded)}
    ((_, written),) = evidence_in("DL309", tmp_path, files, capsys)
    assert written == ("rank 0 alone writes", line)
