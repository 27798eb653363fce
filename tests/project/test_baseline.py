"""A baseline is read back as it was written, and one that cannot be used says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from distlint.project.baseline import Accepted, BaselineError, baseline_text, read_baseline


def test_a_baseline_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "accepted.json"
    rows = (Accepted("aa", "DL301", "a.py", 1), Accepted("bb", "DL301", "größe.py", 2))
    path.write_text(baseline_text(rows))
    assert read_baseline(path) == rows


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"findings": [1]}', '{"findings": [{}]}', "\x00"]
)
def test_a_broken_baseline_says_what_to_do(tmp_path: Path, text: str) -> None:
    path = tmp_path / "accepted.json"
    path.write_text(text)
    with pytest.raises(BaselineError, match="--write-baseline"):
        read_baseline(path)


def test_a_missing_baseline_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BaselineError, match="no such baseline"):
        read_baseline(tmp_path / "accepted.json")
