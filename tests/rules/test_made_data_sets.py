"""Data sets that shuffle themselves: a warning where a program is seen that makes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import severities_in

SET = """
import random
from torch.utils.data import DataLoader, Dataset, DistributedSampler

class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows
        random.shuffle(self.rows)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]

def loader_of(data):
    return DataLoader(data, sampler=DistributedSampler(data))
"""
TRAIN = """
import torch.distributed as dist
{imports}

def main():
    dist.init_process_group("nccl")
    for batch in loader_of({data}):
        print(batch)

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("imports", "data", "severity"),
    [
        ("from sets.rows import Rows, loader_of", "Rows([1, 2])", "warning"),
        ("from sets.rows import loader_of", "[1, 2]", "info"),
    ],
)
def test_a_data_set_that_no_program_makes(
    imports: str, data: str, severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """zwd-into-aurora utils/dataset.py:998, a class that is named nowhere."""
    files = {
        "sets/__init__.py": "",
        "sets/rows.py": SET,
        "train.py": TRAIN.format(imports=imports, data=data),
    }
    assert severities_in("DL405", tmp_path, files, capsys) == [severity]
