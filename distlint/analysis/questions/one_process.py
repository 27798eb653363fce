"""Functions that only ever run in one process, although what they call is made for several."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.syntax import assignments, default_of, own_nodes

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram

_SIZES: Final = frozenset({"dp", "tp", "pp", "cp", "ep", "sp"})
_REPLICAS: Final = frozenset({"dp", "data_parallel_size"})
_SIZE_ENDS: Final = ("_parallel_size", "_parallelism_size", "_model_parallel_size")


def alone(live: LiveProgram) -> frozenset[Function]:
    """The functions that set up one process, that call one which does, or are launched in one.

    Conversion scripts and tests build the parallel layout of a trainer with all sizes 1 (nanotron
    examples/llama: `ParallelContext(data_parallel_size=1, …)`, `init_distributed(tp=1, dp=1)(f)`).
    """
    found: set[Function] = set()
    launched: dict[Function, bool] = {}
    calls: dict[Function, set[Function]] = {}
    for function in _functions(live):
        for node in own_nodes(function):
            if not isinstance(node, ast.Call):
                continue
            callee = live.resolve(function.module, node.func)
            if isinstance(callee, Function):
                calls.setdefault(callee, set()).add(function)
            sizes = _sizes(live, function, node)
            if sizes and set(sizes) == {1} and not _starts_others(function, node):
                found.add(function)
            for worker, single in _launched(live, function, node):
                launched[worker] = launched.get(worker, True) and single
    _callers_of(found, calls)
    return frozenset(found | {worker for worker, single in launched.items() if single})


def _functions(live: LiveProgram) -> Iterator[Function]:
    for module in live.program.modules.values():
        yield module.body
        yield from module.all_functions


def _callers_of(found: set[Function], calls: dict[Function, set[Function]]) -> None:
    """Add what calls one of them: the process is the same, before the call and after."""
    work = list(found)
    while work:
        for caller in calls.get(work.pop(), ()):
            if caller not in found and not caller.is_module_body:
                found.add(caller)
                work.append(caller)


def _launched(
    live: LiveProgram, function: Function, node: ast.Call
) -> Iterator[tuple[Function, bool]]:
    """`launch(tp=1, dp=1)(worker)`: the worker, and whether all sizes are 1."""
    if isinstance(node.func, ast.Call):
        sizes = _sizes(live, function, node.func)
        for argument in node.args:
            worker = live.resolve(function.module, argument)
            if sizes and isinstance(worker, Function):
                yield worker, set(sizes) == {1}


def _starts_others(function: Function, node: ast.Call) -> bool:
    """Whether a call with sizes gives a launcher, which is called in its turn."""
    return any(isinstance(n, ast.Call) and n.func is node for n in own_nodes(function))


def _sizes(live: LiveProgram, function: Function, node: ast.Call) -> list[object]:
    """The sizes of a parallel layout that a call names; what is not known is None.

    None at all where the number of replicas is not among them: that is what the launcher decides.
    """
    named = {k.arg: k for k in node.keywords if k.arg is not None}
    if named.keys().isdisjoint(_REPLICAS):
        return []
    sizes = [k for name, k in named.items() if name in _SIZES or name.endswith(_SIZE_ENDS)]
    return [_number(live, function, k) for k in sizes] if len(sizes) > 1 else []


def _number(live: LiveProgram, function: Function, keyword: ast.keyword) -> object:
    match keyword.value:
        case ast.Constant(value=value):
            return value
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            # `config.dp`, where `config = make_config()` leaves `dp` at its default.
            match assignments(function).get(name, ()):
                case [ast.Call(func=made, args=[], keywords=[])]:
                    maker = live.resolve(function.module, made)
                    given = default_of(maker, attr) if isinstance(maker, Function) else None
                    return given.value if isinstance(given, ast.Constant) else None
    return None
