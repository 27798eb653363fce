"""Names that some line reads and that may have no value there: what an edit must not add.

Python finds names when it comes to them, so that a name which a file imports in one function, or below the line, is
a `NameError` that no parser sees. Decided by the `ast` tree of one file.
"""

from __future__ import annotations

import ast
import builtins
import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, Final, TypeVar

from distlint.patterns import pattern
from distlint.records import dataclass

Arm = tuple[ast.AST, str]
"""A statement that is around another one, and the field of it in which that one stands."""

_OF_MODULES: Final = frozenset(dir(builtins)) | {
    *("__file__", "__name__", "__doc__", "__path__", "__package__", "__spec__", "__loader__"),
    *("__builtins__", "__debug__", "__annotations__", "__class__", "__dict__"),
}
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_EXITS: Final = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_WORD: Final = pattern(r"\w+")
_NO_RETURN: Final = frozenset({"exit", "_exit", "quit", "abort"})


@dataclass(frozen=True, slots=True)
class Unbound:
    """A name that a line reads and that may have no value there."""

    scope: str
    """The qualified name of the function or class; empty for the module."""
    name: str
    line: int


@dataclass(slots=True)
class _Scope:
    node: ast.AST
    name: str
    above: _Scope | None
    bound: set[str] = field(default_factory=set)
    of_others: set[str] = field(default_factory=set)
    """What `global` and `nonlocal` declare."""
    arguments: set[str] = field(default_factory=set)
    reads: list[tuple[str, int, tuple[Arm, ...]]] = field(default_factory=list)
    inner: list[_Scope] = field(default_factory=list)
    defined: tuple[Arm, ...] = ()
    """What is around its definition in the scope above."""
    at_the_end: dict[str, bool] = field(default_factory=dict)
    """Whether names that functions read from it have a value behind all its statements."""

    @property
    def body(self) -> list[ast.stmt]:
        body = getattr(self.node, "body", [])
        return body if isinstance(body, list) else []

    @property
    def is_function(self) -> bool:
        return isinstance(self.node, _FUNCTIONS)


Found = TypeVar("Found")
_KEPT: Final[list[functools._lru_cache_wrapper[Any]]] = []
"""What is kept for one file: its nodes are asked the same for each name that is read."""


def _kept(function: Callable[..., Found]) -> functools._lru_cache_wrapper[Found]:
    _KEPT.append(functools.cache(function))
    return _KEPT[-1]


