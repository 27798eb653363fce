"""How a loop over epochs gets at a sampler that another function makes: the loader that it runs through."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Function, dotted_name, last_name
from distlint.analysis.program.handed import argument_of, callers_by_name
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.nodes import walk
from distlint.records import dataclass

from .epochs import EpochLoop
from .kinds import place_of_name

_LOADER: Final = "torch.utils.data.DataLoader"
_DEPTH: Final = 6


@dataclass(frozen=True, slots=True)
class Way:
    """The attributes that lead from a value to the sampler, and whether it is there in every run."""

    attributes: str
    sure: bool


_Value = tuple[Function, ast.expr, int | None]
"""An expression of a function, and which part of it where it is a tuple."""


@dataclass(frozen=True, slots=True)
class Search:
    """A sampler: the call that makes it, and the function in which it stands."""

    model: Model
    maker: Function
    call: ast.Call

    def in_loop(self, user: Function, loop: EpochLoop) -> tuple[str, bool] | None:
        """The sampler as the code in a loop can name it, and whether it surely is one there.

        tacotron2 185cd24 train.py:206: `prepare_dataloaders()` makes it, and the loop has `train_loader`.
        """
        for name in _mentioned(loop):
            way = self._of_name(user, name, _DEPTH)
            if way is not None:
                return f"{name}{way.attributes}", way.sure
        return None

    def _of_name(self, function: Function, name: str, depth: int) -> Way | None:
        values = list(self._values(function, name))
        if not values and name in function.parameters:
            calls = callers_by_name(self.model.program, function)
            given = [(user, argument_of(call, function, name)) for user, call in calls]
            return self._alike(
                [(u, v, None) for u, v in given if v is not None], depth, all_of=True
            )
        return self._alike(values, depth)

    def _values(self, function: Function, name: str) -> Iterator[_Value]:
        """What a variable, or an attribute of `self` in any method, is assigned."""
        methods: Iterable[Function] = (function,)
        if name.startswith("self.") and function.cls is not None:
            own, _ = self.model.program.mro(function.cls)
            methods = [method for cls in own for method in cls.methods.values()]
        for method in methods:
            for value in assignments(method).get(name, ()):
                yield method, value, place_of_name(method, name, value)

    def _alike(self, values: list[_Value], depth: int, *, all_of: bool = False) -> Way | None:
        """The one way of several values; of the others each may be another sampler, loader or None."""
        found: list[Way] = []
        sure = len(values) == 1 or all_of
        for function, value, place in values:
            way = self._of_value(function, value, place, depth - 1) if depth else None
            if way is not None:
                found.append(way)
            elif all_of:
                return None
        if not found or len({way.attributes for way in found}) > 1:
            return None
        (first, *_) = found
        if len(found) < len(values):
            if first.attributes and not all(self._is_like_it(v) for v in values):
                return None
            sure = False
        return replace(first, sure=sure and all(way.sure for way in found))

    def _is_like_it(self, value: _Value) -> bool:
        """Whether a value is a loader, whatever samples for it."""
        function, node, place = value
        return place is None and isinstance(node, ast.Call) and self._is_loader(function, node)

    def _is_loader(self, function: Function, node: ast.Call) -> bool:
        return self.model.resolve(function.module, node.func) == _LOADER

    def _of_value(
        self, function: Function, node: ast.expr, place: int | None, depth: int
    ) -> Way | None:
        if node is self.call:
            return Way("", _is_made_always(self.maker, node))
        match node:
            case ast.Tuple(elts=parts) if place is not None and place < len(parts):
                return self._of_value(function, parts[place], None, depth)
            case ast.Call() if self._is_loader(function, node):
                return self._through(function, node, ("sampler", "batch_sampler"), depth)
            case ast.Call() if last_name(node.func) == "BatchSampler":
                return self._through(function, node, ("sampler",), depth)
            case ast.Call():
                made = self.model.resolve(function.module, node.func)
                return self._returned(made, place, depth) if isinstance(made, Function) else None
            case ast.IfExp(body=one, orelse=other):
                arms: list[_Value] = [(function, one, place), (function, other, place)]
                return self._alike(arms, depth)
            case ast.Name() | ast.Attribute() if place is None and (name := dotted_name(node)):
                return self._of_name(function, name, depth)
        return None

    def _through(
        self, function: Function, call: ast.Call, names: tuple[str, ...], depth: int
    ) -> Way | None:
        """The way through a loader or batch sampler, which keeps what it is given."""
        given = [(k.arg, k.value) for k in call.keywords if k.arg in names]
        if not given and last_name(call.func) == "BatchSampler" and call.args:
            given = [("sampler", call.args[0])]
        for name, value in given:
            way = self._of_value(function, value, None, depth)
            if way is not None:
                return replace(way, attributes=f".{name}{way.attributes}")
        return None

    def _returned(self, made: Function, place: int | None, depth: int) -> Way | None:
        given = [n.value for n in own_nodes(made, ast.Return) if n.value]
        if made.is_generator or not given:
            return None
        return self._alike([(made, value, place) for value in given], depth)


def _mentioned(loop: EpochLoop) -> list[str]:
    """The names and attributes that a loop reads, what it runs through first."""
    nodes = list(walk(loop))
    inner = [n.iter for n in nodes if isinstance(n, ast.For | ast.comprehension) and n is not loop]
    given = [argument for n in nodes if isinstance(n, ast.Call) for argument in n.args]
    read = [n for part in (*inner, *given) for n in walk(part)]
    names = [dotted_name(n) for n in read if isinstance(n, ast.Name | ast.Attribute)]
    return list(dict.fromkeys(name for name in names if name))


def _is_made_always(maker: Function, call: ast.AST) -> bool:
    """Whether a function makes the sampler in every run: no test stands around the call."""
    return any(
        isinstance(statement, ast.Assign | ast.Return | ast.Expr)
        and any(node is call for node in walk(statement))
        and not any(walk(statement, ast.IfExp))
        for statement in maker.body
    )
