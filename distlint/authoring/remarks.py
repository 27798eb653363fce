"""What the test of a rule says about its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Remark:
    """One sentence about one place of a rule's folder: what is so, and what to do."""

    path: Path
    line: int | None
    text: str
    detail: str = ""
    """More lines, shown below: a diff, or what the ranks of a proof printed."""
