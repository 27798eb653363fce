"""Devices that are chosen by a rank which spawned processes compute: `args.rank = args.rank * per_node + index`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Function, dotted_name
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.syntax import assignments, own_nodes, spawned_index
from distlint.nodes import walk

from .device_choice import chosen_by, written_devices
from .handed import Kept

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.program.program import Program

_STEPS: Final = 3
"""So many calls the settings are followed."""


def counted_ranks(program: Program, module: Module) -> Iterator[Kept]:
    """The devices that the ranks of all machines choose by a number which a spawned function of a file puts into its settings.

    research-contributions 21ed8e5 SwinUNETR/BTCV/trainer.py:36: `data.cuda(args.rank)`, and in main.py:115 `args.rank =
    args.rank * args.ngpus_per_node + gpu`.
    """
    if "spawn" not in module.source.text:
        return
    for function in module.all_functions:
        index = spawned_index(function)
        for asked, settings, attr in _counted(function, index) if index else ():
            for user, name in _handed(program, function, settings, _STEPS):
                after = asked.lineno if user is function else 0
                for device in written_devices(user):
                    chosen = chosen_by(user, device) if device.lineno > after else None
                    if (
                        chosen is not None
                        and not chosen.modulo
                        and dotted_name(chosen.index) == f"{name}.{attr}"
                        and user.module.source.reported
                    ):
                        yield Kept(chosen.index, asked, user, module)
                        break


def _counted(function: Function, index: str) -> Iterator[tuple[ast.stmt, str, str]]:
    """Where a function makes an attribute the rank among those of all machines: the statement, the object, the attribute.

    EgoVLPv2 550c059 EgoVLPv2/multinode_train_charades.py:93 adds to what another function has multiplied: `args.rank += gpu`.
    """
    for node in own_nodes(function, ast.Assign, ast.AugAssign):
        match node:
            case (
                ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id=settings), attr=attr)],
                    value=ast.BinOp(left=base, op=ast.Add(), right=own),
                )
                | ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id=settings), attr=attr)],
                    value=ast.BinOp(left=own, op=ast.Add(), right=base),
                )
            ) if dotted_name(own) == index and _multiplies(base):
                yield node, settings, attr
            case ast.AugAssign(
                target=ast.Attribute(value=ast.Name(id=settings), attr=attr),
                op=ast.Add(),
                value=own,
            ) if dotted_name(own) == index and any(
                _multiplies(base)
                for other in function.module.all_functions
                for base in assignments(other).get(f"{settings}.{attr}", ())
            ):
                yield node, settings, attr


def _multiplies(base: ast.expr) -> bool:
    """Whether a number counts the ranks of the machines before this one."""
    return any(isinstance(part.op, ast.Mult) for part in walk(base, ast.BinOp))


def _handed(
    program: Program, function: Function, settings: str, steps: int
) -> Iterator[tuple[Function, str]]:
    """The functions that get an object from one, itself or through others, each with what it is called there."""
    found = {(function, settings)}
    work = [(function, settings, steps)]
    while work:
        user, name, left = work.pop()
        yield user, name
        for call in own_nodes(user, ast.Call) if left else ():
            for callee, inner in _receivers(program, user, call, name):
                if (callee, inner) not in found:
                    found.add((callee, inner))
                    work.append((callee, inner, left - 1))


def _receivers(
    program: Program, user: Function, call: ast.Call, name: str
) -> Iterator[tuple[Function, str]]:
    """What a call hands an object to: a function, or the methods of what keeps it in an attribute of that name."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if not any(dotted_name(each) == name for each in given):
        return
    callee = program.resolve_dotted(user.module, dotted_name(call.func))
    if isinstance(callee, Function):
        for parameter in callee.parameters:
            handed = argument_of(call, callee, parameter)
            if handed is not None and dotted_name(handed) == name:
                yield callee, parameter
    elif isinstance(callee, Class):
        classes = program.mro(callee)[0]
        if any(
            _keeps(each.methods["__init__"], name) for each in classes if "__init__" in each.methods
        ):
            for each in classes:
                yield from ((method, f"self.{name}") for method in each.methods.values())


def _keeps(init: Function, name: str) -> bool:
    """Whether a constructor keeps a parameter in the attribute of its name: `self.args = args`."""
    return name in init.parameters and any(
        dotted_name(node.value) == name
        and any(dotted_name(target) == f"self.{name}" for target in node.targets)
        for node in own_nodes(init, ast.Assign)
    )
