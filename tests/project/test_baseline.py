"""A baseline is read back as it was written, and one that cannot be used says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from distlint.findings import Finding, Place, Severity
from distlint.project.baseline import (
    Accepted,
    BaselineError,
    baseline_text,
    earlier_names,
    read_baseline,
)
from distlint.project.fingerprints import fingerprints


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


def test_a_renamed_file_is_the_one_with_which_it_shares_most() -> None:
    lines = ["torch.save(a, p)", "torch.save(b, p)", "torch.save(c, p)"]
    findings = [
        Finding("DL301", "unguarded-save", Severity.ERROR, "", Place("new.py", n, 0, n, 1))
        for n in (1, 2, 3)
    ]

    def accepted(path: str, count: int) -> list[Accepted]:
        names = fingerprints(findings[:count], [path] * count, lines[:count])
        return [Accepted(name, "DL301", path, 1) for name in names]

    for most, least in (("a.py", "z.py"), ("z.py", "a.py")):
        rows = [*accepted(most, 3), *accepted(least, 1)]
        names = earlier_names(rows, findings, ["new.py"] * 3, lines, lambda path: False)
        assert names == [most] * 3
    kept = earlier_names(accepted("a.py", 3), findings, ["new.py"] * 3, lines, lambda path: True)
    assert kept == ["new.py"] * 3
