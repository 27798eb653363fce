"""Losses of a training that are logged as they are on one rank."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.environment import blocks
from distlint.analysis.program.syntax import own_nodes, target_names
from distlint.analysis.questions.replicated import engine_of, engines
from distlint.analysis.questions.reported import goes_to_own_file, reports
from distlint.analysis.questions.training import goes_backward, sent_backward
from distlint.knowledge.shares import SYNCHRONISES
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

_TELLS: Final = frozenset(
    {
        "info",
        "print",
        "write",
        "set_postfix",
        "print_on_main",
        "print_rank_0",
        "log_for_0",
        "set_description",
    }
)
"""What tells a person how far it is: reported where no tracker gets the number."""
_KEEPS: Final = re.compile(
    r"^(?:item|detach|float|cpu|numpy|mean|sum|tolist|clone|round|to|abs|type|data|get|avg|value|stack|tensor|cat|exp"
    r"|items|values|dict|compute|format|len|min|max|deque|list|tuple|div|log10|safe_div|append|extend)$"
)
"""Functions whose outcome is of the same rank as what they are given."""
_LOSS: Final = re.compile(r"loss", re.IGNORECASE)
_ON_THE_WAY: Final = re.compile(r"gather|reduce|sync|across|average_|all_", re.IGNORECASE)


def local_losses(model: Model) -> Iterator[tuple[Function, ast.Call, ast.expr, ast.AST]]:
    """Each log of a loss of this rank: the function, the call, the number, and what sends the loss backward."""
    if not model.answer(engines):
        return
    for module in model.modules:
        if "loss" in module.source.text or "backward" in module.source.text:
            for function in module.all_functions:
                if not function.is_module_body:
                    yield from _logged(model, function)


def _logged(
    model: Model, function: Function
) -> Iterator[tuple[Function, ast.Call, ast.expr, ast.AST]]:
    sent = [(n, root) for n in own_nodes(function) if (root := sent_backward(n)) is not None]
    losses = {name for _, root in sent for name in _losses(root)}
    steps = [] if sent else list(_steps(model, function))
    if not sent and not steps:
        return
    logs = list(reports(function))
    began = [*(node for node, _ in sent), *(call for call, _ in steps)]
    if not logs:
        return
    local = _local(function, losses, {name for _, names in steps for name in names})
    found = [
        (call, number.node)
        for call, numbers in logs
        for number in numbers
        if _holds(number.node, local) and not goes_to_own_file(model, function, call)
    ]
    if not found or engine_of(model, function) is None:
        return
    tracked = [pair for pair in found if last_name(pair[0]) not in _TELLS]
    for call, number in _once_a_block(function, tracked or found):
        yield function, call, number, began[0]


def _steps(model: Model, function: Function) -> Iterator[tuple[ast.Call, list[str]]]:
    """The calls that make a step of the training and give its losses back, with the variables that get them."""
    for node in own_nodes(function):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        group = model.call_at(node.value)
        callee = group.site.callee if group is not None else None
        if callee is None or not goes_backward(callee.node):
            continue
        if not any(_reduced(n) for n in own_nodes(callee)):
            names = [name for target in node.targets for name in _targets(target)]
            yield node.value, [name for name in names if _LOSS.search(name)]


def _losses(root: ast.expr) -> Iterator[str]:
    """The variables in what is sent backward, without the scaler that a method of is called."""
    owners = {
        id(n.func.value)
        for n in walk(root)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.args
    }
    for node in walk(root):
        if isinstance(node, ast.Name) and id(node) not in owners:
            yield node.id


def _local(function: Function, losses: set[str], given: set[str]) -> set[str]:
    """The variables and objects that hold a loss of this rank, through what keeps it that, and its terms."""
    nodes = own_nodes(function)
    assigned = [pair for node in nodes for pair in _writes(node)]
    begun = {name for name, _ in assigned}
    terms = {
        part.id
        for name, value in assigned
        if name in losses and isinstance(value, ast.BinOp)
        for part in walk(value)
        if isinstance(part, ast.Name) and _LOSS.search(part.id)
    }
    found = ((losses | terms) & begun) | given
    while True:
        more = {name for name, value in assigned if _holds(value, found)} - found
        if not more:
            break
        found |= more
    return found - {name for node in nodes for name in _reduced(node)}


def _writes(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What a node puts where: an assignment, or a call of a meter, list or dict."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from ((name, value) for name in _targets(target))
        case (
            ast.AugAssign(target=target, value=value)
            | ast.AnnAssign(target=target, value=ast.expr() as value)
        ):
            yield from ((name, value) for name in _targets(target))
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(attr="update" | "append" | "add", value=owner)
            ) as call
        ):
            name = dotted_name(owner)
            for value in (*call.args, *(k.value for k in call.keywords)):
                if name:
                    yield name, value


def _targets(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Subscript):
        target = target.value
    yield from target_names(target)


def _reduced(node: ast.AST) -> list[str]:
    """The variables and objects that a call puts together over the ranks."""
    if not (isinstance(node, ast.Call) and SYNCHRONISES.search(last_name(node))):
        return []
    given = [*node.args, *(k.value for k in node.keywords)]
    if isinstance(node.func, ast.Attribute):
        given.append(node.func.value)
    return [
        dotted_name(n) for g in given for n in walk(g) if isinstance(n, ast.Name | ast.Attribute)
    ]


def _holds(value: ast.expr, local: set[str]) -> bool:
    """Whether an expression is made of a loss of this rank, and of nothing that may be of all."""
    named = False
    for node in walk(value):
        if isinstance(node, ast.Call) and not _KEEPS.match(last_name(node)):
            return False
        if isinstance(node, ast.Name | ast.Attribute):
            if _ON_THE_WAY.search(last_name(node)):
                return False
            named = named or dotted_name(node) in local
    return named


def _once_a_block(
    function: Function, found: list[tuple[ast.Call, ast.expr]]
) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The first of the calls that stand in one block: each line of a log says the same."""
    of = {
        id(statement): number
        for number, block in enumerate(blocks(function.body))
        for statement in block
    }
    inside = {id(n): of[id(n)] for n in own_nodes(function) if id(n) in of}
    seen: set[int] = set()
    for call, number in found:
        holder = next(
            (
                inside[id(n)]
                for n in own_nodes(function)
                if isinstance(n, ast.Expr) and id(n) in inside and n.value is call
            ),
            id(call),
        )
        if holder not in seen:
            seen.add(holder)
            yield call, number
