"""Globals that a function, or the top of a file, sets on rank 0 alone, called in functions to which the other ranks come as well."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ranks import MAIN, NODE_MAIN
from distlint.analysis.program.environment import blocks, evaluated_here
from distlint.analysis.program.syntax import assignments, mentions_rank, own_nodes
from distlint.nodes import walk

from .unbound import catches_name_error

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

_FEW: Final = frozenset({MAIN, NODE_MAIN})


def globals_of_main(model: Model, module: Module) -> Iterator[tuple[Function, ast.Name, ast.stmt]]:
    """The first call in each function by such a name, on other ranks too, with what sets it on rank 0.

    NExpR 9bae2fd train_ddp.py:80: `log(…)` below `if config.get("checkpoint")`, which `main()` has set `if rank == 0:`.
    """
    made = {
        **(_set_on_main(model, module) if "global " in module.source.text else {}),
        **_set_at_the_top(model, module),
    }
    for function in module.all_functions if made else ():
        done = {name for name in made if _is_own(function, name)}
        for block in blocks(function.body):
            for statement in block:
                for name in _called(statement, made.keys() - done):
                    if _others_come(model, block, name.id):
                        done.add(name.id)
                        yield function, name, made[name.id]


def _called(statement: ast.stmt, names: Set[str]) -> list[ast.Name]:
    """The names that a statement calls itself, or whose methods: each once."""
    found: dict[str, ast.Name] = {}
    for node in evaluated_here(statement):
        match node:
            case (
                ast.Call(func=ast.Name() as name)
                | ast.Call(func=ast.Attribute(value=ast.Name() as name))
            ) if name.id in names:
                found.setdefault(name.id, name)
    return list(found.values())


def _others_come(model: Model, block: list[ast.stmt], name: str) -> bool:
    """Whether other ranks than rank 0 come to a block, by what is called there, and nobody asks for the rank or the name."""
    calls = (model.call_at(n) for s in block for n in evaluated_here(s))
    groups = [group for group in calls if group is not None]
    return bool(groups) and all(
        not group.classes <= _FEW
        and model.joint_entry_at(group) is not None
        and not _is_asked_for(group.site, name)
        for group in groups
    )


def _set_on_main(model: Model, module: Module) -> dict[str, ast.stmt]:
    """The globals that nothing in a file sets but on rank 0, each with the first assignment."""
    found: dict[str, list[tuple[Function, ast.stmt | None]]] = {}
    for function in module.all_functions:
        if function.is_module_body:
            continue
        declared = {name for node in own_nodes(function, ast.Global) for name in node.names}
        for node in own_nodes(function, ast.Name) if declared else ():
            if node.id in declared and not isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append((function, _on_main(model, function, node)))
    top = {
        *assignments(module.body),
        *module.imports,
        *(node.id for node in own_nodes(module.body, ast.Name) if isinstance(node.ctx, ast.Store)),
        *module.classes,
        *module.functions,
    }
    return {
        name: first
        for name, places in found.items()
        if name not in top
        and not module.star_imports
        and all(statement is not None for _, statement in places)
        and (first := places[0][1]) is not None
    }


def _set_at_the_top(model: Model, module: Module) -> dict[str, ast.stmt]:
    """The names that the top of a file sets on rank 0 alone, and that nothing else in it sets.

    UWNR d0dc0b1 train_ddp.py:46: `if opt.local_rank == 0: writer = SummaryWriter(…)`, and `writer.close()` of all at the end
    of `train()`.
    """
    found: dict[str, ast.stmt] = {}
    for test in own_nodes(module.body, ast.If):
        for statement in test.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name) as target]) if name not in found:
                    if _on_main(model, module.body, target) is statement:
                        found[name] = statement
    if not found:
        return found
    stores = [n.id for n in walk(module.source.tree, ast.Name) if isinstance(n.ctx, ast.Store)]
    shared = {name for node in walk(module.source.tree, ast.Global) for name in node.names}
    taken = {*module.imports, *module.classes, *module.functions, *shared}
    return {n: s for n, s in found.items() if n not in taken and stores.count(n) == 1}


def _on_main(model: Model, function: Function, node: ast.Name) -> ast.stmt | None:
    """The assignment to a name in a branch of a function that rank 0 alone enters, by what is called there."""
    for test in own_nodes(function, ast.If):
        for statement in test.body:
            if isinstance(statement, ast.Assign) and any(
                part is node for target in statement.targets for part in walk(target, ast.Name)
            ):
                calls = (model.call_at(n) for each in test.body for n in walk(each, ast.Call))
                groups = [group for group in calls if group is not None]
                if groups and all(g.classes <= _FEW and not g.entered_by <= _FEW for g in groups):
                    return statement
    return None


def _is_own(function: Function, name: str) -> bool:
    """Whether a name is a variable of the function, or of one around it."""
    return any(
        name in each.parameters or name in assignments(each)
        for each in function.outward()
        if not each.is_module_body
    )


def _is_asked_for(site: CallSite, name: str) -> bool:
    """Whether a condition around a call asks for the rank or the name, or its failure is caught."""
    return any(map(catches_name_error, site.tries)) or any(
        mentions_rank(guard.node) or any(n.id == name for n in walk(guard.node, ast.Name))
        for guard in site.guards
    )
