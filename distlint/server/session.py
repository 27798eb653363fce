"""One folder that an editor has open: its files with what is not saved yet, and what is found in them."""

from __future__ import annotations

import gc
import io
import os
import tokenize
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from distlint.checking import Outcome, Request, check, let_go
from distlint.findings import Place, Related
from distlint.fixing.replacements import Replacement, replacements
from distlint.project.naming import path_of
from distlint.project.reading import decode
from distlint.project.trees import Trees
from distlint.records import dataclass
from distlint.repairing import applies, each_alone, repair
from distlint.reporting.report import Report, Reported

Ask = Callable[[tuple[str, ...], Mapping[str, bytes]], "Sequence[Request] | Report"]
"""What to check for some paths, with other bytes at some absolute paths; a report where settings are wrong."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a fix is not carried out, in a clause."""

    reason: str


class Session:
    """The state of `paths` (a folder, or a file that lies in none of the editor's) between two checks.

    `edit` and `look_again` may be called while a check runs in another thread; everything else is for one
    thread at a time.
    """

    def __init__(self, paths: tuple[str, ...], ask: Ask) -> None:
        self.paths = paths
        self.report = Report()
        """What the last check found."""
        self._ask = ask
        self._unsaved: dict[str, bytes] = {}
        self._changed: set[str] = set()
        self._requests: tuple[Request, ...] = ()
        self._trees: dict[Path, Trees] = {}
        """What the checks of each project share, by its folder."""
        self._stale = True
        """Whether the next check looks for files and settings anew: one that failed leaves it so."""
        self._look_again = False
        self._litter = False

    def edit(self, path: str, text: str | None) -> None:
        """Take `text` for the content of the absolute `path`; None: what is on disk."""
        data = None if text is None else encoded(text)
        if data != self._unsaved.get(path):
            unsaved = {**self._unsaved}
            if data is None:
                del unsaved[path]
            else:
                unsaved[path] = data
            self._unsaved = unsaved
            self._changed.add(path)

    def look_again(self) -> None:
        """Files or settings have changed on disk."""
        self._look_again = True

    def check(self) -> Report:
        """What is found in the files as they are now. Analyses what a change may concern, and nothing else."""
        unsaved, changed = self._unsaved, frozenset(self._changed)
        self._changed.difference_update(changed)
        stale = self._stale or self._look_again or not self._knows(changed)
        self._stale, self._look_again = True, False
        if stale:
            asked = self._ask(self.paths, unsaved)
            if isinstance(asked, Report):
                self._requests, self.report = (), asked
                return asked
            requests = tuple(
                replace(each, trees=self._trees_of(each), with_reached=True) for each in asked
            )
        else:
            # What no change concerns is found in the tables of the cache, which all checks here share.
            requests = tuple(
                replace(request, overlays=unsaved, lasting=False, outcome=Outcome())
                for request in self._requests
            )
        self.tidy()
        with _no_collection():
            self.report = check(requests)
        self._litter = True
        self._requests = requests
        self._stale = False
        return self.report

    def _trees_of(self, request: Request) -> Trees:
        return self._trees.setdefault(request.settings.root, Trees(stays=True))

    def tidy(self) -> None:
        """Free what the last check has left behind: best when nobody waits."""
        if self._litter:
            gc.unfreeze()
            let_go()
        self._litter = False

    def _knows(self, paths: Iterable[str]) -> bool:
        known = {file.path for request in self._requests for file in request.files.reported}
        return known.issuperset(paths)

    def rows(self, path: str) -> list[Reported]:
        """What was found in the file at an absolute path."""
        return [row for row in self.report.findings if absolute(row.finding.place) == path]

    def reached(self, path: str) -> list[Related]:
        """The collectives in the file at an absolute path, each with the ranks that come to it."""
        return [each for each in self.report.reached if absolute(each.place) == path]

    def fixable(self, row: Reported) -> bool:
        """Whether a fix of a finding is to be tried: one that changes the finding's own file."""
        own = row.finding.edits_by_file().keys() == {row.finding.place.path}
        return own and bool(self._requests) and applies(row.finding, unsafe=True)

    def fix_one(self, fingerprint: str) -> tuple[Replacement, ...] | Refused:
        """What the fix of one finding changes in its file, where it stands its trial."""
        report = replace(self.report)
        self._litter = True
        changes = each_alone(report, self._requests, only={fingerprint})
        if fingerprint in changes:
            (pieces,) = changes[fingerprint].values()  # of its own file, as `fixable` wants it
            return pieces
        row = next((row for row in report.findings if row.fingerprint == fingerprint), None)
        if row is None or row.finding.fix is None:
            return Refused("the finding is gone")
        return Refused(row.finding.fix.message)

    def fix_all(self, path: str) -> tuple[Replacement, ...]:
        """What the fixes of a file, those that its settings allow, change in it."""
        names: Container[str] = {row.fingerprint for row in self.rows(path) if self.fixable(row)}
        self._litter = True
        result = repair(self._requests, unsafe=None, only=names)
        for file in result.files:
            if os.path.abspath(file.path) == path:
                before, after = (
                    decode(data).removeprefix("\ufeff") for data in (file.before, file.after)
                )
                return replacements(before, after)
        return ()


def absolute(place: Place) -> str:
    """The absolute path of the file in which a place is."""
    return os.path.abspath(path_of(place.path))


@contextmanager
def _no_collection() -> Iterator[None]:
    """A check makes a million nodes that live to its end, and most of them to the next: to look for cycles among them
    costs a third of it. `tidy` does so.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def encoded(text: str) -> bytes:
    """The bytes of a Python file with this text, in the encoding that its first lines name."""
    data = text.encode("utf-8", "surrogatepass")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data if encoding == "utf-8" else text.encode(encoding)
    except (SyntaxError, UnicodeError):  # what the check then says of it
        return data


__all__ = ["Ask", "Refused", "Session", "absolute", "encoded"]
