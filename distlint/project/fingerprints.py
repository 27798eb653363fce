"""Names for findings that survive edits elsewhere in the file, and the baseline made of them."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from distlint.findings import Finding
from distlint.project.naming import escaped

BASELINE_VERSION = 1


class BaselineError(Exception):
    """A baseline file that cannot be used, and why."""


def fingerprints(
    findings: Sequence[Finding], paths: Sequence[str], lines: Sequence[str]
) -> list[str]:
    """One stable name for each of `findings` (in the order of the file).

    It is made of the code, the path below the project's root (`paths`), the text of the line
    without its spaces (`lines`), and a count where the three are the same: neither lines added above
    nor another indentation change it, nor the directory distlint is run from.
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    result: list[str] = []
    for finding, path, line in zip(findings, paths, lines, strict=True):
        key = (finding.code, path, "".join(line.split()))
        seen[key] += 1
        payload = "\0".join((*key, str(seen[key])))
        result.append(hashlib.sha256(payload.encode("utf-8", "surrogatepass")).hexdigest()[:16])
    return result


def read_baseline(path: Path) -> frozenset[str]:
    """The accepted fingerprints in the file at `path`. Raises BaselineError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        rows = document["findings"]
        return frozenset(str(row["fingerprint"]) for row in rows)
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


def write_baseline(path: Path, rows: Iterable[tuple[Finding, str]]) -> None:
    """Replace the baseline at `path` by one that accepts `rows`. Raises BaselineError.

    A link is not written through: a checkout may aim it at any file of the user's.
    """
    text = baseline_text(rows)
    shown = escaped(str(path))
    if path.is_symlink():
        raise BaselineError(f"{shown}: the baseline is a link; name the file itself")
    temporary = path.with_name(f".{path.name[:200]}.{os.getpid()}")
    try:
        if path.exists() and not path.is_file():  # a pipe or a device
            path.write_text(text, encoding="utf-8")
            return
        try:
            with temporary.open("x", encoding="utf-8") as file:
                file.write(text)
            if path.exists():
                temporary.chmod(path.stat().st_mode & 0o777)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BaselineError(f"{shown}: the baseline cannot be written: {reason}") from None


def baseline_text(rows: Iterable[tuple[Finding, str]]) -> str:
    """The content of a baseline file that accepts `rows` (findings with their fingerprints)."""
    entries = [
        {
            "fingerprint": fingerprint,
            "code": finding.code,
            "path": finding.place.path,
            "line": finding.place.line,
        }
        for finding, fingerprint in rows
    ]
    document = {"version": BASELINE_VERSION, "findings": entries}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
