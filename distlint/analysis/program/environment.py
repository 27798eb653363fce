"""Where a file reads, writes and removes environment variables, by syntax."""

from __future__ import annotations

import ast
import enum
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from distlint.analysis.program.definitions import Module, dotted_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.program import Program
from distlint.columns import split_lines
from distlint.nodes import LEAVES, children, walk
from distlint.records import dataclass


class Use(enum.Enum):
    """What is done with a variable."""

    READ = "read"
    WRITE = "write"
    DEFAULT = "default"
    """Written where it is not set yet."""
    REMOVE = "remove"
    READ_AND_REMOVE = "read and remove"
    """`saved = os.environ.pop(...)`: the value goes on living in the program."""
    TEST = "test"
    """`name in os.environ`."""


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """One use of one environment variable.

    `node` is the subscript, call or comparison; `statement` holds it; `value` is what is written.
    `above` are the statements around it, outermost first, functions and classes included.
    `several` where a loop gives the node other names too.
    """

    use: Use
    name: str
    node: ast.expr
    statement: ast.stmt
    above: tuple[ast.stmt, ...]
    value: ast.expr | None = None
    several: bool = False

    @property
    def function(self) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The innermost function around it; None at the top level of the file."""
        for statement in reversed(self.above):
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return statement
        return None


_CALLS: Final[dict[str, Use]] = {
    "os.getenv": Use.READ,
    "os.putenv": Use.WRITE,
    "os.unsetenv": Use.REMOVE,
    "os.environ.get": Use.READ,
    "os.environ.pop": Use.REMOVE,
    "os.environ.setdefault": Use.DEFAULT,
}
_WORDS: Final = ("environ", "getenv", "setenv", "putenv")
_CHILDREN: Final = ("body", "orelse", "finalbody")


@remembered
def accesses(program: Program, module: Module) -> list[Access]:
    """Every use of an environment variable in a file whose name is written there, in source order."""
    text = module.source.text
    return list(_Accesses(program, module)) if any(word in text for word in _WORDS) else []


def statements(
    body: Sequence[ast.stmt], above: tuple[ast.stmt, ...] = ()
) -> Iterator[tuple[ast.stmt, tuple[ast.stmt, ...]]]:
    """The statements below a body, each with those around it, in source order."""
    for statement in body:
        yield statement, above
        for block in blocks_of(statement):
            yield from statements(block, (*above, statement))


def own_statements(
    body: Sequence[ast.stmt], above: tuple[ast.stmt, ...] = ()
) -> Iterator[tuple[ast.stmt, tuple[ast.stmt, ...]]]:
    """The statements that a body runs itself, with those around each: not those of functions and classes in it."""
    for statement in body:
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement, above
            for block in blocks_of(statement):
                yield from own_statements(block, (*above, statement))


def blocks_of(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement, in source order."""
    for field in _CHILDREN[:1]:
        if block := getattr(statement, field, None):
            yield block
    for handler in getattr(statement, "handlers", ()):
        yield handler.body
    for case in getattr(statement, "cases", ()):
        yield case.body
    for field in _CHILDREN[1:]:
        if block := getattr(statement, field, None):
            yield block


