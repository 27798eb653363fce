"""What the fixing engine is asked and what it answers. Pure data: loading it loads no parser."""

from __future__ import annotations

import enum

from distlint.edits import Edit
from distlint.findings import Finding
from distlint.records import dataclass


@dataclass(frozen=True, slots=True)
class FixRequest:
    """The edits of one finding in one file, which are applied all or none.

    `line`, `column` and `code` are the finding's; they say whose turn it is where fixes overlap,
    and how a report names the fix.
    """

    line: int
    column: int
    code: str
    edits: tuple[Edit, ...]

    @classmethod
    def of(cls, finding: Finding) -> dict[str, FixRequest]:
        """The requests for a finding's fix, by the files that it changes; none where it has no edits."""
        place = finding.place
        return {
            path: cls(place.line, place.column, finding.code, edits)
            for path, edits in finding.edits_by_file().items()
        }

    @property
    def key(self) -> tuple[int, int, str]:
        """The order in which fixes get their turn: first by position, then by code."""
        return (self.line, self.column, self.code)


class SkipKind(enum.Enum):
    """Why a fix was not applied."""

    CONFLICT = "conflict"
    """It touches what an applied fix changed. Look at the new text again: it may apply then."""
    REFUSED = "refused"
    """It cannot be carried out on this text (no such statement, no valid place, not encodable)."""
    INTERNAL = "internal"
    """Carrying it out gave a broken file, which was thrown away. A defect of distlint or the rule."""


@dataclass(frozen=True, slots=True)
class SkippedFix:
    """A fix that was not applied, what kind of skip it is, and one sentence why."""

    fix: FixRequest
    kind: SkipKind
    reason: str


@dataclass(frozen=True, slots=True)
class FixResult:
    """The file after the applied fixes, and what became of every fix.

    `data` equals the input when `applied` is empty. `applied` and `skipped` are in order of the
    fixes' keys. `refusal` is one sentence where the whole file could not be edited (LibCST cannot
    parse it, unknown encoding); every fix is then skipped with that reason.
    """

    data: bytes
    applied: tuple[FixRequest, ...]
    skipped: tuple[SkippedFix, ...]
    refusal: str | None = None

    @property
    def conflicts(self) -> bool:
        """Whether another round (check the new text, fix again) can apply more."""
        return any(skip.kind is SkipKind.CONFLICT for skip in self.skipped)
