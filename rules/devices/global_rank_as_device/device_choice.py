"""How the number of a device is written: as an index, in a text, in a list, as a device; by syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.knowledge.devices import DEVICE_TYPES
from distlint.nodes import walk
from distlint.records import dataclass

_STEPS: Final = 6


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """A device that an expression chooses by number.

    `node` is where the number becomes a device (a variable's value, where the device is one);
    `index` is where the number comes from, through variables that are assigned once; `modulo`
    where it is taken modulo something on the way.
    """

    node: ast.expr
    index: ast.expr
    modulo: bool


def chosen_by(function: Function, node: ast.expr) -> Chosen | None:
    """The device that an expression of a function chooses by number; None where it is none.

    Args:
        function: where the expression stands.
        node: an argument that takes a device: `rank`, `[rank]`, `f"cuda:{rank}"`,
            `torch.device("cuda", rank)`, `{"": rank}`, or a variable that holds one.
    """
    place, modulo = node, False
    for _ in range(_STEPS):
        inner = _inside(node)
        if inner is not None:
            modulo |= (
                isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and not _text(node)
            )
            node = inner
            continue
        value = _value(function, node)
        if value is None:
            return Chosen(place, node, modulo)
        if _inside(value) is not None and _makes_device(value) and isinstance(place, ast.Name):
            place = value
        node = value
    return None


def same_choice(function: Function, chosen: Chosen) -> Iterator[Chosen]:
    """The devices of a function that are chosen by the same number as `chosen`, as they are written.

    Where no rank is seen to come by: Emu 13c395e Emu1/mm_eval/__init__.py:58, `set_device(dist.get_rank())` below
    `if not dist.is_initialized()`; and in an expression that is not followed (contrastors 613ddfd
    src/contrastors/eval/imagenet/imagenet.py:134).
    """
    written = ast.unparse(chosen.index)
    if isinstance(chosen.index, ast.Name) or written in assignments(function):
        return  # it may hold another number there
    for device in written_devices(function):
        other = chosen_by(function, device)
        if (
            other is not None
            and other.modulo is chosen.modulo
            and ast.unparse(other.index) == written
        ):
            yield other


def written_devices(function: Function) -> Iterator[ast.expr]:
    """What stands where a function wants a device, by the names of calls and arguments alone."""
    for node in own_nodes(function, ast.Call, ast.keyword, ast.JoinedStr):
        match node:
            case ast.Call(func=ast.Attribute(attr="set_device" | "cuda" | "to"), args=[device, *_]):
                yield device
            case ast.keyword(arg="device_ids" | "output_device" | "map_location", value=device):
                yield device
            case ast.JoinedStr(values=[ast.Constant(value=str() as text), _]) if _is_type(text):
                yield node


def _inside(node: ast.expr) -> ast.expr | None:
    """The number inside one layer of a device's notation; None where there is no layer."""
    match node:
        case ast.List(elts=[inner]) | ast.Tuple(elts=[inner]):
            return inner
        case ast.Dict(values=[inner]):
            return inner
        case ast.Call(func=ast.Name(id="int" | "str"), args=[inner]):
            return inner if not _reads_environment(inner) else None
        case ast.Call(func=ast.Attribute(attr="device") | ast.Name(id="device"), args=args):
            return args[-1] if args else None
        case ast.Call(func=ast.Attribute(attr="format", value=ast.Constant()), args=[*_, inner]):
            return inner
        case ast.JoinedStr(
            values=[ast.Constant(value=str(prefix)), ast.FormattedValue(value=inner)]
        ):
            return inner if _is_type(prefix) else None
        case ast.JoinedStr(values=[*_, ast.Constant(value=":"), ast.FormattedValue(value=inner)]):
            return inner
        case ast.BinOp(left=left, op=ast.Add(), right=inner) if _text(node):
            return inner if isinstance(left, ast.Constant) else None
        case ast.BinOp(left=left, op=ast.Mod(), right=right):
            return right if _text(node) else left
    return None


def _text(node: ast.BinOp) -> bool:
    return isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)


def _is_type(text: str) -> bool:
    return text.partition(":")[0] in DEVICE_TYPES


def _reads_environment(node: ast.expr) -> bool:
    return "environ" in ast.unparse(node) or "getenv" in ast.unparse(node)


def _makes_device(node: ast.expr) -> bool:
    return any(isinstance(n.value, str) and _is_type(n.value) for n in walk(node, ast.Constant))


def _value(function: Function, node: ast.expr) -> ast.expr | None:
    """What a variable was assigned, once; in the function, else at the top level of the file."""
    if not isinstance(node, ast.Name):
        return None
    own = assignments(function).get(node.id)
    values = own or assignments(function.module.body).get(node.id, [])
    return values[0] if len(values) == 1 else None