@functools.lru_cache(maxsize=128)
def unbound(text: str) -> tuple[Unbound, ...]:
    """The reads of names in a file that some way leads to without a value, in no order.

    Two tests that are written alike count as the same; a loop counts as one that goes round. A file that does not
    parse has none. Kept for some files: repairs that are tried together change a few.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()
    module = _Scope(tree, "", None)
    _Reader(module).block(tree.body)
    has_star = any(
        isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
        for node in ast.walk(tree)
    )
    try:
        return tuple(_unbound_in(module, module, has_star))
    finally:
        for kept in _KEPT:
            kept.cache_clear()


def added(before: str, after: str) -> list[Unbound]:
    """What `unbound` says of a file after an edit, and did not say before, in each function.

    One name in the place of another that had no value either is nothing new: what gives names their values there is
    not in the file.
    """
    left = Counter((each.scope, each.name) for each in unbound(before))
    found = []
    for each in sorted(unbound(after), key=lambda one: one.line, reverse=True):
        if left[each.scope, each.name] > 0:
            left[each.scope, each.name] -= 1
        else:
            found.append(each)
    gone = Counter[str]()
    for (scope, _), count in left.items():
        gone[scope] += count
    new = []
    for each in found[::-1]:
        if gone[each.scope] > 0:
            gone[each.scope] -= 1
        else:
            new.append(each)
    return new


def _unbound_in(scope: _Scope, module: _Scope, has_star: bool) -> Iterator[Unbound]:
    for name, line, around in scope.reads:
        if not _has_value(scope, module, name, around, has_star=has_star):
            yield Unbound(scope.name, name, line)
    for each in scope.inner:
        yield from _unbound_in(each, module, has_star)


def _has_value(
    scope: _Scope, module: _Scope, name: str, around: Sequence[Arm], *, has_star: bool
) -> bool:
    at: _Scope | None = scope
    runs_now = True
    while at is not None:
        own = name in at.bound and name not in at.of_others
        if own and (at is scope or not isinstance(at.node, ast.ClassDef)):
            if name in at.arguments:
                return True
            if runs_now:
                found = _is_bound_before(at, name, around)
            else:
                if name not in at.at_the_end:
                    at.at_the_end[name] = _is_bound_in(at.body, name, frozenset())
                found = at.at_the_end[name]
            if found or at is module or not isinstance(at.node, ast.ClassDef):
                return found or (has_star and at is module)
        # The body of a class and a comprehension run where they stand; a function is called from anywhere.
        runs_now = runs_now and not at.is_function
        around = at.defined
        at = at.above
    return has_star or name in _OF_MODULES


def _is_bound_before(scope: _Scope, name: str, around: Sequence[Arm]) -> bool:
    """Whether a name has its value at a statement of a scope, given what is around that statement."""
    block, bound = scope.body, False
    tests = set().union(*(_said(statement, part) for statement, part in around))
    for index, (statement, part) in enumerate(around):
        if not isinstance(statement, ast.stmt | ast.excepthandler | ast.match_case):
            continue
        above = _before(block, statement)
        tests |= _said_by_leaving(above)
        bound = _is_bound_in(above, name, frozenset(tests), bound=bound)
        if index == len(around) - 1:
            return bound or _binds_itself(statement, name)
        if _takes_away(statement, name):  # in an earlier turn, or before the handler
            bound = False
        if _head_binds(statement, part, name) or (
            isinstance(statement, ast.Try)
            and part == "orelse"
            and _is_bound_in(statement.body, name, frozenset(tests))
        ):
            bound = True
        found = getattr(statement, part, None)
        # Of several handlers or cases one runs.
        apart = part in ("handlers", "cases")
        block = found if isinstance(found, list) and not apart else []
    return bound


def _takes_away(statement: ast.AST, name: str) -> bool:
    """Whether something in a statement deletes a name."""
    return name in _deleted(statement)


@_kept
def _deleted(statement: ast.AST) -> frozenset[str]:
    """The names that something in a statement deletes."""
    return frozenset(
        part.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Delete)
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Del)
    )


def _binds_itself(statement: ast.AST, name: str) -> bool:
    """Whether the expressions of a statement bind a name before they read it: `(x := f()) and x`."""
    if isinstance(statement, ast.match_case) and name in _captured(statement.pattern):
        return True
    return any(
        isinstance(node, ast.NamedExpr) and node.target.id == name
        for part in ast.iter_child_nodes(statement)
        if isinstance(part, ast.expr | ast.withitem)
        for node in ast.walk(part)
    ) or (isinstance(statement, ast.With | ast.AsyncWith) and _head_binds(statement, "body", name))


def _before(block: list[ast.stmt], statement: ast.AST) -> list[ast.stmt]:
    return next((block[:i] for i, each in enumerate(block) if each is statement), [])


def _said(statement: ast.AST, part: str) -> frozenset[str]:
    """What tests say in a part of a statement."""
    if not isinstance(statement, ast.If | ast.While) or part not in ("body", "orelse"):
        return frozenset()
    return _parts(statement.test, truth=part == "body")


def _said_by_leaving(block: Sequence[ast.stmt]) -> set[str]:
    """What tests say behind statements: of what left, the opposite."""
    said: set[str] = set()
    for statement in block:
        if isinstance(statement, ast.If):
            for arm, truth in ((statement.body, True), (statement.orelse, False)):
                if _leaves(arm):
                    said |= _parts(statement.test, truth=not truth)
    return said


@_kept
def _parts(test: ast.expr, *, truth: bool) -> frozenset[str]:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _parts(operand, truth=not truth)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) is truth:
            return frozenset().union(*(_parts(each, truth=truth) for each in values))
    return frozenset({ast.unparse(test) if truth else f"not {ast.unparse(test)}"})


def _head_binds(statement: ast.AST, part: str, name: str) -> bool:
    """Whether a statement has bound a name when one of its blocks begins."""
    match statement:
        case ast.For(target=target) | ast.AsyncFor(target=target) if part == "body":
            return _stores(target, name)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return any(_stores(item, name) for item in items)
        case ast.If(test=test) | ast.While(test=test):
            return _stores(test, name)
        case ast.ExceptHandler(name=caught):
            return caught == name
        case ast.match_case(pattern=pattern, guard=guard):
            return name in _captured(pattern) or (guard is not None and _stores(guard, name))
    return False


def _is_bound_in(
    block: Sequence[ast.stmt], name: str, tests: frozenset[str], *, bound: bool = False
) -> bool:
    """Whether a name has a value behind statements, given tests that hold there, and whether it had one before."""
    for index, statement in enumerate(block):
        tests |= _said_by_leaving(block[:index][-1:])
        if isinstance(statement, ast.Delete) and _deletes(statement, name):
            bound = False
        elif not bound or _takes_away(statement, name):
            bound = _is_bound_behind(statement, name, tests)
    return bound


def _is_bound_behind(statement: ast.stmt, name: str, tests: frozenset[str]) -> bool:
    match statement:
        case ast.If(test=test, body=body, orelse=orelse):
            if _stores(test, name):
                return True
            return not _only_for_types(test) and all(
                _leaves(arm)
                or _is_bound_in(arm, name, tests)
                or _parts(test, truth=not truth) <= tests
                for arm, truth in ((body, True), (orelse, False))
            )
        case ast.For(target=target, body=body) | ast.AsyncFor(target=target, body=body):
            return _stores(target, name) or _is_bound_in(body, name, tests)
        case ast.While(test=test, body=body):
            return _stores(test, name) or _is_bound_in(body, name, tests)
        case ast.With(body=body) | ast.AsyncWith(body=body):
            return _head_binds(statement, "body", name) or _is_bound_in(body, name, tests)
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
            if _is_bound_in(final, name, tests):
                return True
            done = [*body, *orelse]
            return _is_bound_in(done, name, tests) and all(
                _leaves(each.body)
                or _is_bound_in(each.body, name, tests)
                or _is_flagged(each.body, tests)
                for each in handlers
            )
        case ast.Match(cases=cases):
            return any(_may_bind(case, name) for case in cases)
    return _may_bind(statement, name)


def _is_flagged(block: Sequence[ast.stmt], tests: Iterable[str]) -> bool:
    """Whether statements set a flag that a test which holds says is not set: `failed = True`, `if any_rank(failed): …`."""
    flags = {
        statement.targets[0].id
        for statement in block
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(statement.value, ast.Constant)
        and statement.value.value is True
    }
    said = {word for test in tests if test.startswith("not ") for word in _WORD.findall(test)}
    return not flags.isdisjoint(said)


def _may_bind(statement: ast.AST, name: str) -> bool:
    """Whether a statement binds a name, in any of its parts that run where it stands."""
    return name in _bound_by(statement)


def _leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether control never comes out of a block."""
    for statement in block:
        match statement:
            case ast.If(body=body, orelse=orelse) if _leaves(body) and _leaves(orelse):
                return True
            case ast.With(body=body) if _leaves(body):
                return True
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=called) | ast.Name(id=called))):
                if called in _NO_RETURN:
                    return True
        if isinstance(statement, _EXITS):
            return True
    return False


