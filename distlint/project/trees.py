"""Texts and syntax trees that stay between the checks of one process: few files differ from one to the next."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from distlint.launch.project import LaunchFiles

TEXT_KEPT: Final = 5_000_000
"""Characters whose trees stay: about 130,000 lines, 250 MiB. Of what is more, the rest is parsed each time."""


class Trees:
    """The trees of one project. A tree is never changed: whoever has it may go on with it."""

    def __init__(self, *, stays: bool = False) -> None:
        self.stays = stays
        """Whether another check is sure to follow the first."""
        self._kept: dict[str, tuple[str, str, ast.Module]] = {}
        self._size = 0
        self.analysed: object = None
        """What the analysis has left for its next check of these trees; `checking` knows what it is."""
        self.launch: tuple[object, LaunchFiles] | None = None
        """The scripts and configurations beside the code, with all that they were made of."""

    def __contains__(self, path: object) -> bool:
        return path in self._kept

    def of(self, path: str, digest: str) -> tuple[str, ast.Module] | None:
        """The text and tree of the file at `path` while its content has this digest."""
        known = self._kept.get(path)
        return known[1:] if known is not None and known[0] == digest else None

    def keep(self, path: str, digest: str, text: str, tree: ast.Module) -> None:
        """Take the tree of a file in place of an earlier one, where there is room."""
        self._drop(path)
        if self._size + len(text) <= TEXT_KEPT:
            self._kept[path] = digest, text, tree
            self._size += len(text)

    def keep_only(self, paths: Collection[str]) -> None:
        """Let go of the files that are gone."""
        for path in self._kept.keys() - set(paths):
            self._drop(path)

    def _drop(self, path: str) -> None:
        known = self._kept.pop(path, None)
        if known is not None:
            self._size -= len(known[1])
