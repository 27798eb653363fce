"""What is wrong with a configuration, in words that the doctor and the rules share."""

from __future__ import annotations

import re

from distlint.patterns import pattern
from distlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Defect:
    """One thing that a configuration gets wrong.

    Attributes:
        keys: where it stands: the keys that lead to it; empty for the file as a whole.
        severe: whether a run fails, hangs or computes something else; else it is worse than it could be.
        mended: whether what reads it puts it right by itself, and says so: nothing is lost.
        saw: what stands there.
        why: what happens to a run because of it.
        do: what to do about it.
    """

    keys: tuple[str, ...]
    severe: bool
    saw: str
    why: str
    do: str
    mended: bool = False


_SETTING = pattern(
    r"[A-Za-z0-9_]+: (?:'[^']*'|[^\s,;]+)(?= and | for | with |[,;]|$)|\"\w+\": (?:\{.*\}|\"[^\"]*\"|\w+)"
)
"""A setting as it is to be written: `fsdp_version: 2` at the end, or before what goes with it or instead of it."""


def sentence_of(defect: Defect) -> str:
    """The defect as the message of a finding: what happens at run time, then what to do."""
    do = defect.do.rstrip(".")
    if re.match(r"[A-Za-z0-9_]+: |\"", do):
        do = f"write {do}"
    do = _SETTING.sub(r"`\g<0>`", do)
    why = defect.why if defect.why.endswith(".") else f"{defect.why}."
    saw, key = defect.saw, defect.keys[-1] if defect.keys else ""
    if saw.startswith(("has ", "enables ", "is given")):
        saw = f"The file {saw}"
    elif key and re.match(rf"{re.escape(key)}\b", saw):
        saw = f"`{key}`{saw[len(key) :]}"
    else:
        saw = re.sub(r"^[a-z0-9]+_\w+", r"`\g<0>`", saw)  # another key than the one that is blamed
    return f"{saw}: {why} {do[:1].upper()}{do[1:]}."


def severe(keys: tuple[str, ...], saw: str, why: str, do: str) -> Defect:
    """It does not run, or hangs, or computes something else."""
    return Defect(keys, True, saw, why, do)


def mild(keys: tuple[str, ...], saw: str, why: str, do: str) -> Defect:
    """It runs, worse than it could or only by luck."""
    return Defect(keys, False, saw, why, do)


def mended(keys: tuple[str, ...], saw: str, why: str, do: str) -> Defect:
    """It runs as if it were right, with a warning."""
    return Defect(keys, False, saw, why, do, True)
