"""What a check is and what it says: status, what was seen, why it matters, what to do."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from distlint.hardware.doctor.machine import Machine
from distlint.launch.defects import Defect


class Status(enum.Enum):
    """How it stands, from good to bad; SKIPPED says nothing about the machine."""

    OK = "ok"
    SKIPPED = "skipped"
    WARNING = "warn"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Result:
    """One thing that a check has to say.

    Attributes:
        status: how it stands.
        saw: what was seen, or why nothing was.
        why: what happens to a training run because of it; empty where all is well.
        do: what to do about it; empty where all is well.
    """

    status: Status
    saw: str
    why: str = ""
    do: str = ""


def ok(saw: str) -> Result:
    """All is well."""
    return Result(Status.OK, saw)


def skipped(reason: str) -> Result:
    """Not looked at, and why."""
    return Result(Status.SKIPPED, reason)


def warning(saw: str, why: str, do: str) -> Result:
    """It runs, worse than it could or only by luck."""
    return Result(Status.WARNING, saw, why, do)


def error(saw: str, why: str, do: str) -> Result:
    """It does not run, or hangs, or computes something else."""
    return Result(Status.ERROR, saw, why, do)


def told(path: str, defect: Defect) -> Result:
    """A defect of the configuration at `path`, as a result."""
    joint = " " if defect.saw.startswith(("has ", "is given", "enables ")) else ": "
    status = Status.ERROR if defect.severe else Status.WARNING
    return Result(status, f"{path}{joint}{defect.saw}", defect.why, defect.do)


@dataclass(frozen=True, slots=True)
class Check:
    """A row of the table of checks.

    Attributes:
        name: in JSON, and for people to refer to.
        group: the heading under which it is shown.
        judge: from the machine as seen to what there is to say; pure, so it cannot hang.
    """

    name: str
    group: str
    judge: Callable[[Machine], Iterable[Result]]
