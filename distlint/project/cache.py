"""The cache: what files hold, by their stamps, and whole results, by what they depend on.

It lies in `.distlint_cache/` under the project's root. A file of it that is damaged, or written by
another version, is passed over and written anew; every write replaces a file as a whole, so that
runs at the same time do not disturb each other.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import distlint
from distlint.findings import (
    Applicability,
    Finding,
    Fix,
    Place,
    Related,
    Severity,
    Witness,
    WitnessStep,
)

FOLDER = ".distlint_cache"
RUNS_KEPT = 24

_RUN_NAME = re.compile(r"[0-9a-f]{32}\.json")
"""What `run_key` makes: nothing else in the folder is the cache's to delete."""

_RACY_NS = 2_000_000_000
"""A file changed this shortly before it was read may change again within the clock's tick."""

Stamp = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What reading a file told: the hash of its content, and what it holds.

    `relevant` says whether a literal of the prefilter is in it, `marked` whether a suppression of
    distlint may be, `readable` whether it decodes.
    """

    digest: str
    relevant: bool
    marked: bool
    readable: bool

    @property
    def needed(self) -> bool:
        """Whether the file has to be read again for a check."""
        return self.relevant or self.marked or not self.readable


class Cache:
    """The cache of one project; `enabled` False neither reads nor writes."""

    def __init__(self, root: Path, *, enabled: bool) -> None:
        self._folder = root / FOLDER
        self._enabled = enabled

    def disabled(self) -> Cache:
        """A cache in the same place that neither reads nor writes."""
        return Cache(self._folder.parent, enabled=False)

    def load_facts(self, engine: str) -> dict[str, tuple[Stamp, FileFacts]]:
        """Facts about files by absolute path, as the last run with this `engine` left them."""
        document = self._read("files.json", engine)
        try:
            return {
                path: (
                    (row[0], row[1], row[2], row[3]),
                    FileFacts(row[4], bool(row[5] & 1), bool(row[5] & 2), bool(row[5] & 4)),
                )
                for path, row in document["files"].items()
            }
        except (KeyError, TypeError, IndexError, AttributeError):
            return {}

    def save_facts(self, engine: str, facts: Mapping[str, tuple[Stamp, FileFacts]]) -> None:
        """Keep `facts`, except of files so fresh that their stamps say nothing."""
        newest = time.time_ns() - _RACY_NS
        rows = {
            path: [*stamp, fact.digest, fact.relevant + 2 * fact.marked + 4 * fact.readable]
            for path, (stamp, fact) in facts.items()
            if max(stamp[0], stamp[1]) < newest
        }
        self._write("files.json", {"engine": engine, "files": rows})

    def load_run(self, key: str) -> dict[str, Any] | None:
        """The stored result of a run, or None."""
        document = self._read(f"runs/{key}.json", key)
        return document if "findings" in document else None

    def save_run(self, key: str, document: dict[str, Any]) -> None:
        """Keep the result of a run; the oldest ones go."""
        self._write(f"runs/{key}.json", {"engine": key, **document})
        if not self._enabled:
            return
        if not self._is_own("runs"):
            return
        with contextlib.suppress(OSError):
            entries = [
                (entry.stat(follow_symlinks=False).st_mtime_ns, entry.path)
                for entry in os.scandir(self._folder / "runs")
                if _RUN_NAME.fullmatch(entry.name)
            ]
            for _, path in sorted(entries, reverse=True)[RUNS_KEPT:]:
                with contextlib.suppress(OSError):  # another run was faster
                    os.unlink(path)

    def load_rules(self, engine: str) -> list[list[Any]] | None:
        """The rows of the rule catalogue of this `engine`, or None."""
        rows = self._read("rules.json", engine).get("rules")
        return rows if isinstance(rows, list) else None

    def save_rules(self, engine: str, rows: list[list[Any]]) -> None:
        """Keep the rule catalogue."""
        self._write("rules.json", {"engine": engine, "rules": rows})

    def _is_own(self, below: str = "") -> bool:
        """Whether the folder, or the one in it, is a real one of the user's.

        A checkout may bring a link in its place, or somebody else's folder: following it would
        write to, and delete from, whatever it points to.
        """
        for folder in (self._folder, self._folder / below):
            try:
                status = folder.lstat()
            except OSError:
                return False
            if not stat.S_ISDIR(status.st_mode):
                return False
            if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
                return False
        return True

    def _read(self, name: str, engine: str) -> dict[str, Any]:
        if not self._enabled or not self._is_own(os.path.dirname(name)):
            return {}
        try:
            document = json.loads((self._folder / name).read_bytes())
        except (OSError, ValueError, RecursionError):  # absent or damaged: as if there were none
            return {}
        if not isinstance(document, dict) or document.get("engine") != engine:
            return {}
        return document

    def _write(self, name: str, document: dict[str, Any]) -> None:
        """Replace a file of the cache; a place that cannot be written to has no cache."""
        if not self._enabled:
            return
        target = self._folder / name
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if not self._is_own():
                return
            target.parent.mkdir(exist_ok=True)
            if not self._is_own(os.path.dirname(name)):
                return
            with (
                contextlib.suppress(FileExistsError),  # "x" follows no link, dangling or not
                open(self._folder / ".gitignore", "x", encoding="utf-8") as ignore,
            ):
                ignore.write("# Made by distlint.\n*\n")
        except OSError:
            return
        temporary = target.with_name(f".new-{os.getpid()}-{time.monotonic_ns()}")
        try:
            temporary.write_text(json.dumps(document, separators=(",", ":")), encoding="utf-8")
            os.replace(temporary, target)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def engine_stamp() -> str:
    """A name for everything that results depend on besides files and settings.

    distlint's own files and Python's version; and the directories of `sys.path`, which change when a
    package that brings rules is installed or removed.
    """
    digest = hashlib.blake2b(digest_size=12)
    digest.update(f"{distlint.__version__} {sys.version_info[:3]}".encode())
    package = os.path.dirname(os.path.abspath(distlint.__file__))
    roots = [
        package,
        os.path.join(package, "rules"),
        os.path.join(os.path.dirname(package), "rules"),
    ]
    for root in roots:
        for row in sorted(_code_stamps(root)):
            digest.update(repr(row).encode())
    here = os.getcwd()
    for entry in sys.path:
        if entry in ("", here):  # `python -m` puts it there; the cache itself changes it
            continue
        with contextlib.suppress(OSError):
            digest.update(f"{entry} {os.stat(entry).st_mtime_ns}".encode())
    return digest.hexdigest()


def _code_stamps(directory: str) -> Iterator[tuple[str, int, int]]:
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return
    for entry in entries:
        if entry.name.endswith(".py"):
            status = entry.stat()
            yield entry.path, status.st_mtime_ns, status.st_size
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from _code_stamps(entry.path)


def run_key(engine: str, settings: Iterable[str], files: Iterable[tuple[str, str, bool]]) -> str:
    """The name of a run: engine, settings, and each file's shown path, digest and role."""
    digest = hashlib.blake2b(engine.encode(), digest_size=16)
    for part in settings:
        digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    for shown, content, reported in files:
        digest.update(f"{shown}\0{content}\0{reported:d}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def content_digest(data: bytes) -> str:
    """The hash by which the cache knows the content of a file."""
    return hashlib.sha256(data).hexdigest()[:24]


# Findings as JSON. Edits are left out: `distlint fix` always analyses anew.


def encode_finding(finding: Finding) -> list[Any]:
    """`finding` as plain lists."""
    fix, witness = finding.fix, finding.witness
    return [
        finding.code,
        finding.name,
        finding.severity.value,
        finding.message,
        _place(finding.place),
        [[_place(related.place), related.message] for related in finding.related],
        fix and [fix.applicability.value, fix.message],
        witness
        and [
            [[name, _steps(steps)] for name, steps in witness.columns],
            _steps(witness.chain),
        ],
    ]


def decode_finding(row: Sequence[Any]) -> Finding:
    """What `encode_finding` made. Raises TypeError, ValueError or IndexError for anything else."""
    code, name, severity, message, place, related, fix, witness = row
    return Finding(
        code=code,
        name=name,
        severity=Severity(severity),
        message=message,
        place=Place(*place),
        related=tuple(Related(Place(*where), text) for where, text in related),
        fix=Fix(Applicability(fix[0]), fix[1]) if fix else None,
        witness=Witness(
            tuple((label, _decode_steps(steps)) for label, steps in witness[0]),
            _decode_steps(witness[1]),
        )
        if witness
        else None,
    )


def _place(place: Place) -> list[Any]:
    return [place.path, place.line, place.column, place.end_line, place.end_column]


def _steps(steps: Sequence[WitnessStep]) -> list[Any]:
    return [[_place(step.place), step.text] for step in steps]


def _decode_steps(rows: Sequence[Any]) -> tuple[WitnessStep, ...]:
    return tuple(WitnessStep(Place(*place), text) for place, text in rows)
