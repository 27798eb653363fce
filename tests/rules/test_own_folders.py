"""A folder whose name each rank makes up does harm where more than one rank uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import severities

FOLDER = """
import os
from datetime import datetime
import torch
import torch.distributed as dist

def main(root, model, rows):
    dist.init_process_group("nccl")
    folder = os.path.join(root, f"{{datetime.now():%Y_%m_%d_%H_%M_%S}}")
    os.makedirs(folder, exist_ok=True)
    model = torch.nn.parallel.DistributedDataParallel(model)
    {use}
"""


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        # RepViT 298f420 main.py:482: the other ranks leave an empty folder
        ("model(rows)", "info"),
        (
            "if dist.get_rank() == 0: torch.save(model.module, os.path.join(folder, 'last.pt'))",
            "info",
        ),
        ("torch.save(rows, os.path.join(folder, f'{dist.get_rank()}.pt'))", "warning"),
        ("torch.save(rows, os.path.join(folder, 'rows.pt'))", "warning"),
        # c-jscc ea5f949 ddp_train.py:243: `node_rank`, which comes from the options
        (
            "node_rank = getattr(rows, 'ddp.rank', 0)\n"
            "    if node_rank == 0: torch.save(rows, os.path.join(folder, 'rows.pt'))",
            "info",
        ),
        # OLMoE 357454f scripts/eval_openlm_ckpt.py:444
        ("os.chdir(folder)", "warning"),
        ("assert os.path.exists(os.path.join(folder, 'best.pt'))", "warning"),
        ("assert os.path.exists(folder)", "info"),
        ("model.module.load(torch.load(os.path.join(folder, 'best.pt')))", "warning"),
    ],
)
def test_an_empty_folder_of_each_rank_is_information(
    tmp_path: Path, use: str, expected: str
) -> None:
    assert severities(tmp_path, "DL304", FOLDER.format(use=use)) == [expected]
