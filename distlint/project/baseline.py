"""The baseline: findings that are accepted, under their fingerprints, also in files that were renamed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from distlint.findings import Finding
from distlint.project.fingerprints import fingerprints
from distlint.project.naming import escaped
from distlint.records import dataclass

VERSION = 1


class BaselineError(Exception):
    """A baseline file that cannot be used, and why."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """One accepted finding: its name, and where it was (the path below the project's root)."""

    fingerprint: str
    code: str
    path: str
    line: int


def read_baseline(path: Path) -> tuple[Accepted, ...]:
    """The rows of the file at `path`. Raises BaselineError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return tuple(
            Accepted(str(row["fingerprint"]), str(row["code"]), str(row["path"]), int(row["line"]))
            for row in document["findings"]
        )
    except FileNotFoundError:
        raise BaselineError(
            f"{path}: no such baseline; `distlint check --write-baseline {path}` makes one"
        ) from None
    except OSError as error:
        raise BaselineError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise BaselineError(
            f"{path}: not a baseline of distlint; `distlint check --write-baseline` makes one"
        ) from None


def write_baseline(path: Path, rows: Iterable[Accepted]) -> None:
    """Replace the baseline at `path` by one that accepts `rows`. Raises BaselineError.

    A link is not written through: a checkout may aim it at any file of the user's.
    """
    # Half of a character, as in the name of a file that is not UTF-8, has the same escape in JSON.
    data = baseline_text(rows).encode("utf-8", "backslashreplace")
    shown = escaped(str(path))
    if path.is_symlink():
        raise BaselineError(f"{shown}: the baseline is a link; name the file itself")
    temporary = path.with_name(f".{path.name[:200]}.{os.getpid()}")
    try:
        if path.exists() and not path.is_file():  # a pipe or a device
            path.write_bytes(data)
            return
        try:
            with temporary.open("xb") as file:
                file.write(data)
            if path.exists():
                temporary.chmod(path.stat().st_mode & 0o777)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BaselineError(f"{shown}: the baseline cannot be written: {reason}") from None


def baseline_text(rows: Iterable[Accepted]) -> str:
    """The content of a baseline file that accepts `rows`."""
    document = {"version": VERSION, "findings": [asdict(row) for row in rows]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def earlier_names(
    accepted: Sequence[Accepted],
    findings: Sequence[Finding],
    paths: Sequence[str],
    lines: Sequence[str],
    exists: Callable[[str], bool],
) -> list[str]:
    """The paths of `findings` as the baseline knows them: old names where a file was renamed.

    A file of the baseline that is gone and one that it does not know are the same file where accepted
    findings of the first are found in the second; of several pairs the one with most of them.
    """
    known = {row.path for row in accepted}
    names = {row.fingerprint for row in accepted}
    gone = sorted(path for path in known if not exists(path))
    pairs: list[tuple[int, str, str]] = []
    for new in dict.fromkeys(paths) if gone else ():
        if new in known:
            continue
        here = [index for index, path in enumerate(paths) if path == new]
        of_file = [findings[index] for index in here]
        texts = [lines[index] for index in here]
        for old in gone:
            same = names.intersection(fingerprints(of_file, [old] * len(here), texts))
            if same:
                pairs.append((-len(same), old, new))
    renamed: dict[str, str] = {}
    for _, old, new in sorted(pairs):
        if new not in renamed and old not in renamed.values():
            renamed[new] = old
    return [renamed.get(path, path) for path in paths]