@_kept
def _only_for_types(test: ast.expr) -> bool:
    return ast.unparse(test).rpartition(".")[2] == "TYPE_CHECKING"


def _stores(node: ast.AST, name: str) -> bool:
    return name in _stored(node)


@_kept
def _stored(node: ast.AST) -> frozenset[str]:
    return frozenset(
        each.id
        for each in ast.walk(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    )


def _deletes(statement: ast.Delete, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in statement.targets)


def _captured(pattern: ast.AST) -> set[str]:
    names = set()
    for node in ast.walk(pattern):
        match node:
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                names.add(name)
            case ast.MatchMapping(rest=str(name)):
                names.add(name)
    return names


@_kept
def _bound_by(node: ast.AST) -> set[str]:
    """The names that a node binds in the scope in which it stands."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=names):
            return {alias.asname or alias.name.partition(".")[0] for alias in names}
        case ast.ImportFrom(names=names):
            return {alias.asname or alias.name for alias in names}
        case ast.Name(id=name, ctx=ast.Store()):
            return {name}
        case ast.Lambda():
            return set()
    found: set[str] = set()
    if isinstance(node, _COMPREHENSIONS):
        targets = {id(each) for part in node.generators for each in ast.walk(part.target)}
        return {
            each.target.id
            for each in ast.walk(node)
            if isinstance(each, ast.NamedExpr) and id(each) not in targets
        }
    if isinstance(node, ast.ExceptHandler) and node.name:
        found.add(node.name)
    if isinstance(node, ast.match_case):
        found |= _captured(node.pattern)
    for child in ast.iter_child_nodes(node):
        found |= _bound_by(child)
    return found


class _Reader:
    """Collects what a scope binds and reads, and the scopes in it."""

    def __init__(self, scope: _Scope) -> None:
        self._scope = scope

    def block(self, block: list[ast.stmt]) -> None:
        """Collect what the statements of the scope itself hold."""
        for statement in block:
            self._statement(statement, ())

    def _statement(self, statement: ast.AST, around: tuple[Arm, ...]) -> None:
        scope = self._scope
        match statement:
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                scope.of_others |= set(names)
                return
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                scope.bound.add(name)
                given = statement.args
                for outer in (*statement.decorator_list, *given.defaults, *given.kw_defaults):
                    self._expression(outer, (*around, (statement, "")))
                self._inside(statement, name, (*around, (statement, "")))
                return
            case ast.ClassDef(name=name):
                scope.bound.add(name)
                for part in (*statement.decorator_list, *statement.bases, *statement.keywords):
                    self._expression(part, (*around, (statement, "")))
                self._inside(statement, name, (*around, (statement, "")))
                return
            case ast.Import() | ast.ImportFrom():
                scope.bound |= _bound_by(statement)
                return
            case ast.ExceptHandler(name=str(name)):
                scope.bound.add(name)
            case ast.match_case(pattern=pattern):
                scope.bound |= _captured(pattern)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self._expression(target, (*around, (statement, "")))
                    self._expression(value, (*around, (statement, "")))
                return
            case ast.AugAssign(target=ast.Name(id=name)):
                scope.reads.append((name, statement.lineno, (*around, (statement, ""))))
        for where, value in ast.iter_fields(statement):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
                    self._statement(child, (*around, (statement, where)))
                elif isinstance(child, ast.AST):
                    # `while` and `for` read their heads before anything in them has run.
                    self._expression(child, (*around, (statement, "")))

    def _expression(self, node: ast.AST | None, around: tuple[Arm, ...]) -> None:
        if node is None:
            return
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                self._scope.reads.append((name, node.lineno, around))
            case ast.Name(id=name):
                self._scope.bound.add(name)
            case ast.Lambda(args=given):
                for default in (*given.defaults, *given.kw_defaults):
                    self._expression(default, around)
                self._inside(node, "<lambda>", around)
                return
        if isinstance(node, _COMPREHENSIONS):
            self._comprehension(node, around)
            return
        if isinstance(node, ast.NamedExpr):
            self._of_function(node.target.id)
        for child in ast.iter_child_nodes(node):
            self._expression(child, around)

    def _of_function(self, name: str) -> None:
        scope = self._scope
        while isinstance(scope.node, _COMPREHENSIONS) and scope.above is not None:
            scope = scope.above
        scope.bound.add(name)

    def _comprehension(self, node: ast.AST, around: tuple[Arm, ...]) -> None:
        inner = self._opened(node, self._scope.name, around)
        for part in ast.walk(node):
            if isinstance(part, ast.comprehension):
                inner.arguments |= {
                    each.id
                    for each in ast.walk(part.target)
                    if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
                }
        inner.bound |= inner.arguments
        reader = _Reader(inner)
        for child in ast.iter_child_nodes(node):
            reader._expression(child, around)

    def _inside(self, node: ast.AST, name: str, around: tuple[Arm, ...]) -> None:
        above = self._scope.name
        inner = self._opened(node, f"{above}.{name}" if above else name, around)
        given = getattr(node, "args", None)
        if isinstance(given, ast.arguments):
            every = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
            inner.arguments |= {each.arg for each in every if each is not None}
        kinds = getattr(node, "type_params", ())
        inner.arguments |= {str(each.name) for each in kinds}
        inner.bound |= inner.arguments
        reader = _Reader(inner)
        body = getattr(node, "body", [])
        if isinstance(body, list):
            reader.block(body)
        else:
            reader._expression(body, ())

    def _opened(self, node: ast.AST, name: str, around: tuple[Arm, ...]) -> _Scope:
        inner = _Scope(node, name, self._scope, defined=around)
        self._scope.inner.append(inner)
        return inner
