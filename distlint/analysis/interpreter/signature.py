"""What a definition says of calls: its parameters with their defaults, and decorators that keep ranks out."""

from __future__ import annotations

import ast

from distlint.analysis.interpreter.admission import own_admission
from distlint.analysis.interpreter.frame import Frame
from distlint.analysis.interpreter.values import (
    Closure,
    Value,
    constant,
)
from distlint.analysis.program.definitions import Class, Definition, Function, dotted_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.program import Program
from distlint.knowledge import ranks
from distlint.nodes import walk

_CONFIGURED = ("configurable", "capture")
"""Decorators by which a file of settings gives parameters what a call leaves out (gin-config 0.5.0 gin/config.py:1596;
sacred 0.8.7 sacred/ingredient.py:119): generative-recommenders 2e81fab generative_recommenders/dlrm_v3/checkpoint.py:72."""


@remembered
def _sets_globals(function: Function) -> bool:
    return any(walk(function.node, ast.Global))


def deciding_decorator(frame: Frame, function: Function) -> tuple[ast.expr, Value, str] | None:
    """The decorator that lets a function run on some ranks only.

    Returns:
        The decorator, whether it lets this rank in, and whom it lets in.
    """
    for decorator in function.decorators:
        dotted = dotted_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if not dotted:
            continue
        meaning = _meant(frame.summaries.program, function, dotted)
        last = dotted.rpartition(".")[2]
        if isinstance(meaning, str) and meaning in ranks.DECORATORS:
            return _admits(frame, decorator, ranks.DECORATORS[meaning], meaning)
        if isinstance(meaning, Function) and _sets_globals(meaning):
            # speechbrain 1.1.2 speechbrain/utils/distributed.py: inside, barriers do nothing.
            return None
        if (meaning is None or isinstance(meaning, Function)) and last in ranks.ANY_DECORATORS:
            return _admits(frame, decorator, ranks.ANY_DECORATORS[last], last)
        if isinstance(meaning, Function) and (own := own_admission(meaning, decorator)) is not None:
            return _admits(frame, decorator, *own)
    return None


def _meant(program: Program, function: Function, dotted: str) -> Definition | None:
    """What a decorator is: a name of the file, or of the class that the function stands in."""
    meaning = program.resolve_dotted(function.module, dotted)
    head, _, last = dotted.rpartition(".")
    cls = program.resolve_dotted(function.module, head) if head else function.cls
    if meaning is None and isinstance(cls, Class):
        return program.find_method(cls, last)
    return meaning


def _admits(
    frame: Frame, decorator: ast.expr, kind: str, name: str
) -> tuple[ast.expr, Value, str] | None:
    """Whether a decorator of the tables lets this rank in; None where the rank it names is not known."""
    keyword = ranks.DECORATOR_RANKS.get(name)
    wanted = _rank_given(decorator, keyword) if keyword is not None else None
    if keyword is not None and wanted is None:
        return None
    asked = frame.rank_value(kind, decorator, f"`@{ast.unparse(decorator)}`")
    if wanted is None:
        return decorator, asked, "the main process"
    admits = asked.replace(const=asked.const == wanted, key=("admits", id(decorator)))
    return decorator, admits, f"{kind.replace('_', ' ')} {wanted}"


def _rank_given(decorator: ast.expr, keyword: str) -> int | None:
    """The rank that a decorator names; None where it is not a number in the code."""
    for given in decorator.keywords if isinstance(decorator, ast.Call) else ():
        if given.arg == keyword and isinstance(given.value, ast.Constant):
            value = given.value.value
            return value if isinstance(value, int) else None
    return None


def takes(function: Function, keywords: dict[str, Value]) -> bool:
    """Whether a function has parameters for the keywords of a call; a decorator may change what it takes."""
    if function.decorators or isinstance(function.node, ast.Module):
        return True
    spec = function.node.args
    return spec.kwarg is not None or keywords.keys() <= {
        a.arg for a in (*spec.args, *spec.kwonlyargs)
    }


def has_places(function: Function, receiver: Value | None, args: list[Value]) -> bool:
    """Whether a function has places for the positional arguments of a call; a decorator may change what it takes."""
    if function.decorators or isinstance(function.node, ast.Module):
        return True
    names, _, _ = _parameters(function)
    bound = receiver is not None and function.cls is not None
    return function.node.args.vararg is not None or len(args) + bound <= len(names)


def bind(
    function: Function,
    receiver: Value | None,
    args: list[Value],
    keywords: dict[str, Value],
    *,
    complete: bool = True,
) -> dict[str, Value]:
    """Arguments by parameter name; defaults that are constants are filled in where these are all arguments.

    Of more arguments than there are places for, those by keyword alone are bound: the call raises TypeError, or a decorator takes some.
    VideoX-Fun 804a425 scripts/qwenimage_instantx/train_control.py:1677: one too many, so that the model would be `args`.
    """
    if function.is_module_body:
        return {}
    names, by_keyword, defaults = _parameters(function)
    named = {name: value for name, value in keywords.items() if name in by_keyword}
    bound: dict[str, Value] = {}
    takes_self = function.cls is not None and not function.has_decorator("staticmethod")
    if takes_self and names and receiver is not None:
        args = [receiver, *args]
    if len(args) > len(names) and function.node.args.vararg is None:  # type: ignore[union-attr]
        return named
    bound.update(zip(names, args, strict=False))
    bound.update(named)
    if complete:
        bound = {**defaults, **bound}
    return bound


def certain(call: ast.Call, args: list[Value]) -> list[Value]:
    """The arguments of a call whose places are certain: those in front of the first `*spread`."""
    spread = (n for n, argument in enumerate(call.args) if isinstance(argument, ast.Starred))
    return args[: next(spread, len(args))]


@remembered
def _parameters(function: Function) -> tuple[list[str], frozenset[str], dict[str, Value]]:
    """The positional parameters of a function, those that keywords may name, and constant defaults."""
    spec: ast.arguments = function.node.args  # type: ignore[union-attr]
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    keywords = [a.arg for a in spec.kwonlyargs]
    defaults = dict(zip(reversed(names), reversed(spec.defaults), strict=False))
    defaults.update(
        {name: d for name, d in zip(keywords, spec.kw_defaults, strict=True) if d is not None}
    )
    if function.has_decorator(*_CONFIGURED):
        defaults = {}
    constants: dict[str, Value] = {}
    for name, default in defaults.items():
        match default:
            case ast.Constant(value=value):
                constants[name] = constant(value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                constants[name] = constant(-number)
            case ast.Tuple(elts=[*parts]) if all(isinstance(p, ast.Constant) for p in parts):
                # World-Model-Latent-Planning utils/distributed.py: `rank_and_world_size=(None, None)`
                items = tuple(constant(p.value) for p in parts if isinstance(p, ast.Constant))
                key = ("display", tuple(item.key for item in items))
                constants[name] = Value(key, tuple(item.const for item in items), items=items)
    return names, frozenset((*names[len(spec.posonlyargs) :], *keywords)), constants


def with_bound(
    closure: Closure, args: list[Value], keywords: dict[str, Value]
) -> tuple[list[Value], dict[str, Value]]:
    """The arguments of a call with those that `functools.partial` has bound."""
    if not closure.args and not closure.keywords:
        return args, keywords
    return [*closure.args, *args], {**dict(closure.keywords), **keywords}