def blocks(body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """A body and all blocks below it, in source order."""
    yield body
    for statement, _ in statements(body):
        yield from blocks_of(statement)


def own_expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement, without those of the statements inside it."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        for child in children(node):
            if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
                continue
            if isinstance(child, ast.expr):
                yield child
            if child.__class__ not in LEAVES:
                stack.append(child)


def evaluated_here(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement that are evaluated when it runs: not those inside a `lambda`."""
    nodes = list(own_expressions(statement))
    lambdas = [node for node in nodes if isinstance(node, ast.Lambda)]
    later = {id(n) for each in lambdas for n in walk(each.body)}
    return (node for node in nodes if id(node) not in later) if later else iter(nodes)


class _Accesses:
    def __init__(self, program: Program, module: Module) -> None:
        self._program = program
        self._module = module
        self._aliases: set[str] = set()
        imported = {name for name, full in module.imports.items() if full.startswith("os.")}
        self._lines = self._lines_with({*_WORDS, *imported})
        self._aliases = {
            target.id
            for node, _ in self._statements(module.body.body)
            if isinstance(node, ast.Assign) and self._resolve(node.value) == "os.environ"
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        if self._aliases:
            self._lines = self._lines_with({*_WORDS, *imported, *self._aliases})

    def __iter__(self) -> Iterator[Access]:
        for statement, above in self._statements(self._module.body.body):
            found = [
                Access(use, name, node, statement, above, value, len(names) > 1)
                for node in own_expressions(statement)
                for use, names, value in self._uses(node, statement)
                for name in names
            ]
            yield from sorted(found, key=lambda a: (a.node.lineno, a.node.col_offset))

    def _lines_with(self, words: set[str]) -> list[int]:
        """The numbers of the lines in which one of some words stands, in order."""
        pattern = re.compile("|".join(map(re.escape, sorted(words))))
        lines = split_lines(self._module.source.text)
        return [number for number, line in enumerate(lines, 1) if pattern.search(line)]

    def _statements(
        self, body: Sequence[ast.stmt], above: tuple[ast.stmt, ...] = ()
    ) -> Iterator[tuple[ast.stmt, tuple[ast.stmt, ...]]]:
        """As `statements`, only those with one of the lines."""
        for statement in body:
            first = bisect_left(self._lines, statement.lineno)
            last = statement.end_lineno or statement.lineno
            if first < len(self._lines) and self._lines[first] <= last:
                yield statement, above
                for block in blocks_of(statement):
                    yield from self._statements(block, (*above, statement))

    @cached_property
    def _constants(self) -> dict[str, tuple[str, ...]]:
        return _text_constants(self._module)

    @cached_property
    def _dicts(self) -> dict[str, ast.expr]:
        """What names hold that are assigned once in the file."""
        found: dict[str, list[ast.expr]] = {}
        for node in walk(self._module.source.tree, ast.Assign, ast.AnnAssign):
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ):
                    found.setdefault(name, []).append(value)
        return {name: values[0] for name, values in found.items() if len(values) == 1}

    def _uses(
        self, node: ast.expr, statement: ast.stmt
    ) -> Iterator[tuple[Use, tuple[str, ...], ast.expr | None]]:
        match node:
            case ast.Subscript(value=owner, slice=key, ctx=ctx) if self._is_environ(owner):
                written = statement.value if isinstance(statement, ast.Assign) else None
                use = {ast.Load: Use.READ, ast.Store: Use.WRITE, ast.Del: Use.REMOVE}[type(ctx)]
                yield use, self._names(key), written if use is Use.WRITE else None
            case ast.Call(func=ast.Attribute(attr="update", value=owner)) if self._is_environ(
                owner
            ):
                for keyword in node.keywords:
                    if keyword.arg:
                        yield Use.WRITE, (keyword.arg,), keyword.value
                for given in node.args:
                    mapping = self._dicts.get(given.id) if isinstance(given, ast.Name) else given
                    if isinstance(mapping, ast.Dict):
                        for key_, value in zip(mapping.keys, mapping.values, strict=True):
                            if key_ is not None:
                                yield Use.WRITE, self._names(key_), value
            case ast.Call(func=function, args=[key, *rest]):
                found = _CALLS.get(self._resolve(function))
                if found is Use.REMOVE and not isinstance(statement, ast.Expr):
                    found = Use.READ_AND_REMOVE
                if found is not None:
                    writes = found in (Use.WRITE, Use.DEFAULT)
                    yield found, self._names(key), rest[0] if writes and rest else None
            case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[owner]):
                if self._is_environ(owner):
                    yield Use.TEST, self._names(key), None

    def _resolve(self, node: ast.expr) -> str:
        found = self._program.resolve_dotted(self._module, dotted_name(node))
        if found is None and isinstance(node, ast.Attribute) and self._is_environ(node.value):
            return f"os.environ.{node.attr}"
        return found if isinstance(found, str) else ""

    def _is_environ(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name) and node.id in self._aliases:
            return True
        return self._resolve(node) == "os.environ"

    def _names(self, key: ast.expr) -> tuple[str, ...]:
        match key:
            case ast.Constant(value=str() as name):
                return (name,)
            case ast.Name(id=name):
                return self._constants.get(name, ())
        return ()


def _text_constants(module: Module) -> dict[str, tuple[str, ...]]:
    """Names that hold one text, or one of several that a loop goes through."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for node in walk(module.source.tree, ast.Assign, ast.For, ast.arg):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, set()).add(_texts([value]))
            case ast.For(
                target=ast.Name(id=name),
                iter=ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements),
            ):
                found.setdefault(name, set()).add(_texts(elements))
            case ast.arg(arg=name):
                found.setdefault(name, set()).add(())
    return {name: values.pop() for name, values in found.items() if len(values) == 1}


def _texts(nodes: Sequence[ast.expr]) -> tuple[str, ...]:
    return tuple(n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))
