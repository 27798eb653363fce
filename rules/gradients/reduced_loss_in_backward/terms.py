"""Terms of a loss that are averaged over the ranks in place, before the sum of all terms goes backward."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.lengths import mentions_processes
from distlint.analysis.questions.training import sent_backward
from distlint.analysis.questions.wrapped import without_gradients
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

_REDUCES: Final = "torch.distributed.all_reduce"
_WRAPS: Final = "DistributedDataParallel"
_LOSS: Final = pattern(r"loss", re.IGNORECASE)
_NO_GRADIENT: Final = frozenset({"detach", "item", "tensor", "detach_", "data"})


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A term that is averaged in place: in which function, by which call, and the way back of the whole."""

    function: Function
    name: str
    reduced: ast.Call
    backward: ast.AST


def averaged_terms(model: Model) -> Iterator[Term]:
    """The terms of losses whose gradient is divided by the number of ranks before DDP divides it once more.

    U2PL ab3d2be train_semi.py:514: `dist.all_reduce(contra_loss)`, divided by `world_size`, and added to other losses.
    """
    if not any(_WRAPS in m.source.text for m in model.program.modules.values()):
        return
    for module in model.modules:
        if "all_reduce(" in module.source.text and "backward(" in module.source.text:
            for function in module.all_functions:
                yield from _in_function(model, function)


def _in_function(model: Model, function: Function) -> Iterator[Term]:
    nodes = own_nodes(function)
    reduced = [n for n in nodes if isinstance(n, ast.Call) and _reduces_loss(model, function, n)]
    sent = [(n, root) for n in nodes if reduced and (root := sent_backward(n)) is not None]
    for node, root in sent:
        for call in reduced:
            name = dotted_name(call.args[0])
            divided = _divided(function, name, call.lineno, node.lineno)  # type: ignore[attr-defined]
            if divided is not None and _is_term(function, name, root, divided):
                yield Term(function, name, call, node)


def _reduces_loss(model: Model, function: Function, call: ast.Call) -> bool:
    """Whether a call adds a loss that has a gradient up over all ranks, in place."""
    if len(call.args) != 1 or call.keywords or not _LOSS.search(dotted_name(call.args[0])):
        return False
    if model.resolve(function.module, call.func) != _REDUCES:
        return False
    name = dotted_name(call.args[0])
    made = [value for written, value in _assigned(function) if written == name]
    return bool(made) and not any(_ends_gradient(value) for value in made)


def _ends_gradient(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=func):
            return last_name(func) in _NO_GRADIENT
        case ast.Attribute(attr=attr):
            return attr in _NO_GRADIENT
    return False


def _divided(function: Function, name: str, first: int, last: int) -> int | None:
    """The line between two others where a term, of which it stays one, is divided by the number of ranks."""
    for node in own_nodes(function):
        match node:
            case ast.AugAssign(target=target, op=ast.Div(), value=by):
                divides = dotted_name(target) == name and mentions_processes(by)
            case ast.Assign(targets=[target], value=value):
                divides = dotted_name(target) == name and any(
                    isinstance(part.op, ast.Div)
                    and _holds(part.left, name)
                    and mentions_processes(part.right)
                    for part in walk(value, ast.BinOp)
                )
            case _:
                continue
        if divides and first < node.lineno < last and not without_gradients(function, node):
            return node.end_lineno
    return None


def _is_term(function: Function, name: str, root: ast.expr, after: int) -> bool:
    """Whether a variable, as it is after a line, is a summand of what goes backward, by way of whatever variables."""
    waiting, seen = [root], {ast.unparse(root)}
    while waiting:
        for part in _summands(waiting.pop()):
            path = dotted_name(part)
            if path == name:
                return True
            for written, value in _assigned(function):
                if written == path and after < value.lineno < root.lineno:
                    text = ast.unparse(value)
                    if text not in seen:
                        seen.add(text)
                        waiting.append(value)
    return False


def _summands(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            yield from _summands(left)
            yield from _summands(right)
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            yield left
            yield right
        case ast.BinOp(op=ast.Div(), left=left):
            yield from _summands(left)
        case _:
            yield node


def _assigned(function: Function) -> Iterator[tuple[str, ast.expr]]:
    """The variables that a function writes, each with what it becomes or what is added to it."""
    for node in own_nodes(function, ast.Assign, ast.AugAssign):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value):
                yield from ((dotted_name(part), value) for part in parts)
            case (
                ast.Assign(targets=[target], value=value)
                | ast.AugAssign(target=target, op=ast.Add(), value=value)
            ):
                yield dotted_name(target), value


def _holds(node: ast.expr, name: str) -> bool:
    return any(dotted_name(part) == name for part in walk(node, ast.Name, ast.Attribute))
