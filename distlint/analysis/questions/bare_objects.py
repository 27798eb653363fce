"""Objects whose constructor was given what keeps it from wrapping: what is called on them alone meets the bare model."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class
from distlint.analysis.program.handed import argument_of, namings
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, default_of, literals
from distlint.analysis.questions.origins import Origin, origins
from distlint.nodes import COMPARISONS

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import AttributeSite, CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function

_DEPTH: Final = 3
"""So many methods call one another on the same object."""


def read_of_bare_objects(live: LiveProgram, wrap: CallSite | None, site: AttributeSite) -> bool:
    """Whether a constructor wraps, and the method that reads is only called on objects that were made without.

    EMA-VFI 75b6f6a Trainer.py:60: `hr_inference()` is called on `Model(-1)`, and the constructor wraps under
    `if local_rank != -1`.

    Args:
        live: the program.
        wrap: the call that wraps.
        site: the read.
    """
    if wrap is None or wrap.function.name != "__init__":
        return False
    method = _method_around(site.function)
    conditions = tuple(part for g in wrap.guards for part in literals(g.node, g.taken))
    return (
        method is not None
        and any(_asked(wrap.function, part) for part, _ in conditions)
        and _called_on_bare(live, method, wrap.function, conditions, _DEPTH)
    )


def _method_around(function: Function) -> Function | None:
    """The method that a function is, or is defined in."""
    return next(
        (
            each
            for each in function.outward()
            if each.cls and each.cls.methods.get(each.name) is each
        ),
        None,
    )


def _called_on_bare(
    live: LiveProgram,
    method: Function,
    constructor: Function,
    conditions: tuple[tuple[ast.expr, bool], ...],
    depth: int,
) -> bool:
    """Whether each call of a method is of an object that the constructor left bare, or in such a method of its own."""
    named = namings(live.program, method.name)
    if named.others or not named.calls or not depth:
        return False
    for user, call in named.calls:
        match call.func:
            case ast.Attribute(value=ast.Name(id="self")) if (
                caller := _method_around(user)
            ) is not None:
                if not _called_on_bare(live, caller, constructor, conditions, depth - 1):
                    return False
            case ast.Attribute(value=receiver):
                if not all(
                    made is not None and _is_bare(live, made, method, constructor, conditions)
                    for made in origins(live, user, receiver)
                ):
                    return False
            case _:
                return False
    return True


def _is_bare(
    live: LiveProgram,
    made: Origin,
    method: Function,
    constructor: Function,
    conditions: tuple[tuple[ast.expr, bool], ...],
) -> bool:
    """Whether what makes an object gives its constructor a constant with which a condition of the wrap does not hold.

    SGM-VFI 40b5e74 benchmark/Xiph.py:82: an object of another class has a method of that name of its own.
    """
    if not isinstance(made.meaning, Class):
        return False
    called = live.program.find_method(made.meaning, method.name)
    if called is not method:
        return called is not None
    return live.program.find_method(made.meaning, "__init__") is constructor and any(
        (holds := _answer(made.call, constructor, part)) is not None and holds is not wanted
        for part, wanted in conditions
    )


def _answer(call: ast.Call, constructor: Function, part: ast.expr) -> bool | None:
    """How a condition on a parameter comes out where a call gives it a constant, or leaves it at one; None for others."""
    name = _asked(constructor, part)
    if not name or any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    given = argument_of(call, constructor, name) or default_of(constructor, name)
    try:
        value = ast.literal_eval(given) if given is not None else None
        match part:
            case ast.Compare(ops=[op], comparators=[right]) if given is not None:
                return bool(COMPARISONS[type(op)](value, ast.literal_eval(right)))
    except (KeyError, TypeError, ValueError):
        return None
    return bool(value) if given is not None else None


@remembered
def _asked(constructor: Function, part: ast.expr) -> str:
    """The parameter that a condition asks for alone, where the constructor does not change it; empty for others."""
    match part:
        case ast.Name(id=name) | ast.Compare(left=ast.Name(id=name), ops=[_]):
            if name in constructor.parameters and name not in assignments(constructor):
                return name
    return ""
