"""Whether a package beside distlint may register rules, asked before `importlib.metadata` is loaded.

That loads the parser of e-mails among others: 25 ms, 2 in 100 of what a small check costs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path

_PAGES = "Project-URL"
"""How the metadata of a package begins to say where its pages are."""


def only_bundled(group: str, bundled: str) -> bool:
    """Whether nothing but `bundled` is registered in `group`, by a package that names no pages. In doubt, no."""
    finders = [each for each in sys.meta_path if each is not PathFinder]
    if any(hasattr(each, "find_distributions") for each in finders):
        return False
    try:
        return all(
            _registered(text, group) == [bundled] and _PAGES not in _text(folder, "METADATA")
            for folder in _folders()
            if f"[{group}]" in (text := _text(folder, "entry_points.txt"))
        )
    except (OSError, ValueError):  # an archive on the path, or what cannot be read
        return False


def _folders() -> Iterator[Path]:
    """The folders in which the installed packages say what they are."""
    for place in sys.path:
        try:
            found = list(Path(place).iterdir())
        except FileNotFoundError:
            continue
        yield from (
            each for each in found if each.name.lower().endswith((".dist-info", "egg-info"))
        )


def _text(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):  # an `.egg-info` may be a file
        return ""


def _registered(text: str, group: str) -> list[str]:
    """What the entry points of a group are, in the text of an `entry_points.txt`."""
    section, found = "", []
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line
        elif section == f"[{group}]" and line and not line.startswith("#"):
            found.append(line.partition("=")[2].strip())
    return found
