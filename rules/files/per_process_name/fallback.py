"""Names that a process makes up only where it is given none, and those who call it give it one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.program.chosen import default_values
from distlint.analysis.program.handed import argument_of, callers_by_name
from distlint.analysis.program.syntax import asks_if_missing, own_nodes
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.values import Origin
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function


def is_never_needed(model: Model, origin: Origin) -> bool:
    """Whether what is made up stands in for a parameter for which all who call the function give something.

    KG_LM f838f97 KG_LM/trainer.py:99: `run_name or f"KG_LM_{datetime.now():%Y…}"`, and train.py:29 hands it
    `config.train_conf.run_name`, which a configuration says.
    """
    return any(
        _is_always_given(model, function, name)
        for function in origin.module.all_functions
        for name in _stood_in_for(function, origin.node)
    )


def _stood_in_for(function: Function, made: ast.AST) -> Iterator[str]:
    """The parameters in whose place something is made: `name or made()`, `made() if name is None else name`."""
    if not function.parameters:
        return
    for node in own_nodes(function, ast.BoolOp, ast.IfExp, ast.If):
        match node:
            case ast.BoolOp(op=ast.Or(), values=[ast.Name(id=name), *others]):
                arms: list[ast.AST] = [*others]
            case ast.IfExp(test=ast.Name(id=name), orelse=arm):
                arms = [arm]
            case (
                ast.IfExp(test=ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)))
                | ast.If(test=ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)))
            ):
                arms = [*node.body] if isinstance(node, ast.If) else [node.body]
            case (
                ast.IfExp(test=ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[right]))
                | ast.If(test=ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[right]))
            ) if asks_if_missing(op, right):
                arms = [*node.body] if isinstance(node, ast.If) else [node.body]
            case _:
                continue
        if name in function.parameters and any(made in walk(arm) for arm in arms):
            yield name


def _is_always_given(model: Model, function: Function, name: str) -> bool:
    given = [
        argument_of(call, function, name) for _, call in callers_by_name(model.program, function)
    ]
    return bool(given) and all(each is not None and _is_text(model, each) for each in given)


def _is_text(model: Model, given: ast.expr) -> bool:
    """Whether an argument is some text, as far as is seen: written down, or an option that nowhere is None by default."""
    match given:
        case ast.Constant(value=value):
            return bool(value)
        case ast.JoinedStr():
            return True
        case ast.Attribute(attr=option):
            return not any(
                name == option and (value is None or ast.unparse(value) in ("None", "''"))
                for module in model.program.modules.values()
                if option in module.source.text
                for name, value in default_values(module)
            )
    return False
