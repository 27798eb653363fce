"""What a proof declares: the header of its docstring, and the findings marked on its lines.

    \"\"\"Goes wrong on 2 ranks: hangs.
    Fix: unsafe
    Requires: accelerate, transformers

    Prose.
    \"\"\"
    ...
        dist.barrier()  # expect: DL101

The first line is fixed: the number of ranks, then ``hangs``, ``fails`` or ``wrong result``, then, if
wanted, ``with error TEXT``: words of the exception. The fields are optional.
"""

from __future__ import annotations

import ast
import enum
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from distlint.proving.expectations import Expected, expectations

E = TypeVar("E", bound=enum.Enum)

_FIRST_LINE = re.compile(
    r"Goes wrong on (?P<ranks>\d+) ranks?: (?P<outcome>hangs|fails|wrong result)"
    r"(?: with error (?P<error>.+?))?\.?"
)
_FIELD = re.compile(r"(?P<key>[A-Z][a-z]+): *(?P<value>.*)")

MAX_RANKS = 8
DEFAULT_TIMEOUT = 120.0


class DeclarationError(ValueError):
    """A proof whose header is missing or not understood. The text names file, cause and remedy."""


class Outcome(enum.Enum):
    """How a script ended, over all of its ranks."""

    RIGHT = "right"
    HANGS = "hangs"
    FAILS = "fails"
    WRONG_RESULT = "wrong result"


class Launch(enum.Enum):
    """RANKS: started by the harness with torchrun's variables. PLAIN: one process, no variables."""

    RANKS = "ranks"
    TORCHRUN = "torchrun"
    PLAIN = "plain"


class FixKind(enum.Enum):
    """Where the right version comes from: `distlint fix`, or `proof.fixed.py` beside the proof."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    BY_HAND = "by hand"


REQUIREMENTS = ("cuda", "nccl", "accelerate", "transformers", "peft", "deepspeed", "lightning")


@dataclass(frozen=True, slots=True)
class Declaration:
    """The header of one proof.

    `error` are words that the exception of a failing rank must hold. `timeout` is the limit of one
    run in seconds, the start of the interpreter and of torch included. `expected` pairs each marked
    line with the codes marked there.
    """

    path: Path
    ranks: int
    outcome: Outcome
    error: str | None
    timeout: float
    launch: Launch
    fix: FixKind
    requires: tuple[str, ...]
    expected: Expected

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes marked anywhere in the script, sorted."""
        return tuple(sorted({code for _, codes in self.expected for code in codes}))


def read_declaration(path: Path) -> Declaration:
    """The declaration of the proof at `path`. Raises DeclarationError, OSError."""
    try:
        with tokenize.open(path) as stream:
            text = stream.read()
        docstring = ast.get_docstring(ast.parse(text), clean=True)
    except (SyntaxError, ValueError) as error:
        raise DeclarationError(f"{path}: not Python: {error}") from error
    first, _, rest = (docstring or "").partition("\n")
    match = _FIRST_LINE.fullmatch(first)
    if match is None:
        raise DeclarationError(
            f"{path}: the docstring's first line must read `Goes wrong on N ranks: "
            f"hangs|fails|wrong result[ with error TEXT].`, not {first!r}"
        )
    fields = _fields(path, rest)
    ranks = int(match["ranks"])
    if not 1 <= ranks <= MAX_RANKS:
        raise DeclarationError(f"{path}: {ranks} ranks: a proof runs on 1 to {MAX_RANKS}")
    if "Ranks" in fields and fields["Ranks"] != str(ranks):
        raise DeclarationError(
            f"{path}: `Ranks: {fields['Ranks']}` but the first line says {ranks}"
        )
    requires = tuple(word for word in re.split(r"[,\s]+", fields.get("Requires", "")) if word)
    for word in requires:
        if word not in REQUIREMENTS:
            raise DeclarationError(
                f"{path}: `Requires: {word}`: known are {', '.join(REQUIREMENTS)}"
            )
    return Declaration(
        path=path,
        ranks=ranks,
        outcome=Outcome(match["outcome"]),
        error=match["error"],
        timeout=_seconds(path, fields.get("Timeout")),
        launch=_member(path, Launch, "Launch", fields.get("Launch", "ranks")),
        fix=_member(path, FixKind, "Fix", fields.get("Fix", "safe")),
        requires=requires,
        expected=expectations(text),
    )


def _fields(path: Path, rest: str) -> dict[str, str]:
    """The `Key: value` lines right under the first line; prose starts after a blank line."""
    fields: dict[str, str] = {}
    for line in rest.splitlines():
        if not line.strip():
            break
        match = _FIELD.fullmatch(line.strip())
        if match is None or match["key"] not in {"Ranks", "Timeout", "Launch", "Fix", "Requires"}:
            raise DeclarationError(
                f"{path}: {line.strip()!r} under the first line is none of Timeout, Launch, Fix, "
                "Requires; put an empty line before prose"
            )
        fields[match["key"]] = match["value"].strip().rstrip(".")
    return fields


def _seconds(path: Path, value: str | None) -> float:
    if value is None:
        return DEFAULT_TIMEOUT
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 600:
        raise DeclarationError(
            f"{path}: `Timeout: {value}`: want seconds, more than 0, at most 600"
        )
    return seconds


def _member(path: Path, kind: type[E], key: str, value: str) -> E:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(member.value for member in kind)
        raise DeclarationError(f"{path}: `{key}: {value}`: known are {known}") from None
