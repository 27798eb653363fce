"""What is drawn for nobody: variables that no one reads, here or where a function has returned them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.program.handed import calls_of, namings
from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function


def is_dropped(model: Model, function: Function, call: ast.Call) -> bool:
    """Whether what a call gives is kept in a variable that is returned alone, among others, to callers that never read it.

    GongBU e923e45 backend/backend/tuner/finetune_script.py:334: `train_data, val_data, _a, _b = get_dataset(…)`.
    """
    if function.is_module_body:
        return False
    for node in own_nodes(function, ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call:
                places = dict(_returned(function, name))
                return all(id(n) in places for n in _reads(function, name)) and all(
                    _is_left(model, function, place) for place in set(places.values())
                )
    return False


def _returned(function: Function, name: str) -> Iterator[tuple[int, int]]:
    """The nodes that name a variable in a tuple that a function returns, by their identity, each with its place."""
    for node in own_nodes(function, ast.Return):
        if isinstance(node.value, ast.Tuple):
            for place, each in enumerate(node.value.elts):
                if isinstance(each, ast.Name) and each.id == name:
                    yield id(each), place


def _is_left(model: Model, function: Function, place: int) -> bool:
    """Whether all callers of a function unpack what it returns, and read none of one place."""
    calls = calls_of(model.program, function)
    return (
        bool(calls)
        and not namings(model.program, function.name).others
        and all(_unread(user, call, place) for user, call in calls)
    )


def _unread(user: Function, call: ast.Call, place: int) -> bool:
    for node in own_nodes(user, ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=elts)], value=value) if value is call:
                kept = elts[place] if place < len(elts) else None
                starred = any(isinstance(each, ast.Starred) for each in elts)
                return (
                    isinstance(kept, ast.Name)
                    and not starred
                    and not user.is_module_body
                    and not any(_reads(user, kept.id))
                )
    return False


def _reads(function: Function, name: str) -> Iterator[ast.Name]:
    return (
        node
        for node in walk(function.node, ast.Name)
        if node.id == name and isinstance(node.ctx, ast.Load)
    )
