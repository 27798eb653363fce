"""Who uses a tensor behind the call that has started its transfer."""

from __future__ import annotations

import ast
import enum
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.syntax import assignments, own_nodes, storage_of, target_names
from distlint.nodes import children, last_name, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.program.definitions import Function

_FORM: Final = frozenset(
    {"shape", "dtype", "device", "size", "numel", "dim", "record_stream", "requires_grad"}
)
"""What is asked of a tensor or told to it and reads none of its numbers (torch 2.13.0 torch/_tensor_docs.py)."""

_REORDER: Final = frozenset({"transpose", "permute", "movedim", "swapaxes"})
"""Views with other strides, of which `contiguous()` makes a copy."""


_FILLS: Final = frozenset({"irecv", "recv", "broadcast", "all_reduce", "reduce"})
"""What writes into the tensor that it is given first (torch 2.13.0 torch/distributed/distributed_c10d.py)."""


class Use(enum.Enum):
    """Who reads a tensor, or writes it again, while nothing has waited for it."""

    READ = "the function itself"
    OF_OTHERS = "whoever else knows it"
    NONE = "nobody"


def is_own_copy(site: CallSite) -> bool:
    """Whether a tensor is made for the call that sends it: a part that is copied, or what an operation gives.

    SeedVR 673b563 models/video_vae_v3/modules/context_parallel_lib.py:154: `tensor[-1][:, :, -size:].detach().contiguous()`.
    Pyramid-Flow 3040d71 video_vae/context_parallel_ops.py:103: the last rows of what was transposed.
    """
    sent = site.node.args[0] if site.node.args else None
    match sent:
        case ast.Call(func=ast.Attribute(attr="clone")):
            return True
        case ast.Call(func=ast.Attribute(attr="contiguous", value=of)):
            while isinstance(of, ast.Call) and isinstance(of.func, ast.Attribute):
                of = of.func.value
            return isinstance(of, ast.Subscript) and (
                isinstance(of.slice, ast.Tuple) or _is_transposed(site, of.value)
            )
    return False


def is_only_read(site: CallSite) -> bool:
    """Whether a function sends what it has a variable of its own for, and writes nothing into that: it gives it other values.

    MindSpeed 028de58 mindspeed/core/tensor_parallel/tp_2d/linear_2d_split_along_first_dim.py:292: what is received is cloned.
    """
    match site.node.args[:1]:
        case [ast.Name(id=name)] if name not in site.function.parameters:
            pass
        case _:
            return False
    function = site.function
    return name in assignments(function) and not any(
        _writes(node, name) for node in own_nodes(function)
    )


def _writes(node: ast.AST, name: str) -> bool:
    """Whether something writes into a tensor: `x += y`, `x[0] = y`, `x.zero_()`, `irecv(x)`, `add(y, z, out=x)`."""
    match node:
        case ast.AugAssign(target=target):
            return name in {n.id for n in walk(target, ast.Name)}
        case ast.Assign(targets=targets):
            return any(
                isinstance(target, ast.Subscript) and last_name(target.value) == name
                for target in targets
            )
        case ast.Call(func=ast.Attribute(value=owner, attr=attr)) if attr.endswith("_"):
            return last_name(owner) == name
        case ast.Call(func=func, args=args, keywords=keywords):
            filled = [k.value for k in keywords if k.arg == "out"]
            if last_name(func) in _FILLS:
                filled += args
            return any(last_name(each) == name for each in filled)
    return False


def _is_transposed(site: CallSite, tensor: ast.expr) -> bool:
    """Whether a variable holds another order of axes where a call stands: no rows of it lie behind one another."""
    if not isinstance(tensor, ast.Name):
        return False
    given = [
        value
        for value in assignments(site.function).get(tensor.id, ())
        if value.lineno < site.node.lineno
    ]
    last = max(given, key=lambda value: value.lineno, default=None)
    return isinstance(last, ast.Call) and last_name(last.func) in _REORDER


def use_behind(site: CallSite) -> Use:
    """Who uses the tensor of an asynchronous call behind it.

    VocabularyParallelism 6191c3b megatron/core/pipeline_parallel/vocab_parallel_schedule.py: line 248 broadcasts what it
    has just made, and forgets it; line 822 reduces a tensor that no function around reads.
    """
    if not site.node.args:
        return Use.OF_OTHERS
    tensor = storage_of(site.node.args[0])
    match tensor:
        case ast.Name(id=name):
            pass
        case ast.Attribute() | ast.Subscript():
            return Use.OF_OTHERS
        case _:
            return Use.NONE  # made for the call: nobody else has a name for it
    function = site.function
    reads = [n for n in _reads(function, name) if n is not tensor]
    stores = [
        n for n in _named(function, name) if not isinstance(n.ctx, ast.Load) and n not in reads
    ]
    behind = getattr(site.statement, "end_lineno", 0)
    if any(n.lineno > behind or _comes_again(function, site.statement, n, stores) for n in reads):
        return Use.READ
    if stores and name not in function.parameters and not _is_an_element(function, name):
        return Use.NONE
    if name in function.parameters or stores:
        return Use.OF_OTHERS
    around = [each for each in function.outward() if each is not function]
    of_whom = next((each for each in around if _named(each, name)), None)
    if of_whom is None or of_whom.is_module_body or name in of_whom.parameters:
        return Use.OF_OTHERS
    is_read = any(n is not tensor for n in _reads_in(of_whom.node, name))
    return Use.OF_OTHERS if is_read else Use.NONE


def _comes_again(
    function: Function, statement: ast.stmt, read: ast.Name, stores: list[ast.Name]
) -> bool:
    """Whether the next turn of a loop reads what a call has left, which no turn makes anew."""
    for loop in own_nodes(function, ast.For, ast.While):
        inside = set(walk(loop))
        if statement in inside and read in inside:
            return inside.isdisjoint(stores)
    return False


def _is_an_element(function: Function, name: str) -> bool:
    """Whether a name stands for what somebody else's collection holds, or for what is read off an object."""
    for node in own_nodes(function, ast.For, ast.comprehension, ast.Assign):
        match node:
            case ast.For(target=target) | ast.comprehension(target=target) if name in target_names(
                target
            ):
                return True
            case ast.Assign(targets=targets, value=ast.Name() | ast.Attribute() | ast.Subscript()):
                if any(name in target_names(target) for target in targets):
                    return True
    return False


def _named(function: Function, name: str) -> list[ast.Name]:
    return [n for n in own_nodes(function, ast.Name) if n.id == name]


def _reads(function: Function, name: str) -> list[ast.Name]:
    return [n for statement in function.body for n in _reads_in(statement, name)]


def _reads_in(node: ast.AST, name: str) -> Iterator[ast.Name]:
    """Where a name is read below a node: not asked for the tensor's form, nor given to a collective to be filled.

    `x += y` reads and writes what `x` was.
    """
    for part in walk(node):
        for child in children(part):
            if not isinstance(child, ast.Name) or child.id != name:
                continue
            if not isinstance(child.ctx, ast.Load) and not isinstance(part, ast.AugAssign):
                continue
            match part:
                case ast.Attribute(attr=attr) if attr in _FORM:
                    continue
                case ast.Call(args=[first, *_], keywords=keywords) if first is child and any(
                    keyword.arg == "async_op" for keyword in keywords
                ):
                    continue
            yield child
