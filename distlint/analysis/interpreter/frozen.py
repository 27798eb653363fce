"""Whether a model that goes into `prepare()` has no parameter that requires grad, by syntax.

The functions that build such a model ask nothing of the rank and call no collective, so no run follows
them: what they return is read from their last statement.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.program.definitions import Class, Function, dotted_name
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import assignments
from distlint.knowledge import wrappers
from distlint.nodes import children, walk

_NEUTRAL: Final = frozenset({
    "bfloat16", "compile", "cpu", "cuda", "disable_gradient_checkpointing",
    "enable_gradient_checkpointing", "enable_xformers_memory_efficient_attention", "eval", "float",
    "gradient_checkpointing_enable", "half", "load_state_dict", "parameters", "requires_grad_",
    "state_dict", "to", "train",
})  # fmt: skip
"""Methods that make no parameter trainable; those of requires_grad are read more closely."""
_LOOKS: Final = frozenset({"hasattr", "isinstance", "print", "type"})
_DEPTH: Final = 3


@remembered
def is_frozen(program: Program, function: Function, model: ast.expr) -> bool:
    """Whether every parameter of `model` was frozen before this expression, and none thawed."""
    path = dotted_name(model)
    return bool(path) and _is_frozen(program, function, path, model.lineno, _DEPTH)


def _is_frozen(program: Program, function: Function, path: str, end: int, depth: int) -> bool:
    since, value, index = 0, None, None
    certain = set(_straight(function.body))
    frozen = False
    for statement in walk(function.node):
        line = getattr(statement, "end_lineno", 0)
        if not isinstance(statement, ast.stmt) or not since <= line < end:
            continue
        if _freezes(program, function, statement, path):
            if statement in certain:
                since, frozen, value = line, True, None
        elif isinstance(statement, ast.Assign):
            if _same_object(statement.value, path) and not _ends_frozen(statement.value):
                continue
            for target in statement.targets:
                parts = target.elts if isinstance(target, ast.Tuple) else [target]
                for position, part in enumerate(parts):
                    if dotted_name(part) == path:
                        since, frozen, value = line, False, statement.value
                        index = position if part is not target else None
                        if _ends_frozen(value) and statement in certain:
                            frozen, value = True, None
    if value is not None and depth:
        frozen = _returns_frozen(program, function, value, index, depth - 1)
    return frozen and not _may_thaw(program, function, path, since, end)


def _straight(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that always run: those of a `with` too."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            yield from _straight(statement.body)


def _freezes(
    program: Program, function: Function, statement: ast.stmt, path: str, depth: int = _DEPTH
) -> bool:
    """Whether a statement freezes all of a model: itself, in a loop over several, or by a function of the project."""
    match statement:
        case ast.Expr(value=ast.Call() as call):
            return (_ends_frozen(call) and _root(call) == path) or (
                depth > 0 and _hands_to_freezing(program, function, call, path, depth - 1)
            )
        case ast.For(
            target=ast.Name(id=name),
            iter=ast.Call(func=ast.Attribute(value=model, attr="parameters")),
            body=[inner],
        ) if dotted_name(model) == path:
            return ast.unparse(inner) in (
                f"{name}.requires_grad = False",
                f"{name}.requires_grad_(False)",
                f"{name}.detach_()",
            )
        case ast.For(iter=ast.List() | ast.Tuple() as models) if _holds(models, path):
            return _freezes_each(program, function, statement, depth)
    return False


def _freezes_each(program: Program, function: Function, loop: ast.For, depth: int) -> bool:
    """Whether a loop over models freezes each: what asks whether there is one leaves none out."""
    if not isinstance(loop.target, ast.Name):
        return False
    name = loop.target.id
    body = [
        inner
        for statement in loop.body
        for inner in (
            statement.body
            if isinstance(statement, ast.If)
            and ast.unparse(statement.test) in (name, f"{name} is not None")
            else [statement]
        )
    ]
    return any(_freezes(program, function, inner, name, depth) for inner in _straight(body))


def _hands_to_freezing(
    program: Program, function: Function, call: ast.Call, path: str, depth: int
) -> bool:
    """Whether a call hands a model to a function of the project that freezes it, by itself or among others.

    MotionDirector 0146a50 MotionDirector_train.py:564: `freeze_models([vae, text_encoder, unet])`.
    """
    given = [arg.value if isinstance(arg, ast.Starred) else arg for arg in call.args]
    given += [keyword.value for keyword in call.keywords]
    if not any(dotted_name(each) == path or _holds(each, path) for each in given):
        return False
    called = program.resolve_dotted(function.module, dotted_name(call.func))
    if not isinstance(called, Function):
        return False
    return any(
        _freezes(program, called, statement, name, depth)
        if dotted_name(argument) == path
        else isinstance(statement, ast.For)
        and dotted_name(statement.iter) == name
        and _freezes_each(program, called, statement, depth)
        for name in called.parameters
        if (argument := argument_of(call, called, name)) is not None
        and (dotted_name(argument) == path or _holds(argument, path))
        for statement in _straight(called.body)
    )


def _holds(models: ast.expr, path: str) -> bool:
    return isinstance(models, ast.List | ast.Tuple) and any(
        dotted_name(each) == path for each in models.elts
    )


def _ends_frozen(value: ast.expr) -> bool:
    """Whether a chain of calls freezes the object that it gives: `build().requires_grad_(False).eval()`."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr == "requires_grad_":
            given = [*value.args, *(k.value for k in value.keywords)]
            return len(given) == 1 and isinstance(given[0], ast.Constant) and not given[0].value
        if value.func.attr not in _NEUTRAL:
            return False
        value = value.func.value
    return False


