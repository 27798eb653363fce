"""What a plain test says of a variable in its arm: `x is None`, `if x`, `isinstance(x, DDP)`."""

from __future__ import annotations

import ast
from typing import Final

from distlint.analysis.interpreter.frame import Frame
from distlint.analysis.interpreter.values import (
    UNKNOWN,
    Variance,
    constant,
)
from distlint.analysis.program.definitions import Class, dotted_name, last_name
from distlint.analysis.program.syntax import literals
from distlint.knowledge import facts
from distlint.knowledge.ranks import ARGUMENT_NAMES
from distlint.knowledge.wrappers import WRAPPER_TESTS
from distlint.nodes import walk

_DATA_CLASSES: Final = frozenset(
    {"dict", "str", "list", "tuple", "set", "int", "float", "bytes", "Path", "pathlib.Path"}
)
_WRAPPER_TESTS: Final = frozenset(name.rpartition(".")[2] for name in WRAPPER_TESTS)


def narrow(frame: Frame, test: ast.expr, taken: bool) -> None:
    """What a plain test on a variable says of it in its arm: `x is None`, `if x`, `isinstance`."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            narrow(frame, operand, not taken)
        case ast.BoolOp(op=op, values=operands) if taken is isinstance(op, ast.And):
            for operand in operands:
                narrow(frame, operand, taken)
        case ast.Name(id=name) if taken:
            _not_none(frame, name)
        case ast.Compare(
            left=left,
            ops=[ast.Is() | ast.IsNot() as op],
            comparators=[ast.Constant(value=None)],
        ):
            path = dotted_name(left)
            if path and taken is isinstance(op, ast.Is):
                _none(frame, path)
            elif path:
                _not_none(frame, path)
        case ast.Call(func=ast.Name(id="hasattr"), args=[subject, ast.Constant(value="module")]):
            path = dotted_name(subject)
            if path and not taken:
                _bare(frame, path)
        case ast.Call(func=func, args=[subject, *_]) if (
            not taken
            and last_name(func) in _WRAPPER_TESTS
            and frame.evaluate(func).target in WRAPPER_TESTS
        ):
            # mmfewshot af4fad5 mmfewshot/detection/apis/test.py:172
            path = dotted_name(subject)
            if path:
                _bare(frame, path)
        case ast.Call(func=ast.Name(id="isinstance"), args=[subject, kinds]):
            path = dotted_name(subject)
            if taken:
                other = _names_data(kinds) or _names_classes(frame, kinds)
            else:
                other = _names_wrapper(kinds)
            if path and other:
                _bare(frame, path)


def insist(frame: Frame, test: ast.expr, taken: bool = True) -> None:
    """What a condition that else ends the program says of options from here on: `assert not opt.evolve`.

    yolov5 5081342 train.py:661: so asserted in front of `init_process_group()`, and `if not opt.evolve:` below.
    """
    for part, holds in literals(test, taken):
        path = dotted_name(part)
        owner = path.rpartition(".")[0].rpartition(".")[2]
        if owner not in ARGUMENT_NAMES:
            continue  # what is no option may change in any call
        value = frame.evaluate(part)
        if value.variance is not Variance.RANK_DEPENDENT and value.truthiness() is None:
            frame.variables.store(path, value.replace(truth=holds))


def use(frame: Frame, names: tuple[str, ...]) -> None:
    """Variables that a statement would fail with if they were None: from here on they are something."""
    for name in names:
        value = frame.variables.get(name)
        if value is not None and not value.known:
            _not_none(frame, name)


def _none(frame: Frame, path: str) -> None:
    """A variable is None here; where the arms meet again it is the same unknown as before."""
    known = frame.variables.get(path)
    none = constant(None)
    frame.variables.store(path, none if known is None else none.replace(key=known.key))


def _not_none(frame: Frame, path: str) -> None:
    """A variable is not None from here on; attributes may change in any call."""
    value = frame.variables.get(path)
    if value is None:
        return
    if value.known and value.const is None:
        value = value.replace(const=UNKNOWN)
        frame.variables.refine(path, value)
    if not value.known and not value.not_none and "." not in path:
        frame.variables.refine(path, value.replace(not_none=not frame.function.is_module_body))


def _names_wrapper(kinds: ast.expr) -> bool:
    names = [dotted_name(n).rpartition(".")[2] for n in walk(kinds, ast.Name, ast.Attribute)]
    return any(name in facts.WRAPPER_CLASS_NAMES for name in names)


def _names_data(kinds: ast.expr) -> bool:
    """Whether the classes asked for are none that a model could have: `isinstance(cfg, dict)`."""
    names = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
    return all(dotted_name(n) in _DATA_CLASSES for n in names)


def _names_classes(frame: Frame, kinds: ast.expr) -> bool:
    """Whether the classes asked for are the program's own, and none of them a wrapper of torch's.

    opacus 4d0ebc8 opacus/privacy_engine.py:183: `if isinstance(module, AbstractGradSampleModule): return module`.
    """
    names = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
    classes = [frame.evaluate(each).target for each in names]
    return bool(classes) and all(
        isinstance(cls, Class)
        and not any(
            base.rpartition(".")[2] in facts.WRAPPER_CLASS_NAMES
            for base in frame.summaries.program.mro(cls)[1]
        )
        for cls in classes
    )


def _bare(frame: Frame, path: str) -> None:
    """A variable holds a model without layers here."""
    value = frame.variables.get(path)
    if value is not None:
        frame.variables.refine(path, value.replace(wraps=()))
