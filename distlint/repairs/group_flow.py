"""How far one function has the process group made at a line, whichever way control took to it.

Decided by its statements alone, and by what each call in them leaves behind: both arms of a test, early returns and
handlers count, since a test of the launch goes one way where the analysis follows several ranks, and the other on one.
"""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Function, last_name
from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass


class Group(enum.IntEnum):
    """What is known of the process group at a place; the smallest of several ways counts."""

    LATER = 0
    """It is made further down: before, every process takes itself for the only one."""
    UNKNOWN = 1
    MAYBE = 2
    """Made where there are several processes: under a condition, or by a class that asks for them."""
    MADE = 3
    """On every way here something made it, or would have failed without it."""


_THERE: Final = "the group is there"
"""What a test says that asks for the group itself."""
_ASKED: Final = pattern(r"initiali[sz]ed|is_dist_avail")
_ENDS: Final = frozenset({"exit", "quit", "_exit", "abort"})
_APART: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""Statements that run nothing of what they hold, or hold no group."""

_OPPOSITE: Final[dict[type[ast.cmpop], str]] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
}  # fmt: skip

Conditions = frozenset[str]


@dataclass(frozen=True, slots=True)
class _State:
    """What is known where control passes."""

    group: Group = Group.UNKNOWN
    holds: Conditions = frozenset()
    """Tests that are true here, as they are written."""
    under: frozenset[Conditions] = frozenset()
    """Tests, all of one set true, with which the group was made: under the same ones it is there again."""

    def with_call(self, made: Group, *, surely: bool) -> _State:
        made = made if surely else min(made, Group.MAYBE)
        return self if made <= self.group else replace(self, group=made)

    def where(self, said: Conditions) -> _State:
        """The same under further tests."""
        holds = self.holds | said
        there = _THERE in holds or any(needed <= holds for needed in self.under)
        return replace(self, group=Group.MADE if there else self.group, holds=holds)

    def without(self, names: Iterable[str]) -> _State:
        """The same where some names and attributes have got another value."""
        said = self.holds.union(*self.under)
        gone = [
            re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
            for name in names
            if any(name in each for each in said)
        ]
        if not gone:
            return self

        def lasts(said: str) -> bool:
            return not any(each.search(said) for each in gone)

        return replace(
            self,
            holds=frozenset(filter(lasts, self.holds)),
            under=frozenset(needed for needed in self.under if all(map(lasts, needed))),
        )


def _joined(states: Iterable[_State | None]) -> _State | None:
    """What is known where ways meet; None where none comes."""
    coming = [state for state in states if state is not None]
    if not coming:
        return None
    holds = frozenset.intersection(*(state.holds for state in coming))
    least, most = (pick(state.group for state in coming) for pick in (min, max))
    group = least if least is most or most < Group.MAYBE else Group.MAYBE
    under = frozenset.intersection(*(state.under for state in coming))
    if group is not Group.MADE:
        under |= {
            state.holds - holds
            for state in coming
            if state.group is Group.MADE and state.holds - holds
        }
    return _State(group, holds, under)


class GroupFlow:
    """Follows the statements of a function.

    Args:
        model: the analysed project.
        made_by: what a call in a function says of the group once it has come back.
    """

    def __init__(self, model: Model, made_by: Callable[[Function, ast.Call], Group]) -> None:
        self._model = model
        self._made_by = made_by
        self._line = 0
        self._function: Function | None = None
        self._reached: list[_State] = []
        self._returned: list[_State] = []

    def at(self, function: Function, line: int) -> Group:
        """What is known in front of a line by what stands above it in the function itself."""
        self._function, self._line = function, line
        self._block(function.body, _State())
        return min((state.group for state in self._reached), default=Group.UNKNOWN)

    def tests_at(self, function: Function, line: int) -> list[str]:
        """Tests that would each say, in front of a line, that the group is there; the shortest first."""
        self.at(function, line)
        each = [
            {min(s) for s in state.under if len(s) == 1} for state in self._reached if state.under
        ]
        alike = set.intersection(*each) if each and len(each) == len(self._reached) else set()
        return sorted(alike, key=lambda test: (len(test), test))

    def behind(self, function: Function) -> Group:
        """What is known where the function has come back."""
        self._function, self._line = function, 0
        left = self._block(function.body, _State())
        last = _joined([left, *self._returned])
        return Group.UNKNOWN if last is None else last.group

    # Statements

    def _block(self, block: list[ast.stmt], state: _State | None) -> _State | None:
        for statement in block:
            if state is None:
                return None
            if self._is_here(statement):
                self._reached.append(state)
                return None
            state = self._statement(statement, state)
        return state

    def _is_here(self, statement: ast.stmt) -> bool:
        """Whether the line asked for is in a statement, and not in a block of it."""
        if not statement.lineno <= self._line <= (statement.end_lineno or 0):
            return False
        if isinstance(statement, _APART):
            return True
        names = ("body", "orelse", "finalbody", "handlers", "cases")
        inside = [part for name in names for part in getattr(statement, name, ())]
        return not any(first <= self._line <= last for first, last in map(_lines, inside))

    def _statement(self, statement: ast.stmt, state: _State) -> _State | None:
        match statement:
            case ast.If(test=test, body=body, orelse=orelse):
                return self._branch(test, body, orelse, state)
            case ast.While() | ast.For() | ast.AsyncFor():
                return self._loop(statement, state)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                return self._block(body, self._evaluated([i.context_expr for i in items], state))
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                done = self._block(orelse, self._block(body, state))
                failed = [self._block(each.body, state) for each in handlers]
                return self._block(final, _joined([done, *failed]))
            case ast.Match(subject=subject, cases=cases):
                state = self._evaluated([subject], state)
                rest = [] if any(_takes_all(case) for case in cases) else [state]
                return _joined([*(self._block(case.body, state) for case in cases), *rest])
            case ast.Return(value=value):
                self._returned.append(self._evaluated([value] if value else [], state))
                return None
            case ast.Raise() | ast.Break() | ast.Continue():
                return None
            case ast.Expr(value=ast.Call(func=func)) if last_name(func) in _ENDS:
                return None
            case ast.Assert(test=test):
                return self._evaluated([test], state).where(self._said(test, truth=True))
        if isinstance(statement, _APART):
            return state
        given = [node for node in ast.iter_child_nodes(statement) if isinstance(node, ast.expr)]
        return self._evaluated(given, state).without(_assigned([statement]))

    def _branch(
        self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], state: _State
    ) -> _State | None:
        state = self._evaluated([test], state)
        then = self._block(body, state.where(self._said(test, truth=True)))
        if self._always(test):
            return then
        other = self._block(orelse, state.where(self._said(test, truth=False)))
        joined = _joined([then, other])
        if joined is None or then is None or other is None or then.group is other.group:
            return joined
        made, alone = (body, orelse) if then.group is Group.MADE else (orelse, body)
        if Group.MADE not in (then.group, other.group):
            return joined
        kept = frozenset(frozenset({name}) for name in _flags(made, True) & _flags(alone, False))
        return replace(joined, under=joined.under | kept)

    def _loop(self, loop: ast.While | ast.For | ast.AsyncFor, state: _State) -> _State | None:
        state = state.without(_assigned([loop]))
        head = loop.test if isinstance(loop, ast.While) else loop.iter
        state = self._evaluated([head], state)
        # A loop without a round is no run that anybody means.
        return self._block(loop.orelse, self._block(loop.body, state) or state)

    # Expressions

    def _evaluated(self, nodes: list[ast.expr], state: _State, *, surely: bool = True) -> _State:
        for node in nodes:
            match node:
                case ast.Lambda():
                    continue
                case ast.IfExp(test=test, body=body, orelse=orelse):
                    state = self._evaluated([test], state, surely=surely)
                    state = self._evaluated([body, orelse], state, surely=False)
                    continue
                case ast.BoolOp(values=[first, *rest]):
                    state = self._evaluated([first], state, surely=surely)
                    state = self._evaluated(rest, state, surely=False)
                    continue
            inside = [
                *(child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)),
                *(keyword.value for keyword in getattr(node, "keywords", ())),
                *(each.iter for each in getattr(node, "generators", ())),
            ]
            loops = isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)
            state = self._evaluated(inside, state, surely=surely and not loops)
            if isinstance(node, ast.Call) and self._function is not None:
                state = state.with_call(self._made_by(self._function, node), surely=surely)
        return state

    def _said(self, test: ast.expr, *, truth: bool) -> Conditions:
        """What a test that came out so says, part by part."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._said(operand, truth=not truth)
            case ast.BoolOp(op=op, values=values) if isinstance(op, ast.And) is truth:
                return frozenset().union(*(self._said(each, truth=truth) for each in values))
        text = ast.unparse(test)
        said = {text if truth else negated(text)}
        return frozenset(said | {_THERE} if truth and self._asks_for_group(test) else said)

    def _asks_for_group(self, test: ast.expr) -> bool:
        """Whether a test is true only where the group was made, by torch's word or a function that asks it."""
        if not isinstance(test, ast.Call) or self._function is None:
            return False
        meaning = self._model.resolve(self._function.module, test.func)
        if isinstance(meaning, Function):
            return _ASKED.search(meaning.name) is not None and any(
                last_name(node.func) == "is_initialized" for node in own_nodes(meaning, ast.Call)
            )
        return last_name(test.func) == "is_initialized" and "torch.distributed" in str(meaning)

    def _always(self, test: ast.expr) -> bool:
        """Whether a test is true in every run that is meant."""
        match test:
            case ast.Constant(value=value):
                return bool(value)
            case ast.Call(func=func, args=[], keywords=[]):
                return last_name(func) == "is_available" and "dist" in ast.unparse(func)
        return ast.unparse(test) == "__name__ == '__main__'"


