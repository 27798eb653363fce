"""Codebooks that a class learns by moving averages in its buffers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, TypeGuard

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.syntax import own_nodes, target_names
from distlint.nodes import is_false, last_name, walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Class, Definition

_OVER_RANKS: Final = pattern(
    r"all_?reduce|all_?gather|reduce_fn|gather_fn|sync|psum", re.IGNORECASE
)
_COPIES: Final = frozenset({"copy_", "set_"})


@dataclass(frozen=True, slots=True)
class Learned:
    """A codebook: the method that follows it, its first moving average, and where the table is set from it.

    `table` is the attribute as it is written, without `.data`.
    """

    function: Function
    average: ast.AST
    setting: ast.AST
    table: str


def learned(model: Model, cls: Class) -> Learned | None:
    """How a class learns its codebook from this rank's batch alone; None where it does not.

    Args:
        model: the program.
        cls: a class of it.

    Returns:
        The first method that averages a buffer and sets another attribute from it, where no method of the class adds up
        over ranks.
    """
    buffers = _buffers(cls)
    if not buffers or any(_over_ranks(model, each) for each in cls.methods.values()):
        return None
    for function in cls.methods.values():
        averages = {
            name: node
            for node in own_nodes(function)
            if (name := _averaged(model, function, node)) in buffers
        }
        if averages:
            setting = _set_from(function, averages)
            if setting is not None:
                first = min(averages.values(), key=_line)
                return Learned(function, first, *setting)
    return None


def _buffers(cls: Class) -> frozenset[str]:
    """The buffers of a class, its parameters that want no gradient, and what it is handed as `buffers` and keeps.

    FunCodec 3435d87 funcodec/modules/quantization/ddp_core_vq.py: `self.cluster_size, self.embed = buffers` in
    `forward(x, buffers)`, where the layer around it holds those of all its codebooks.
    """
    found: set[str] = set()
    for node in walk(cls.node):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=kept)], value=ast.Name(id="buffers")):
                found.update(map(_bare, kept))
            case ast.Call(
                func=ast.Attribute(attr="register_buffer"), args=[ast.Constant(value=str(name)), *_]
            ):
                found.add(f"self.{name}")
            case ast.Assign(targets=[target], value=ast.Call(func=func, keywords=keywords)) if (
                last_name(func) == "Parameter"
                and any(k.arg == "requires_grad" and is_false(k.value) for k in keywords)
            ):
                found.update(target_names(target))
    return frozenset(found)


def _over_ranks(model: Model, function: Function) -> bool:
    """Whether a method, or a function of its file that it calls, names something that adds up or gathers over ranks."""
    for node in own_nodes(function):
        if isinstance(node, ast.Call):
            if _OVER_RANKS.search(last_name(node.func)):
                return True
            meaning = model.resolve(function.module, node.func)
            # Elsewhere it may be a check of its own: WavTokenizer's `broadcast_tensors()` adds up how many there are.
            if _is_beside(meaning, function) and any(
                isinstance(n, ast.Call) and _OVER_RANKS.search(last_name(n.func))
                for n in own_nodes(meaning)
            ):
                return True
    return False


def _is_beside(meaning: Definition | None, function: Function) -> TypeGuard[Function]:
    return isinstance(meaning, Function) and meaning.module is function.module


def _averaged(model: Model, function: Function, node: ast.AST) -> str:
    """The attribute of self of which a node sets a moving average: `self.n.data.mul_(d).add_(counts, alpha=1 - d)`."""
    match node:
        case ast.Call(
            func=ast.Attribute(
                attr="add_", value=ast.Call(func=ast.Attribute(attr="mul_", value=held))
            )
        ):
            return _bare(held)
        case ast.Call(func=ast.Attribute(attr="lerp_", value=held)):
            return _bare(held)
        case ast.Assign(targets=[target], value=ast.BinOp(left=left, op=ast.Add(), right=right)):
            name = _bare(target)
            scaled = [side for side in (left, right) if _scales(side, name)]
            return name if len(scaled) == 1 else ""
        case ast.Call(func=func, args=[held, _, *_]):
            meaning = model.resolve(function.module, func)
            if isinstance(meaning, Function) and _averages_first(model, meaning):
                return _bare(held)
    return ""


def _averages_first(model: Model, function: Function) -> bool:
    """Whether a function sets a moving average of its first argument in place."""
    first = function.parameters[0] if function.parameters else ""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and _averaged(model, function, node) == first
        for node in own_nodes(function)
    )


def _scales(node: ast.expr, held: str) -> bool:
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mult)
        and held in {_bare(node.left), _bare(node.right)}
    )


def _set_from(function: Function, averages: dict[str, ast.AST]) -> tuple[ast.AST, str] | None:
    """Where a function sets an attribute from averages behind them, and which one."""
    tainted = set(averages)
    nodes = sorted((n for n in own_nodes(function) if hasattr(n, "lineno")), key=_line)
    for node in nodes:
        for target, value in _given(node):
            if not any(_bare(n) in tainted for n in walk(value) if isinstance(n, ast.expr)):
                continue
            name = _bare(target)
            if isinstance(target, ast.Name):
                tainted.add(name)
            elif name.startswith("self.") and name not in averages:
                return node, name
    return None


def _given(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a node sets, and to what."""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((target, value) for target in targets)
        case ast.Call(func=ast.Attribute(attr=attr, value=held), args=[value, *_]) if (
            attr in _COPIES
        ):
            yield held, value


def _bare(node: ast.expr) -> str:
    """An expression as written, without `.data`."""
    if isinstance(node, ast.Attribute) and node.attr == "data":
        node = node.value
    return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else ""


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)
