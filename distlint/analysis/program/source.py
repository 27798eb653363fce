"""One parsed file, as the analysis takes it."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from distlint.records import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A file of the analysed tree.

    `path` is how findings name it (relative to where distlint was run), `module` its dotted name
    (``trl.trainer.grpo_trainer``; a package's ``__init__`` has the package's name and `is_package`).
    `text` is the decoded text from which `tree` was parsed. Findings are reported only where
    `reported`; the other files are there so that names resolve. `meant` says which module of the tree
    each import means (by its dots, its module, and the name taken from it); what is not in it is
    installed. Without it, modules are found by their names. `chosen` is what configurations have
    the file make, where it finds classes by their names: the keys that lead to a section, or a dot and the folder of
    a configuration for what is at its top, and the class or module that is named there, by its dotted name, by one that a registry may know, or "" for one of a library. `lacking` are the imports of
    modules that a package of the tree would have, and has not.
    """

    path: str
    module: str
    text: str
    tree: ast.Module
    is_package: bool = False
    reported: bool = True
    meant: Mapping[tuple[int, str, str], str] | None = None
    chosen: tuple[tuple[str, str], ...] = ()
    lacking: tuple[tuple[int, str, str], ...] = ()

    @property
    def named(self) -> tuple[str, ...]:
        """What configurations have the file import, each once."""
        return tuple(dict.fromkeys(name for _, name in self.chosen if name))
