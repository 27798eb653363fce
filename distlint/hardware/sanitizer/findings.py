"""What `distlint check` says about the lines where ranks diverged."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from distlint.hardware.sanitizer.events import Stack
from distlint.hardware.sanitizer.places import is_users

_SECONDS = 60.0
_FILES = 16


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """A finding of check at a line of a reported stack."""

    code: str
    name: str
    message: str
    path: str
    line: int

    @property
    def at(self) -> str:
        """``path:line``."""
        return f"{self.path}:{self.line}"

    def as_object(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def _stands_at(finding: dict[str, Any], path: str, line: int) -> bool:
    """Whether a finding, or a place that explains it (the collective behind a condition), is at a line."""
    here = str(Path(finding["path"]).resolve()) == path
    if here and finding["line"] <= line <= finding["end_line"]:
        return True
    return any(
        place["line"] == line and str(Path(place["path"]).resolve()) == path
        for place in finding["related"]
    )


def findings_at(stacks: Sequence[Stack]) -> tuple[list[RuleFinding], str | None]:
    """The findings at lines of the stacks, those of the first stack first; and why none, if so.

    Runs `distlint check` as its own process, on the files of the user's program only: not on
    installed packages.
    """
    lines: dict[tuple[str, int], None] = {}
    for stack in stacks:
        for frame in stack:
            if is_users(frame.path):
                lines.setdefault((str(Path(frame.path).resolve()), frame.line))
    files = list(dict.fromkeys(path for path, _ in lines))[:_FILES]
    if not files:
        return [], None
    command = [sys.executable, "-m", "distlint", "check", "--preview", "--output-format", "json"]
    command += files
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return [], f"distlint check took longer than {_SECONDS:.0f} s"
    try:
        reported = json.loads(done.stdout)["findings"]
    except ValueError:
        said = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        return [], f"distlint check could not do its work: {said}"
    found = []
    for path, line in lines:
        for one in reported:
            if _stands_at(one, path, line):
                finding = RuleFinding(
                    one["code"], one["name"], one["message"], one["path"], one["line"]
                )
                if finding not in found:
                    found.append(finding)
    return found, None
