"""The error texts that public reports quote lead to a rule, to a check of the doctor, or to what they mean."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from distlint.cli import main

ROWS = [
    json.loads(line)
    for line in Path(__file__).with_name("errors.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["report"])
def test_a_quoted_error_is_explained(row: dict[str, str]) -> None:
    done = CliRunner().invoke(main, ["explain", row["text"]])
    assert done.exit_code == 0
    assert row["leads_to"] in done.output
