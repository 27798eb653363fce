"""How long a running total keeps the graphs of the losses: until it is begun anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.checked import severities

LOOP = """
import torch.distributed as dist

def {name}(model, optimizer, loader, epochs, rounds):
    for {outer}:
        total = 0.0
        for {inner}:
            loss = model(batch)
            loss.backward()
            total += loss
        optimizer.step()
        dist.all_reduce(total)
"""


@pytest.mark.parametrize(
    ("name", "outer", "inner", "expected"),
    [
        ("train", "epoch in range(epochs)", "batch in loader", "warning"),
        # RADIO c0f3701 examples/position_predictor.py:443
        ("train", "batches in loader", "batch in batches", "info"),
        ("train", "number, batches in enumerate(loader)", "batch in batches.split(8)", "info"),
        ("train", "batch in loader", "_ in range(accumulation_rounds)", "info"),
        ("train", "epoch in range(epochs)", "_ in range(rounds)", "warning"),
        ("train_step", "_ in range(2)", "batch in loader", "info"),
        ("train_steps", "_ in range(2)", "batch in loader", "warning"),
    ],
)
def test_what_is_begun_anew_for_each_batch_is_information(
    tmp_path: Path, name: str, outer: str, inner: str, expected: str
) -> None:
    text = LOOP.format(name=name, outer=outer, inner=inner)
    assert severities(tmp_path, "DL607", text) == [expected]
