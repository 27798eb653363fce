"""Lists that are as long as another one: made of it element by element, whoever makes them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.program.program import Program

_LEAVES: Final = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom)
_DEPTH: Final = 2
_PASS_ON: Final = frozenset({"no_grad", "inference_mode"})
"""Decorators that give back what the function does."""


@remembered
def as_long_as(program: Program, function: Function, name: str) -> str:
    """The list, as written, whose length a variable has whichever of its assignments was made; empty where they differ.

    TorchEasyRec 54cac31 tzrec/modules/sid/residual_vector_quantizer.py:227: on rank 0 what a function has appended to once
    for each of `self.n_embed_list`, on the others a comprehension over the same.
    """
    made = assignments(function).get(name, ())
    measures = {_measure(program, function, name, value, _DEPTH) for value in made}
    found = measures.pop() if len(made) > 1 and len(measures) == 1 else ""
    return found if len(assignments(function).get(found, ())) <= 1 else ""


def _measure(program: Program, function: Function, name: str, value: ast.AST, depth: int) -> str:
    """The list that a value has an element for each element of; empty where none is seen."""
    match value:
        case (
            ast.ListComp(generators=[ast.comprehension(iter=source, ifs=[])])
            | ast.Call(
                func=ast.Name(id="list" | "tuple"),
                args=[ast.GeneratorExp(generators=[ast.comprehension(iter=source, ifs=[])])],
            )
            | ast.Call(
                func=ast.Name(id="list" | "tuple"),
                args=[ast.Call(func=ast.Name(id="map"), args=[_, source])],
            )
        ):
            return _counted(source)
        case ast.List(elts=[]):
            return _filled_by(function, name)
        case ast.Call() if depth:
            callee = program.resolve_dotted(function.module, dotted_name(value.func))
            if isinstance(callee, Function) and all(
                last_name(each) in _PASS_ON for each in callee.decorators
            ):
                return _given_back(program, callee, value, depth - 1)
    return ""


def _given_back(program: Program, callee: Function, call: ast.Call, depth: int) -> str:
    """The argument of a call for each element of which the function that is called gives one back."""
    returns = [node for node in own_nodes(callee) if isinstance(node, ast.Return)]
    match returns:
        case [ast.Return(value=ast.Name(id=kept))]:
            made = assignments(callee).get(kept, [])
            measure = _measure(program, callee, kept, made[0], depth) if len(made) == 1 else ""
        case [ast.Return(value=ast.expr() as value)]:
            measure = _measure(program, callee, "", value, depth)
        case _:
            return ""
    if measure not in callee.parameters or measure in assignments(callee):
        return ""
    given = argument_of(call, callee, measure)
    return ast.unparse(given) if given is not None else ""


def _filled_by(function: Function, name: str) -> str:
    """What a function goes over to append to a list once in each turn, where it does nothing else to it."""
    touched = [
        node
        for node in own_nodes(function)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == name
    ]
    loops = [
        node
        for node in own_nodes(function)
        if isinstance(node, ast.For) and any(_appends(each, name) for each in node.body)
    ]
    if len(touched) != 1 or len(loops) != 1 or any(isinstance(n, _LEAVES) for n in walk(loops[0])):
        return ""
    return _counted(loops[0].iter)


def _appends(statement: ast.stmt, name: str) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr="append"))):
            return ast.unparse(owner) == name
    return False


def _counted(source: ast.expr) -> str:
    """What an iteration goes over, as written: `enumerate(x)` has as many turns as `x`."""
    match source:
        case ast.Call(args=[counted]) if last_name(source) == "enumerate":
            return _counted(counted)
        case ast.Name() | ast.Attribute():
            return ast.unparse(source)
    return ""
