"""A Trainer's own loader is divided by nobody, but where an old Trainer's sampler divides it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import severities_in

TRAINER = """
from torch.utils.data import DataLoader
from transformers import Trainer


class OwnLoader(Trainer):
    def get_train_dataloader(self):
        return DataLoader(self.train_dataset, sampler=self._get_train_sampler())
"""


@pytest.mark.parametrize(
    ("requirement", "expected"),
    [
        ("transformers==4.28.1", []),
        ("transformers==4.40.0", ["warning"]),
        ("torch==2.1.0", ["warning"]),
    ],
)
def test_a_sampler_of_an_old_trainer_divides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], requirement: str, expected: list[str]
) -> None:
    files = {"train.py": TRAINER, "requirements.txt": requirement + "\n"}
    assert severities_in("DL404", tmp_path, files, capsys) == expected
