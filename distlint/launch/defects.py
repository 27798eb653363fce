"""What is wrong with a configuration, in words that the doctor and the rules share."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that a configuration gets wrong.

    Attributes:
        keys: where it stands: the keys that lead to it; empty for the file as a whole.
        severe: whether a run fails, hangs or computes something else; else it is worse than it could be.
        saw: what stands there.
        why: what happens to a run because of it.
        do: what to do about it.
    """

    keys: tuple[str, ...]
    severe: bool
    saw: str
    why: str
    do: str


def sentence_of(defect: Defect) -> str:
    """The defect as the message of a finding: what happens at run time, then what to do."""
    do = defect.do[:1].upper() + defect.do[1:]
    if re.match(r"[a-z0-9_]+: |\"", defect.do):  # a setting, as it is to be written
        setting, other, rest = defect.do.rstrip(".").partition(", or ")
        do = f"Write `{setting}`{other}{rest}."
    elif not do.endswith("."):
        do += "."
    why = defect.why if defect.why.endswith(".") else f"{defect.why}."
    saw = f"The file {defect.saw}" if defect.saw.startswith(("has ", "enables ")) else defect.saw
    saw = re.sub(r"^[a-z0-9]+_\w+", r"`\g<0>`", saw)  # a key is written as it is, at the start too
    return f"{saw}: {why} {do}"


def severe(keys: tuple[str, ...], saw: str, why: str, do: str) -> Defect:
    """It does not run, or hangs, or computes something else."""
    return Defect(keys, True, saw, why, do)


def mild(keys: tuple[str, ...], saw: str, why: str, do: str) -> Defect:
    """It runs, worse than it could or only by luck."""
    return Defect(keys, False, saw, why, do)
