"""The vocabulary of edits. Pure data: loading it loads no parser.

A rule describes a repair by naming ranges of the file it read and what becomes of them; the engine
keeps comments, indentation, encoding and line ends, adds imports, and decides what goes together.

In every piece of `code`, `$name` stands for the runtime function of that name: the engine imports it
once, from `distlint.runtime` or the module in the setting `runtime-module`, and writes the name under
which the file knows it (an alias where the file already uses the name for something else).
Before that, `distlint.repairs.dressing` writes what the place has in its stead, as `fix-style` wants it.
"""

from __future__ import annotations

from distlint.records import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A range in `ast` coordinates: lines from 1, columns from 0 in UTF-8 bytes, end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Replace:
    """Put `code` where an expression or a whole statement stands.

    A statement may become several (`code` with line breaks, indented from column 0); its comments stay.
    """

    span: Span
    code: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove a statement; its own comments stay, above what follows.

    A block that becomes empty gets `pass`; with `prune`, an `if` that only guarded it goes too, when
    its test has no effect (names, attributes, comparisons, `in`, constants, `os.environ` reads), and
    so does an emptied `else`, `elif`, `try` without `else` and `finally`, or `with suppress(...)`.
    """

    span: Span
    prune: bool = False


@dataclass(frozen=True, slots=True)
class Insert:
    """Put the statements `code` (indented from column 0) before or after a statement, same block."""

    span: Span
    code: str
    after: bool = False


@dataclass(frozen=True, slots=True)
class WrapInWith:
    """Put the statements from `first` to `last` (same block) under `with {header}:`."""

    first: Span
    last: Span
    header: str


@dataclass(frozen=True, slots=True)
class Move:
    """Take a statement out of where it stands and put it before the statement `before`.

    Comments directly above it travel with it. `prune` as in Delete, for the block that it leaves.
    """

    span: Span
    before: Span
    prune: bool = False


@dataclass(frozen=True, slots=True)
class AddImport:
    """Make `from module import name` (or `import module` where `name` is empty) available."""

    module: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class ReplaceComment:
    """Put `text` where a part of a comment stands, for instance the directive it holds.

    A comment that is left empty goes, with the spaces before it, and with its line where it stood
    alone.
    """

    span: Span
    text: str = ""


Edit = Replace | Delete | Insert | WrapInWith | Move | AddImport | ReplaceComment
