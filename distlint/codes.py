"""The codes of rules: their form, and the families that share out distlint's own.

A rule's folder says its code and name; here is what no single rule knows. `docs/rules/README.md`, the
scaffold and the checks of a rule's folder are made from this table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from distlint.records import dataclass

CODE: Final = r"[A-Z]{2,}\d{3}"
"""The form of every code, third parties' too: letters that name the package, three digits."""

NAME: Final = r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+"

OWN: Final = "DL"
"""The letters of distlint's own codes."""


@dataclass(frozen=True, slots=True)
class Family:
    """The bundled rules of one folder, and the hundred codes that are theirs."""

    prefix: str
    folder: str
    subject: str

    @property
    def title(self) -> str:
        """The name of the folder as words."""
        return self.folder.replace("_", " ")


FAMILIES: Final = (
    Family("DL1", "collectives", "ranks that wait for each other for ever"),
    Family("DL2", "wrapping", "models inside DDP, FSDP, DeepSpeed and torch.compile"),
    Family("DL3", "files", "files that several ranks write, delete or wait for"),
    Family("DL4", "randomness", "seeds, samplers and splits"),
    Family("DL5", "devices", "devices and the environment that chooses them"),
    Family("DL6", "gradients", "decisions, losses and gradients that the ranks do not share"),
    Family("DL7", "debugging", "debugging aids left in code that several ranks run"),
    Family("DL8", "configs", "configuration files of launchers and libraries"),
    Family("DL9", "distlint_itself", "what distlint is given to read"),
)


def family_of(code: str) -> Family | None:
    """The family that a code of distlint's own belongs to; None for every other code."""
    return next((family for family in FAMILIES if code.startswith(family.prefix)), None)


def is_code(text: str) -> bool:
    """Whether `text` has the form of a code."""
    return re.fullmatch(CODE, text) is not None


def is_name(text: str) -> bool:
    """Whether `text` has the form of a rule's name: lower-case words with hyphens, at least two."""
    return re.fullmatch(NAME, text) is not None


def free_code(prefix: str, taken: Iterable[str]) -> str | None:
    """The code after the highest one of a family that is taken; None where all are given out."""
    numbers = [int(code[len(prefix) :]) for code in taken if code.startswith(prefix)]
    number = max(numbers, default=0) + 1
    width = 3 - sum(letter.isdigit() for letter in prefix)
    return f"{prefix}{number:0{width}}" if number < 10**width else None
