"""Notebooks: their code cells as one Python text, and that text back into the cells.

Before each cell stands a line with a string, so that what a repair writes in front of the first statement of a cell
stays in it. Magics (`!ls`, `%time`, `x = !ls`, `obj?`) become `pass` or None with the line in a comment; cells in another
language (`%%bash`), and those that are no Python, become comments. Only the `source` of cells that change is written
anew: outputs and metadata stay as they are, to the byte.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any

from distlint.patterns import pattern
from distlint.records import dataclass

SUFFIX = ".ipynb"

_MARK = '"distlint: cell {}"'
_MARKED = pattern(r'^"distlint: cell (\d+)"$')
_HIDDEN = "#distlint-magic:"
_RESTORED = pattern(
    rf"^(?P<indent>[ \t]*)(?:pass  |(?P<name>[\w., \t]+=[ \t]*)None  )?{_HIDDEN}(?P<line>.*)$"
)

_PYTHON_MAGICS = frozenset({"time", "timeit", "capture", "prun"})
"""`%%` magics whose cell is Python."""
_MAGIC = pattern(r"^(?P<indent>[ \t]*)(?P<line>[%!].*|\?{1,2}\w.*|[\w.]+\?{1,2}[ \t]*)$")
_ASSIGNED = pattern(r"^(?P<indent>[ \t]*)(?P<name>[\w., \t]+?[ \t]*=[ \t]*)(?P<line>[%!].*)$")

_DECODER = json.JSONDecoder()
_BLANK = pattern(r"[ \t\r\n]*")


class NoNotebook(ValueError):
    """Why a file has no code cells that can be read, in a few words."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell: its number among all cells, from 1; its source; where that stands in the file.

    `lines` are the lines of the file on which the lines of the source stand.
    """

    number: int
    source: str
    span: tuple[int, int]
    lines: tuple[int, ...]


def cells_of(raw: str) -> list[Cell]:
    """The code cells of the notebook `raw`. Raises NoNotebook."""
    try:
        members = _members(raw, _skip(raw, 0))
        if "cells" not in members:
            what = "nbformat 3" if "worksheets" in members else "no list of cells"
            raise NoNotebook(f"{what}; Jupyter saves it as a newer one")
        starts = _elements(raw, members["cells"][0])
        return [
            cell
            for number, start in enumerate(starts, 1)
            if (cell := _cell(raw, number, start)) is not None
        ]
    except IndexError:
        raise NoNotebook("not the JSON of a notebook: it ends too early") from None
    except (json.JSONDecodeError, RecursionError, TypeError) as error:
        raise NoNotebook(f"not the JSON of a notebook: {' '.join(str(error).split())}") from None


def code_of(raw: str) -> str:
    """The code cells of a notebook as one Python text. Raises NoNotebook."""
    parts = []
    for cell in cells_of(raw):
        parts += [_MARK.format(cell.number), *_as_python(cell.source)]
    return "\n".join(parts) + "\n" if parts else ""


def put_back(raw: str, code: str) -> str:
    """The notebook `raw` with its code cells as `code` has them now. Raises NoNotebook."""
    cells = {cell.number: cell for cell in cells_of(raw)}
    sources: dict[int, list[str]] = {}
    before: list[str] = []
    current = before
    for line in code.removesuffix("\n").split("\n"):
        found = _MARKED.match(line)
        if found is not None:
            current = sources.setdefault(int(found[1]), [])
        else:
            current.append(_restored(line))
    if sources.keys() != cells.keys():
        raise NoNotebook("a cell is gone")
    if any(before):  # what a repair writes at the top of the text, as imports
        first = min(sources)
        sources[first] = [*before, *sources[first]]
    for number in sorted(cells, reverse=True):
        cell = cells[number]
        source = "\n".join(sources[number])
        if source != cell.source.removesuffix("\n"):
            start, end = cell.span
            kept = "\n" if cell.source.endswith("\n") else ""
            raw = raw[:start] + _written(raw, cell, source + kept) + raw[end:]
    return raw


def python_of(path: str, data: bytes) -> bytes:
    """The bytes of Python code in the file `path` that holds `data`: of a notebook, its code cells."""
    return code_of(data.decode("utf-8-sig")).encode() if path.endswith(SUFFIX) else data


def with_python(path: str, data: bytes, python: bytes) -> bytes:
    """The bytes of the file `path` with its Python code as `python` has it."""
    if not path.endswith(SUFFIX):
        return python
    return put_back(data.decode("utf-8"), python.decode()).encode()


def cell_at(lines: list[str], line: int) -> tuple[int, int]:
    """The cell, and the line in it, that line `line` (from 1) of a notebook's code is."""
    for number in range(min(line, len(lines)), 0, -1):
        found = _MARKED.match(lines[number - 1])
        if found is not None:
            return int(found[1]), line - number
    return 1, line


def is_hidden(line: str) -> bool:
    """Whether a line of a notebook's code stands for one that is no Python."""
    return _HIDDEN in line


def original(line: str) -> tuple[str, int]:
    """A line of a notebook's code as it stands in the cell, and how far its columns were moved."""
    restored = _restored(line)
    if restored is line:
        return line, 0
    return restored, len(line) - len(restored)


