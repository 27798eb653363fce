"""Files that nothing in a project leads to: no import, no script, no configuration and no text names them.

What is wrong in a left-over copy harms nobody until somebody uses it. In a package that is installed everything may
be used from outside, and is left alone.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from distlint.project.entries import Entry, read_bytes
from distlint.project.reading import SIZE_LIMIT

_STARTED: Final = b"__main__"
_BY_NAME: Final = frozenset({"__init__", "__main__", "conftest", "setup", "hubconf", "sitecustomize", "manage"})  # fmt: skip
"""Files that Python, pytest, pip and the like find by their names."""
_PACKAGED: Final = re.compile(
    rb"^\s*\[(?:project|build-system|tool\.(?:poetry|flit|hatch|pdm))\b", re.MULTILINE
)


def is_packaged(root: str) -> bool:
    """Whether the code below a folder gets installed, for others to import."""
    folder = Path(root)
    if any((folder / name).exists() for name in ("setup.py", "setup.cfg")):
        return True
    try:
        return _PACKAGED.search(read_bytes(str(folder / "pyproject.toml"))) is not None
    except OSError:
        return False


def unreached(
    entries: Collection[Entry], others: Iterable[Entry], paths: Collection[str]
) -> frozenset[str]:
    """The files of `paths`, as they are shown, that no other file names.

    Amphion d3de90f models/codec/codec_inference.py: a copy of models/vocoders/vocoder_inference.py, which all import.

    Args:
        entries: the files of one project.
        others: the scripts and configurations beside them.
        paths: the files to ask for.
    """
    places = {entry.file.shown: Path(entry.file.path) for entry in entries}
    installed = {place.parent for place in places.values() if place.name == "setup.py"}
    asked = [
        entry
        for entry in entries
        if entry.file.shown in paths and installed.isdisjoint(places[entry.file.shown].parents)
    ]
    waiting = {entry.file.shown: stem for entry in asked if (stem := _stem(entry))}
    if not waiting:
        return frozenset()
    starts = False
    for entry in (*entries, *others):
        data = _content(entry)
        if entry.file.shown not in waiting:
            starts = starts or _STARTED in data
        for shown, stem in list(waiting.items()):
            if shown != entry.file.shown and stem in data and _names(stem, data):
                del waiting[shown]
        if not waiting:
            return frozenset()
    return frozenset(waiting) if starts else frozenset()


def _stem(entry: Entry) -> bytes:
    """The name of a file that only defines; empty for one that may be started, or is found by its name."""
    place = Path(entry.file.path)
    data = _content(entry)
    if (
        place.suffix != ".py"
        or place.stem in _BY_NAME
        or _STARTED in data
        or data.startswith(b"#!")
    ):
        return b""
    defines = entry.ask(only_defines)
    entry.let_go()
    return os.fsencode(place.stem) if defines else b""


def only_defines(entry: Entry) -> bool:
    """Whether running a file does nothing but define names."""
    tree = entry.parse()
    return tree is not None and all(map(_defines, tree.body))


def _defines(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(value=value) | ast.AnnAssign(value=value):
            return not isinstance(value, ast.Call) or not value.args
        case ast.If(body=body, orelse=orelse) | ast.Try(body=body, orelse=orelse):
            return all(map(_defines, (*body, *orelse)))
    return isinstance(
        statement,
        ast.Import
        | ast.ImportFrom
        | ast.FunctionDef
        | ast.AsyncFunctionDef
        | ast.ClassDef
        | ast.Pass,
    )


def _names(stem: bytes, data: bytes) -> bool:
    return re.search(rb"\b" + re.escape(stem) + rb"\b", data) is not None


def _content(entry: Entry) -> bytes:
    if entry.overlay is not None:
        return entry.overlay
    try:
        return read_bytes(entry.file.path) if entry.file.stamp[2] <= SIZE_LIMIT else b""
    except OSError:
        return b""
