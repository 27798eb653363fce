"""How loud DL601 is where the same number is worth less: what one batch gave, and what rank 0 alone decides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from distlint.cli import main

CASES = Path(__file__).parents[2] / "rules/gradients/decision_on_local_metric/cases"


@pytest.mark.parametrize(
    ("case", "severity"),
    [("one_batch", "info"), ("entered_by_rank_0", "info"), ("shards_only_where_told", "warning")],
)
def test_severity(case: str, severity: str) -> None:
    arguments = ["check", "--no-cache", "--preview", "--select", "DL601", "--output-format", "json"]
    found = json.loads(CliRunner().invoke(main, [*arguments, str(CASES / case)]).stdout)["findings"]
    assert {row["severity"] for row in found} == {severity}