def shell_of(code: str) -> str:
    """The shell commands of a notebook's code at their places (`!torchrun …`, `%%bash`), else blanks."""
    kept: list[str] = []
    bash = False
    going_on = False
    for line in code.split("\n"):
        found = _RESTORED.match(line)
        if _MARKED.match(line):
            bash = going_on = False
        text = found["line"] if found is not None else ""
        at = found.start("line") if found is not None else 0
        if text.startswith(("%%bash", "%%sh", "%%script")):
            bash = True
            text = ""
        elif text.lstrip().startswith("!"):
            cut = text.index("!") + 1
            text, at = text[cut:], at + cut
            going_on = text.endswith("\\")
        elif going_on:
            going_on = text.endswith("\\")
        elif not bash:
            text = ""
        kept.append(" " * at + text if text else "")
    return "\n".join(kept)


# Python of a cell


def _as_python(source: str) -> list[str]:
    """The lines of a cell with what is not Python in comments; one line for each."""
    lines = source.removesuffix("\n").split("\n")
    if any(_MARKED.match(line) or _HIDDEN in line for line in lines):  # not distlint's own
        return [_HIDDEN + line for line in lines]
    if _parses(lines):
        return lines
    first = next((line for line in lines if line.strip()), "").strip()
    if first.startswith("%%") and first[2:].split(" ", 1)[0] not in _PYTHON_MAGICS:
        return [_HIDDEN + line for line in lines]
    shown = []
    inside = False
    for line in lines:
        hidden = _HIDDEN + line if inside else _line(line)
        inside = (inside or hidden is not line) and line.endswith("\\")
        shown.append(hidden)
    return shown if _parses(shown) else [_HIDDEN + line for line in lines]


def _line(line: str) -> str:
    found = _MAGIC.match(line)
    if found is not None:
        return f"{found['indent']}pass  {_HIDDEN}{found['line']}"
    found = _ASSIGNED.match(line)
    if found is not None:
        return f"{found['indent']}{found['name']}None  {_HIDDEN}{found['line']}"
    return line


def _restored(line: str) -> str:
    found = _RESTORED.match(line)
    if found is None:
        return line
    return f"{found['indent']}{found['name'] or ''}{found['line']}"


def _parses(lines: list[str]) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


# The JSON around it


def _skip(raw: str, at: int) -> int:
    found = _BLANK.match(raw, at)
    return found.end() if found is not None else at


def _members(raw: str, at: int) -> dict[str, tuple[int, int]]:
    """Where the values of the object at `at` stand, by key."""
    if raw[at] != "{":
        raise NoNotebook("not the JSON of a notebook")
    members: dict[str, tuple[int, int]] = {}
    at = _skip(raw, at + 1)
    while raw[at] != "}":
        key, at = _DECODER.raw_decode(raw, at)
        start = _skip(raw, _skip(raw, at) + 1)
        _, end = _DECODER.raw_decode(raw, start)
        members[key] = (start, end)
        at = _next(raw, end)
    return members


def _elements(raw: str, at: int) -> list[int]:
    """Where the elements of the list at `at` start."""
    if raw[at] != "[":
        raise NoNotebook("not the JSON of a notebook")
    starts = []
    at = _skip(raw, at + 1)
    while raw[at] != "]":
        starts.append(at)
        _, end = _DECODER.raw_decode(raw, at)
        at = _next(raw, end)
    return starts


def _next(raw: str, at: int) -> int:
    at = _skip(raw, at)
    return _skip(raw, at + 1) if raw[at] == "," else at


def _cell(raw: str, number: int, start: int) -> Cell | None:
    members = _members(raw, start)
    if "cell_type" not in members or "source" not in members:
        return None
    if _value(raw, members["cell_type"]) != "code":
        return None
    begin, end = members["source"]
    value = _value(raw, (begin, end))
    first = raw.count("\n", 0, begin) + 1
    if isinstance(value, str):
        return Cell(number, value, (begin, end), (first,) * (value.count("\n") + 1))
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        return None
    lines: list[int] = []
    for part, at in zip(value, _elements(raw, begin), strict=True):
        line = first + raw.count("\n", begin, at)
        lines += [line] * max(part.count("\n"), 1)
    return Cell(number, "".join(value), (begin, end), tuple(lines) or (first,))


def _value(raw: str, span: tuple[int, int]) -> Any:
    return _DECODER.raw_decode(raw, span[0])[0]


def _written(raw: str, cell: Cell, source: str) -> str:
    """`source` in the form that the cell's own has: a text, or a list with a line for each line."""
    start, end = cell.span
    ascii_only = raw.isascii()
    if raw[start] == '"':
        return json.dumps(source, ensure_ascii=ascii_only)
    parts = [json.dumps(line, ensure_ascii=ascii_only) for line in source.splitlines(keepends=True)]
    opening = re.match(r"\[([ \t\r]*\n[ \t]*)", raw[start:end])
    closing = re.search(r"(\n[ \t]*)\]$", raw[start:end])
    if opening is None or closing is None:
        return f"[{', '.join(parts)}]"
    return f"[{opening[1]}{(',' + opening[1]).join(parts)}{closing[1]}]"