def _root(value: ast.expr) -> str:
    """The path at the head of a chain of neutral calls."""
    while (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in _NEUTRAL
    ):
        value = value.func.value
    return dotted_name(value)


def _same_object(value: ast.expr, path: str) -> bool:
    """`model = model.to(device)`."""
    return isinstance(value, ast.Call) and _root(value) == path


def _returns_frozen(
    program: Program, function: Function, value: ast.expr, index: int | None, depth: int
) -> bool:
    """Whether a value is what a function of the project froze and returns, or a copy that its class froze."""
    if not isinstance(value, ast.Call):
        return False
    maker = program.resolve_dotted(function.module, dotted_name(value.func))
    match maker:
        case Class():
            return index is None and _keeps_frozen(program, maker, depth)
        case str():
            flag = wrappers.FROZEN_COPIES.get(maker)
            return flag is not None and any(
                k.arg == flag and isinstance(k.value, ast.Constant) and k.value.value is False
                for k in value.keywords
            )
    if not isinstance(maker, Function):
        return False
    returns = [n.value for n in walk(maker.node) if isinstance(n, ast.Return)]
    if len(returns) != 1 or returns[0] is None:
        return False
    given = returns[0]
    if index is not None:
        if not isinstance(given, ast.Tuple) or index >= len(given.elts):
            return False
        given = given.elts[index]
    path = dotted_name(given)
    return _ends_frozen(given) or (
        bool(path) and _is_frozen(program, maker, path, given.lineno, depth)
    )


def _keeps_frozen(program: Program, cls: Class, depth: int) -> bool:
    """Whether all that the objects of a module class keep of a model is a copy that the constructor froze: an average
    of the weights."""
    init = cls.methods.get("__init__")
    own, outside = program.mro(cls)
    if init is None or len(own) > 1 or any(base != "torch.nn.Module" for base in outside):
        return False
    end = (init.body[-1].end_lineno or 0) + 1
    kept = {name: values for name, values in assignments(init).items() if name.startswith("self.")}
    frozen = {name for name in kept if _is_frozen(program, init, name, end, depth)}
    others = [value for name in kept.keys() - frozen for value in kept[name]]
    models = {
        node.id
        for name in frozen
        for value in kept[name]
        for node in walk(value)
        if isinstance(node, ast.Name)
    }
    return bool(frozen) and not any(
        isinstance(value, ast.Call) or dotted_name(value) in models for value in others
    )


def _may_thaw(program: Program, function: Function, path: str, start: int, end: int) -> bool:
    """Whether a parameter may become trainable between two lines: adapters, a part, unknown code."""
    for statement in walk(function.node):
        if not isinstance(statement, ast.stmt) or statement.lineno <= start:
            continue
        if (statement.end_lineno or end) >= end or _freezes(program, function, statement, path):
            continue
        parents = {id(c): p for p in walk(statement) for c in children(p)}
        for node in walk(statement):
            if (
                isinstance(node, (ast.Name, ast.Attribute))
                and isinstance(node.ctx, ast.Load)
                and dotted_name(node) == path
                and _thaws(node, parents, statement)
            ):
                return True
    return False


def _thaws(node: ast.AST, parents: dict[int, ast.AST], statement: ast.stmt) -> bool:
    match parents.get(id(node)):
        case ast.Attribute() as member:
            called = parents.get(id(member))
            is_method = isinstance(called, ast.Call) and called.func is member
            if is_method and member.attr not in _NEUTRAL:
                return True
            return "requires_grad" in ast.unparse(statement)
        case ast.Call(func=func):
            return dotted_name(func) not in _LOOKS
        case ast.Return():
            return False
    return True
