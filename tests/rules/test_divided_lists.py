"""A list from a set of texts is a defect where something gives each rank its part of it by index."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import findings_in

DATA = """
from torch.utils.data import Dataset


class Captions(Dataset):
    def __init__(self, captions):
        self.rows = list(set(captions))

    def __getitem__(self, index):
        return self.rows[index]
"""
TRAIN = """
from accelerate import Accelerator
from torch.utils.data import DataLoader
from data import Captions


def train(model, optimizer, schedule, captions):
    accelerator = Accelerator()
    {loader} = DataLoader(Captions(captions), shuffle=True)
    {prepared}
    # each rank: {loader} = accelerator.prepare({loader})
    for batch in {loader}:
        accelerator.backward(model(batch))
"""


@pytest.mark.parametrize(
    ("loader", "prepared", "expected"),
    [
        ("loader", "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)", 1),
        ("train_dl", "train_dl = accelerator.prepare_data_loader(train_dl)", 1),
        ("rows", "model, *rest = accelerator.prepare(*parts)", 1),
        ("loader", "model, optimizer = accelerator.prepare(model, optimizer)", 0),
        ("loader", "model = accelerator.prepare_model(model, evaluation_mode=False)", 0),
        ("loader", "schedule = accelerator.prepare(schedule)", 0),
        ("loader", "prepare_images(loader, 'Slider Trainer')", 0),
        ("loader", "Trainer(model=model, train_dataset=loader).train()", 1),
    ],
)
def test_prepare_divides_loaders_alone(
    loader: str, prepared: str, expected: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"data.py": DATA, "train.py": TRAIN.format(loader=loader, prepared=prepared)}
    assert len(findings_in("DL405", tmp_path, files, capsys)) == expected