def negated(test: str) -> str:
    """A test that says the opposite, as people write it."""
    if test.endswith(" == 0"):
        return f"{test.removesuffix(' == 0')} != 0"
    if test.startswith("not ") and " " not in test.removeprefix("not "):
        return test.removeprefix("not ")
    node = ast.parse(test, mode="eval").body
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPPOSITE:
            return f"{ast.unparse(left)} {_OPPOSITE[type(op)]} {ast.unparse(right)}"
    return (
        f"not {test}" if isinstance(node, ast.Name | ast.Attribute | ast.Call) else f"not ({test})"
    )


def _lines(node: ast.AST) -> tuple[int, int]:
    """The first and the last line of a statement, a handler, or a case."""
    first = getattr(node, "lineno", 0) or min(
        (each.lineno for each in walk(node) if hasattr(each, "lineno")), default=0
    )
    last = max((getattr(each, "end_lineno", 0) or 0 for each in walk(node)), default=0)
    return first, last


def _flags(block: list[ast.stmt], truth: bool) -> set[str]:
    """The names and attributes that a block sets to True, or to False: InternImage 31c962d segmentation/train.py:147."""
    return {
        ast.unparse(statement.targets[0])
        for statement in block
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Constant)
        and statement.value.value is truth
        and len(statement.targets) == 1
    }


def _takes_all(case: ast.match_case) -> bool:
    match case:
        case ast.match_case(pattern=ast.MatchAs(pattern=None), guard=None):
            return True
    return False


def _assigned(block: list[ast.stmt]) -> set[str]:
    """The names and attributes that get a value in a block, as written."""
    return {
        ast.unparse(node)
        for statement in block
        for node in walk(statement, ast.Name, ast.Attribute)
        if isinstance(node.ctx, ast.Store | ast.Del)
    }
