"""The causes of public reports, in scripts of the reported shape: found or not as the table says.

The look-alike of each, which does it right, is silent, but for the findings that the table names.
"""

from __future__ import annotations

from typing import Any

import pytest

from bench.score_demand import findings, folder, is_found, rows


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["report"])
def test_a_reported_cause_is_found_and_its_look_alike_is_silent(row: dict[str, Any]) -> None:
    wrong = findings(folder(row) / "wrong", "--preview")
    right = findings(folder(row) / "right", "--preview")
    assert is_found(row, wrong) is row["found"]
    assert sorted({finding["code"] for finding in right}) == row.get("also", [])
