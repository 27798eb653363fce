"""What a rule reports: a finding, the places related to it, the fix it offers, its witness."""

from __future__ import annotations

import enum
from dataclasses import field

from distlint.edits import Edit
from distlint.records import dataclass


class Severity(enum.Enum):
    """How bad it is: ERROR breaks or corrupts a run, WARNING may, INFO is advice (off by default)."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Applicability(enum.Enum):
    """Whether a fix may be applied by machine; decided for each finding, never for a whole rule."""

    SAFE = "safe"
    """Same meaning on one process, and on many ranks only the defect is gone."""
    UNSAFE = "unsafe"
    """Numbers, timing or files may change: applied only when asked for."""
    DISPLAY = "display"
    """Shown, never applied."""


@dataclass(frozen=True, slots=True)
class Place:
    """A range of a file. Lines count from 1; columns count from 0 in UTF-8 bytes, as `ast` does."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Related:
    """A place that explains a finding (the wrap, the guard, the other write) and why."""

    place: Place
    message: str
    needed: bool = field(default=False, compare=False)
    """Whether there is no defect unless the program comes here."""
    supposed: bool = field(default=False, compare=False)
    """Whether this shows code for several ranks that works on one process, too, and not how any are started."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A repair: what it does, whether it may be applied, and the edits that carry it out.

    `edits` is empty only for DISPLAY fixes that are advice in words. They are edits of the file `path`, of the
    finding's own where that is empty; findings whose fixes have the same edits are repaired by one of them.
    `elsewhere` are edits of more files, by their paths: all files change, or none.
    """

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...] = ()
    path: str = ""
    elsewhere: tuple[tuple[str, tuple[Edit, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class WitnessStep:
    """One line of one rank class's trace: where, and what it does there."""

    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Witness:
    """What each rank class still does, up to the point where they part.

    `columns` pairs the name of a rank class ("rank 0", "other ranks") with its steps.
    `chain` is the call chain from where the ranks divide to the collective.
    """

    columns: tuple[tuple[str, tuple[WitnessStep, ...]], ...]
    chain: tuple[WitnessStep, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect at one place.

    `message` is a sentence about what happens at run time, then one about what to do.
    It begins with a capital, or with code. `severity` may differ from the rule's own where the
    evidence is weaker or stronger.
    """

    code: str
    name: str
    severity: Severity
    message: str
    place: Place
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    witness: Witness | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        # Most messages begin with who it is ("rank 0 …"), in words that other sentences share.
        if self.message.partition(" ")[0].strip(".,:;'’").isalpha():  # `fsdp_version` is no word
            object.__setattr__(self, "message", self.message[:1].upper() + self.message[1:])

    @property
    def fixed_path(self) -> str:
        """The file that its fix changes; of several, the first."""
        return (self.fix.path if self.fix is not None else "") or self.place.path

    def edits_by_file(self) -> dict[str, tuple[Edit, ...]]:
        """The edits of its fix, by the files that they change."""
        if self.fix is None or not self.fix.edits:
            return {}
        return {self.fixed_path: self.fix.edits, **dict(self.fix.elsewhere)}

    def places(self) -> tuple[Place, ...]:
        """Where it is, and the places related to it."""
        return (self.place, *(related.place for related in self.related))
