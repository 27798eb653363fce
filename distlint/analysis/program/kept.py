"""What the analysis of a project leaves for its next check in the same process: the modules of files that stay."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from distlint.analysis.program.definitions import Module
from distlint.analysis.program.scanning import scan
from distlint.analysis.program.source import Source


class Kept:
    """The modules of one project, by the files that they were made of.

    A module, with its classes and functions and what was found of each by its syntax, says nothing that is not in
    its file: a check that finds the same tree of it goes on with it.
    """

    def __init__(self, *, runs: bool = True) -> None:
        self.runs = runs
        """Whether the runs of a check are kept, too: to note what they ask costs up to three tenths of a check."""
        self._modules: dict[str, Module] = {}
        self.ledgers: dict[str, Any] = {}
        """What the rules have asked, by the files of a group; who asks knows what it is."""

    def module_of(self, source: Source) -> Module:
        """The module that a file makes."""
        known = self._modules.get(source.path)
        if known is None or not _alike(known.source, source):
            known = self._modules[source.path] = scan(source.module, source)
        return known

    def keep_only(self, paths: Container[str]) -> None:
        """Let go of the files whose trees are gone."""
        self._modules = {path: m for path, m in self._modules.items() if path in paths}
        self.ledgers = {path: each for path, each in self.ledgers.items() if path in paths}


def _alike(known: Source, source: Source) -> bool:
    return known.tree is source.tree and (
        known.module, known.is_package, known.reported, known.meant, known.chosen, known.lacking
    ) == (
        source.module, source.is_package, source.reported, source.meant, source.chosen, source.lacking
    )  # fmt: skip
