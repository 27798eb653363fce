"""Process groups of one member: who makes one waits for nobody."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.syntax import assignments
from distlint.analysis.questions.launched import numbers_machines
from distlint.nodes import last_name

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.traces.divergence import Divergence

_START: Final = "torch.distributed.init_process_group"
_SIZE: Final = 3
"""The position of `world_size` (torch 2.13.0 torch/distributed/distributed_c10d.py)."""


def makes_group_of_one(divergence: Divergence) -> bool:
    """Whether what waits is the start of a process group whose size is 1 by the arguments of the calls that lead there, or
    that has one process of each machine.

    torchrec a48cef7 torchrec/distributed/tests/test_mc_embedding.py:463: `with MultiProcessContext(rank, 1, backend, 1)`
    on rank 0, whose `__enter__` passes `self.world_size` on.
    """
    site = divergence.event.site
    if site is None or site.name != _START:
        return False
    if numbers_machines(site.node):
        # MindSpeed 028de58 mindspeed/auto_settings/auto_settings.py:65, behind the return of all others of the machine.
        return True
    size = site.argument_node(None, "world_size") or site.argument_node(_SIZE)
    callers = (divergence.function, *(call.summary.function for call in divergence.chain))
    calls = tuple(zip((call.node for call in divergence.chain), callers, strict=False))
    return _is_one(size, site.function, calls[::-1])


def _is_one(
    size: ast.expr | None, function: Function, calls: Sequence[tuple[ast.AST, Function]]
) -> bool:
    """Whether an expression of a function is 1, by what the calls that lead there pass, the innermost first."""
    if isinstance(size, ast.Constant):
        return type(size.value) is int and size.value == 1
    if not calls:
        return False
    call, caller = calls[0]
    if not isinstance(call, ast.Call):
        return False
    called, name = _parameter(size, function, call)
    return called is not None and _is_one(argument_of(call, called, name), caller, calls[1:])


def _parameter(
    size: ast.expr | None, function: Function, call: ast.Call
) -> tuple[Function | None, str]:
    """The parameter of a function that an expression is, or that of its class's constructor; no function for others."""
    match size:
        case ast.Name(id=name) if name in function.parameters and name not in assignments(function):
            return function, name
        # `with Group(rank, 1):` leads to `__enter__`, and the object holds what it was made with.
        case ast.Attribute(value=ast.Name(id="self"), attr=attr) if (
            function.cls is not None and last_name(call) == function.cls.name
        ):
            init = function.cls.methods.get("__init__")
            if init is not None and function.cls.self_assigned.get(attr) == [init]:
                match assignments(init).get(f"self.{attr}", []):
                    case [ast.Name() as kept]:
                        return _parameter(kept, init, call)
    return None, ""
