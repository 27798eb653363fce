"""Code for an option that no part of the program sets: a parameter which every call leaves at its default, a flag
that is assigned nothing else, or an option that a check at the start refuses on several processes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Function, dotted_name, last_name
from distlint.analysis.program.handed import argument_of, calls_of, means_another
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.places import functions_at
from distlint.analysis.program.syntax import assignments, default_of, own_nodes
from distlint.analysis.questions.constant_flags import NO_CONSTANT, constant_flag
from distlint.analysis.questions.fixed_options import fixed_option
from distlint.analysis.questions.leftover import (
    is_looked_up,
    is_plain,
    led_to_by_scripts,
    started_by_scripts,
)
from distlint.analysis.questions.refused_options import refused_options
from distlint.nodes import COMPARISONS, walk

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.program.program import Program

_UNKNOWN: Final = NO_CONSTANT
_MAX_CALLERS: Final = 4
_ASKS_KIND: Final = frozenset({"isinstance", "issubclass", "super", "type"})


def is_for_unset_option(live: LiveProgram, module: Module, line: int) -> bool:
    """Whether a line runs only where a parameter has another value than its default, and no call gives it one.

    Asked of scripts and of what they alone import: whoever takes a library may set what he likes.

    MeMOTR 7de13f4 models/runtime_tracker.py:98: `if self.visualize:`, False in the constructor, as it is in that of the
    one that makes the object, whom nobody tells otherwise.
    """
    around = functions_at(module, line)
    if not led_to_by_scripts(live, module):
        return bool(refused_options(live.program)) and any(
            _is_for_refused_value(live.program, function, line) for function in around
        )
    # What finds a function by a name that is made may call it with anything, and sets no flag.
    depth = _MAX_CALLERS if started_by_scripts(live, module) else 0
    return any(
        _holds(_never_run(live.program, function, depth), line)
        or is_for_refused(live.program, function)
        for function in around
    )


def is_unset_in_program(live: LiveProgram, module: Module, line: int) -> bool:
    """Whether the program's own calls never come to a line, by what they leave at its default.

    Asked of what runs below a script: whoever takes the file from elsewhere does not run it.

    OmniTokenizer 701b619 OmniTokenizer/lm_transformer.py:149: `if self.training and self.pkeep < 1.0`, 1.0 in the
    constructor, to which transformer_train.py hands no other.
    """
    return not is_looked_up(live, module) and any(
        _holds(_never_run(live.program, function, _MAX_CALLERS), line)
        for function in functions_at(module, line)
    )


def _is_for_refused_value(program: Program, function: Function, line: int) -> bool:
    """Whether a line of a function runs only with a value that one caller passes, under an option that is refused.

    proxylessnas bf58b5c yolox/evaluators/voc_evaluator.py:88, `if trt_file is not None:`, of which tools/eval.py has one
    below `assert not is_distributed`, and the training passes none.
    """
    values = {
        name
        for user, call in calls_of(program, function)
        for name in function.parameters
        if isinstance(given := argument_of(call, function, name), ast.Name)
        and _left(program, user, given.id) is not _UNKNOWN
    }
    for node in own_nodes(function) if values else ():
        if isinstance(node, ast.If) and any(
            part.id in values for part in walk(node.test, ast.Name)
        ):
            holds = settled(program, function, node.test)
            other = node.orelse if holds else node.body
            if holds is not _UNKNOWN and any(
                each.lineno <= line <= (each.end_lineno or each.lineno) for each in other
            ):
                return True
    return False


@remembered
def is_for_refused(
    program: Program, function: Function, by_one: frozenset[ast.Call] = frozenset()
) -> bool:
    """Whether calls of a function stand under options that are refused on several processes, and no others do.

    Args:
        by_one: calls that one rank makes, if any of several does.
    """
    if not refused_options(program) or function.is_module_body or function.decorators:
        return False
    return not _is_handed_on(program, function) and _is_for_refused(program, function, by_one, ())


def _is_for_refused(
    program: Program, function: Function, by_one: frozenset[ast.Call], below: tuple[Function, ...]
) -> bool:
    callers = [
        (user, call)
        for user, call in calls_of(program, function)
        if call not in by_one and user not in below
    ]
    return bool(callers) and all(
        _holds(_never_run(program, user, 0), call.lineno)
        or (
            len(below) < _MAX_CALLERS
            and not user.is_module_body
            and not _is_handed_on(program, user)
            and _is_for_refused(program, user, by_one, (*below, function))
        )
        for user, call in callers
    )


def _holds(parts: Iterable[tuple[int, int]], line: int) -> bool:
    return any(first <= line <= last for first, last in parts)


@remembered
def _never_run(program: Program, function: Function, depth: int) -> tuple[tuple[int, int], ...]:
    """The first and last lines of the parts of a function that no call of the program comes to."""
    return tuple(_parts(program, function, function.body, depth))


def _parts(
    program: Program, function: Function, block: list[ast.stmt], depth: int
) -> Iterator[tuple[int, int]]:
    for number, statement in enumerate(block):
        if isinstance(statement, ast.If):
            holds = settled(program, function, statement.test, depth)
            if holds is not _UNKNOWN:
                taken, other = statement.body, statement.orelse
                if not holds:
                    taken, other = other, taken
                if other:
                    yield other[0].lineno, other[-1].end_lineno or other[-1].lineno
                rest = block[number + 1 :]
                if rest and taken and isinstance(taken[-1], ast.Return | ast.Raise):
                    yield rest[0].lineno, rest[-1].end_lineno or rest[-1].lineno
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                yield from _parts(program, function, getattr(statement, name, []), depth)


def is_settled(program: Program, function: Function, node: ast.expr, value: object) -> bool:
    """Whether an expression has one value in every call that the program makes of a function, and it is this one."""
    found = settled(program, function, node)
    return found is not _UNKNOWN and type(found) is type(value) and found == value


def settled(
    program: Program, function: Function, node: ast.expr, depth: int = _MAX_CALLERS
) -> object:
    """The constant that an expression comes out as in every call that the program makes of a function.

    Only what depends on a parameter that each call leaves at its default or gives one constant counts, or on an attribute
    that is one constant.

    Args:
        depth: how many calls are gone back for a parameter; with 0 attributes alone count.
    """
    match node:
        case ast.Name(id=name):
            value = _given(program, function, name, depth)
            return _left(program, function, name) if value is _UNKNOWN and depth else value
        case ast.Attribute(value=ast.Name(id="self") as receiver, attr=attr):
            value = _kept(program, function, attr, depth)
            if value is not _UNKNOWN:
                return value
            return constant_flag(program, function, receiver, attr)
        case ast.Attribute(value=receiver, attr=attr):
            if (last_name(receiver), attr) in refused_options(program):
                return False
            fixed = fixed_option(program, function.module, node)
            return constant_flag(program, function, receiver, attr) if fixed is None else fixed
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            value = settled(program, function, operand, depth)
            return _UNKNOWN if value is _UNKNOWN else not value
        case ast.BoolOp(op=op, values=values):
            known = [settled(program, function, each, depth) for each in values]
            decides = isinstance(op, ast.Or)
            if any(each is not _UNKNOWN and bool(each) is decides for each in known):
                return decides
            return _UNKNOWN if _UNKNOWN in known else not decides
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=right)]):
            value, compare = settled(program, function, left, depth), COMPARISONS.get(type(op))
            if value is _UNKNOWN or compare is None:
                return _UNKNOWN
            try:
                return compare(value, right)
            except TypeError:
                return _UNKNOWN
    return _UNKNOWN


@remembered
def _given(program: Program, function: Function, name: str, depth: int) -> object:
    """The constant that a parameter is in every call.

    research-contributions 21ed8e5 DAE/Pretrain_full_contrast/main_runner.py:137: `build_loader(args, is_pretrain=True)` alone.
    """
    default = default_of(function, name)
    if (
        name not in function.parameters
        or not isinstance(default, ast.Constant | None)
        or name in _stored(function)
        or not all(map(is_plain, function.decorators))
        or depth == 0
    ):
        return _UNKNOWN
    callers = calls_of(program, function)
    if not callers or _is_handed_on(program, function):
        return _UNKNOWN
    found: object = default.value if default is not None else _UNKNOWN
    for user, call in callers:
        if any(isinstance(each, ast.Starred) for each in call.args) or any(
            keyword.arg is None for keyword in call.keywords
        ):
            return _UNKNOWN
        argument = argument_of(call, function, name)
        match argument:
            case None:
                value: object = default.value if default is not None else _UNKNOWN
            case ast.Constant():
                value = argument.value
            case _:
                value = settled(program, user, argument, depth - 1)
        if found is _UNKNOWN:
            found = value
        if value is _UNKNOWN or type(value) is not type(found) or value != found:
            return _UNKNOWN
    return found


@remembered
def _left(program: Program, function: Function, name: str) -> object:
    """The constant that a variable is where options of which each is refused do not lead.

    YOLOX tools/eval.py: `trt_file` is a path below `if args.trt: assert not is_distributed and …`, else None.
    """
    made = [
        node
        for node in own_nodes(function, ast.Assign)
        if any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]
    if name in function.parameters or not 1 < len(made) == len(assignments(function).get(name, ())):
        return _UNKNOWN
    never = _never_run(program, function, 0)
    match [each.value for each in made if not _holds(never, each.lineno)]:
        case [ast.Constant(value=value)]:
            return value
    return _UNKNOWN


@remembered
def _stored(function: Function) -> frozenset[str]:
    """The names that a function itself gives a value."""
    return frozenset(
        node.id for node in own_nodes(function, ast.Name) if not isinstance(node.ctx, ast.Load)
    )


@remembered
def _kept(program: Program, function: Function, attr: str, depth: int) -> object:
    """The constant that the constructor puts into an attribute which nothing else sets."""
    method = next((each for each in function.outward() if each.cls is not None), None)
    if method is None or method.cls is None:
        return _UNKNOWN
    own, _ = program.mro(method.cls)
    related = [*own, *program.subclasses(method.cls)]
    makers = [maker for cls in dict.fromkeys(related) for maker in cls.self_assigned.get(attr, ())]
    if len(makers) != 1 or makers[0].name != "__init__" or is_set_from_outside(program, attr):
        return _UNKNOWN
    match assignments(makers[0]).get(f"self.{attr}", []):
        case [value]:
            return settled(program, makers[0], value, depth)
    return _UNKNOWN


@remembered
def is_set_from_outside(program: Program, attr: str) -> bool:
    """Whether the program sets an attribute of this name of something else than `self`, or by a text."""
    return any(
        _sets_from_outside(module, attr)
        for module in program.modules.values()
        if attr in module.source.text
    )


@remembered
def _sets_from_outside(module: Module, attr: str) -> bool:
    name = re.escape(attr)
    word = rf"(?<!\bself)\.{name}\s*(?::[^=\n]+)?(?:[-+*/|&%]|//|\*\*)?=(?!=)|setattr\([^\n]*[\"']{name}[\"']"
    return re.search(word, module.source.text) is not None


def _is_handed_on(program: Program, function: Function) -> bool:
    """Whether something gets the function, or its class, and may call it with what it likes."""
    cls = function.cls if function.name == "__init__" else None
    name = function.name if cls is None else cls.name
    return any(
        cls is None or not means_another(program, cls, module, dotted)
        for module in program.modules.values()
        if name in module.source.text
        for dotted in _names_handed_on(module).get(name, ())
    )


@remembered
def _names_handed_on(module: Module) -> dict[str, frozenset[str]]:
    """What a file hands to calls, keeps in containers, gives back or has other names for: each last name, and its dotted ones."""
    found: list[ast.expr | None] = []
    for node in walk(
        module.source.tree,
        ast.Call,
        ast.Dict,
        ast.List,
        ast.Tuple,
        ast.Assign,
        ast.Return,
        ast.Lambda,
        ast.IfExp,
    ):
        match node:
            case ast.Call(func=func, args=args, keywords=keywords):
                if last_name(func) not in _ASKS_KIND:
                    found += [*args, *(keyword.value for keyword in keywords)]
            case ast.Dict(values=values) | ast.List(elts=values) | ast.Tuple(elts=values):
                found += values
            case ast.Assign(value=value) | ast.Return(value=value) | ast.Lambda(body=value):
                found.append(value)
            case ast.IfExp(body=body, orelse=orelse):
                found += [body, orelse]
    dotted: dict[str, set[str]] = {}
    for each in found:
        if isinstance(each, ast.Name | ast.Attribute):
            dotted.setdefault(last_name(each), set()).add(dotted_name(each))
    return {name: frozenset(ways) for name, ways in dotted.items()}
