"""Files and folders that the process which starts the ranks has made before there were any."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Function, last_name
from distlint.analysis.program.syntax import (
    assignments,
    own_nodes,
    own_parts,
    spawned_by,
    statements,
    target_names,
)
from distlint.analysis.questions.filesystem import FileCall, asked_paths
from distlint.analysis.questions.paths import Parts, bound, holds, object_of, parts_of
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram

_MAKES: Final = frozenset({"makedirs", "mkdir"})


def made_by_parent(live: LiveProgram, worker: Function, folder: Parts) -> bool:
    """Whether every call that spawns a function stands below one that makes a folder the function names.

    VoiceFlow-TTS a12597a train.py:247: `hps = tools.get_hparams()` has made `hps.model_dir`, and then `mp.spawn(run, …)`.
    """
    starts = list(spawned_by(worker))
    return bool(starts) and all(
        _is_made_above(live, parent, call, bound(folder, _handed(worker, parent, call)))
        for parent, call in starts
    )


def called_by_parent(live: LiveProgram, found: FileCall) -> bool:
    """Whether each process that starts the ranks makes the calls above that lead them to what is missing.

    PDPP e9fd98a train_mlp.py:137: `main()` builds both data sets, unless the file that their constructor writes is there; each
    rank builds them again.
    """
    entry = found.joint_entry
    site = entry.call if entry is not None and entry.call is not None else found.site
    worker, name = site.function, ast.unparse(site.node.func)
    starts = spawned_by(worker)
    if not starts or (
        site.callee is not None
        and {caller.function for caller in live.callers.get(site.callee, ())}
        - {worker, *(parent for parent, _ in starts)}
    ):
        return False
    # Of a function that asks for one file or another, each is made by another call.
    calls = [
        node
        for node in own_nodes(worker, ast.Call)
        if node is site.node or (site is not found.site and ast.unparse(node.func) == name)
    ]
    return all(
        any(
            made.lineno < start.lineno and _is_same(call, worker, made, parent, start)
            for made in _always_called(parent, name)
        )
        for parent, start in starts
        for call in calls
    )


def _always_called(parent: Function, name: str) -> Iterator[ast.Call]:
    """The calls of a name that a function makes, but for what it looks for among the files itself."""
    for statement, around in statements(parent.body, []):
        if all(map(asked_paths, around)):
            for node in own_parts(statement):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == name:
                    yield node


def _is_same(
    call: ast.Call, worker: Function, made: ast.Call, parent: Function, start: ast.Call
) -> bool:
    """Whether the parent of a process makes a call as the process does, with the same under each name."""
    if ast.unparse(call) != ast.unparse(made):
        return False
    names = {node.id for node in walk(call, ast.Name)}
    given = {name: ast.unparse(node) for name, node in _given(worker, start)}
    ours, theirs = assignments(worker), assignments(parent)
    return all(given.get(name) == name for name in names.intersection(worker.parameters)) and all(
        list(map(ast.unparse, ours[name])) == list(map(ast.unparse, theirs.get(name, ())))
        for name in names.intersection(ours)
    )


def _handed(worker: Function, parent: Function, call: ast.Call) -> dict[Hashable, Parts]:
    """The paths that a call which spawns a function gives for its parameters."""
    found: dict[Hashable, Parts] = {}
    for name, node in _given(worker, call):
        found["parameter", id(worker), name] = parts_of(node, parent)
        if (kept := object_of(node, parent)) is not None:
            found["object", id(worker), name] = (kept,)
    return found


def _given(worker: Function, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """What a call that spawns a function gives for its parameters, behind the number of the process."""
    given = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "args")]
    if len(given) == 1 and isinstance(given[0], ast.Tuple | ast.List):
        yield from zip(worker.parameters[1:], given[0].elts, strict=False)


def _is_made_above(live: LiveProgram, parent: Function, call: ast.Call, folder: Parts) -> bool:
    if any(
        node.lineno < call.lineno and holds(folder, path) for node, path in _folders_made_in(parent)
    ):
        return True
    match list(folder):
        case [("attribute", ("object", int(), str() as name), str() as attr)]:
            return _comes_with_folder(live, parent, name, attr)
    return False


def _comes_with_folder(live: LiveProgram, parent: Function, name: str, attr: str) -> bool:
    """Whether the function that returned an object has made the folder that it put into an attribute of it."""
    match [n for n in own_nodes(parent, ast.Assign) if _is_given(name, n)]:
        case [ast.Assign(targets=[target], value=ast.Call(func=called))]:
            maker = live.resolve(parent.module, called)
        case _:
            return False
    if not isinstance(maker, Function):
        return False
    made = [path for _, path in _folders_made_in(maker)]
    returned = [_part_of(node.value, target, name) for node in own_nodes(maker, ast.Return)]
    return bool(returned) and all(
        isinstance(value, ast.Name)
        and len(kept := list(assignments(maker).get(f"{value.id}.{attr}", ()))) == 1
        and any(holds(parts_of(kept[0], maker), path) for path in made)
        for value in returned
    )


def _is_given(name: str, assigned: ast.Assign) -> bool:
    return any(name in target_names(target) for target in assigned.targets)


def _part_of(value: ast.expr | None, target: ast.expr, name: str) -> ast.expr | None:
    """What of a returned value a name gets: `hps, args = parse()`."""
    match value, target:
        case ast.Tuple(elts=values), ast.Tuple(elts=names) if len(values) == len(names):
            return next(
                (v for v, n in zip(values, names, strict=True) if last_name(n) == name), None
            )
        case _, ast.Name():
            return value
    return None


def _folders_made_in(function: Function) -> Iterator[tuple[ast.Call, Parts]]:
    """The calls by which a function makes a folder on each way through it: under no test but whether it is there."""
    for statement in function.body:
        match statement:
            case ast.If(test=test, body=[*_, ast.Expr(value=ast.Call() as made)], orelse=[]):
                asked = [parts_of(path, function) for path in asked_paths(test)]
            case ast.Expr(value=ast.Call() as made):
                asked = []
            case _:
                continue
        match made:
            case ast.Call(func=ast.Attribute(value=owner)) if last_name(made.func) in _MAKES:
                # `path.mkdir()`, `os.mkdir(path)`: whose first argument is no mode.
                is_path = not made.args or isinstance(made.args[0], ast.Constant)
                path = parts_of(owner if is_path else made.args[0], function)
                if not asked or asked == [path]:
                    yield made, path
