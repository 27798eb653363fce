"""Whether a machine on which a checkpoint is missing fails, so that nobody begins anew there."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.environment import blocks_of
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.syntax import (
    assignments,
    ends_run,
    literals,
    own_nodes,
    target_names,
)
from distlint.analysis.questions.caught import is_caught
from distlint.analysis.questions.filesystem import asked_paths
from distlint.analysis.questions.paths import holds, parts_of
from distlint.knowledge.conventions import BACKWARD
from distlint.nodes import walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from distlint.analysis.interpreter.ir import CallSite, Guard
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

_EVALUATES: Final = pattern(
    r"_*(?:test|eval|evaluate|evaluation|validate|infer|inference|predict)(?:_|$)"
)
_TRAINS: Final = pattern(r"optim|backward|^train(?!ing$)|^fit$|^resume")
_CALLERS: Final = 4


def fails_without(function: Function, guard: Guard) -> bool:
    """Whether a rank without the file fails, and with it the job.

    InternVideo 3965eef InternVideo2/multi_modality/tasks/shared_utils.py:126: `else:` … `assert config.pretrained_path == ""`.
    unsupervised-video-interpolation 55161c4 train.py:244: `if args.resume and isfile(args.resume):` … `elif args.resume: exit(1)`.
    """
    for node in own_nodes(function):
        if isinstance(node, ast.Assert) and node.test is guard.node:
            return True
        if isinstance(node, ast.If) and node.test is guard.node:
            arm = node.orelse if guard.taken else node.body
            return bool(arm) and (
                _ends_where_asked(arm[-1], _asked_beside(guard.node, guard.taken))
                or _asserts_none(arm, guard.node)
            )
    return False


def _asked_beside(test: ast.expr, taken: bool) -> set[tuple[str, bool]]:
    """What a condition says beside its question to the disk, the same on all ranks: `args.resume and isfile(args.resume)`."""
    return {
        (ast.unparse(part), holds) for part, holds in literals(test, taken) if not asked_paths(part)
    }


def _ends_where_asked(last: ast.stmt, known: set[tuple[str, bool]]) -> bool:
    """Whether a statement ends the process, or each of a run for which it is known what comes out of its conditions."""
    if not isinstance(last, ast.If):
        return ends_run(last)
    for arm, taken in ((last.body, True), (last.orelse, False)):
        told = {(ast.unparse(part), holds) for part, holds in literals(last.test, taken)}
        if arm and told <= known:
            return _ends_where_asked(arm[-1], known)
    return False


def ends_otherwise(function: Function, test: ast.expr) -> bool:
    """Whether one arm of a condition ends in an error: what is assigned in the other is there, or the rank fails.

    LaViLa 8002b5a main_infer_narrator.py:86: `elif isfile(best): path = best`, `else: raise Exception(…)`.
    """
    return any(
        node.test is test and any(arm and ends_run(arm[-1]) for arm in (node.body, node.orelse))
        for node in own_nodes(function, ast.If)
    )


def raised_before(model: Model, function: Function, guard: Guard) -> bool:
    """Whether a rank for which a question to the disk comes out otherwise has raised before: above, or in all callers.

    VISTA f73d7c2 vista2d/scripts/workflow.py:236: `if path is not None and not exists(path): raise`, `if path is not None and
    exists(path): self.load(path)`, and `load` asks once more.
    """
    paths = [path for path in asked_paths(guard.node) if not isinstance(path, ast.Constant)]
    if not paths:
        return False
    if any(_raises_without(function, guard, ast.unparse(path)) for path in paths):
        return True
    path = paths[0].id if isinstance(paths[0], ast.Name) and len(paths) == 1 else ""
    callers = model.callers.get(function, ()) if path in function.parameters else ()
    return bool(callers) and all(
        (given := argument_of(caller.node, function, path)) is not None
        and any(
            _raises_without(caller.function, each, ast.unparse(given)) for each in caller.guards
        )
        for caller in callers
    )


def _raises_without(function: Function, guard: Guard, path: str) -> bool:
    """Whether an `if` above a condition that asks for a path ends each run that comes to it without the file."""
    known = {(ast.unparse(part), holds) for part, holds in literals(guard.node, guard.taken)}
    return any(
        node.lineno < guard.node.lineno
        and ends_run(node.body[-1])
        and _is_told_by(node.test, known, path)
        for node in _beside(function, guard.node)
    )


def _beside(function: Function, test: ast.expr) -> Iterator[ast.If]:
    """The conditions in the blocks around another one, above it."""
    body: Sequence[ast.stmt] | None = function.body
    while body is not None:
        inner = None
        for statement in body:
            if isinstance(statement, ast.If):
                if statement.test is test:
                    return
                yield statement
            if any(node is test for node in walk(statement)):
                inner = next(
                    (
                        block
                        for block in blocks_of(statement)
                        if any(node is test for each in block for node in walk(each))
                    ),
                    None,
                )
                break
        body = inner


def _is_told_by(test: ast.expr, known: set[tuple[str, bool]], path: str) -> bool:
    """Whether a condition holds where all that is known does but for what the disk says of a path, which is not there."""
    asks = False
    for part, is_so in literals(test, True):
        if any(ast.unparse(each) == path for each in asked_paths(part)):
            asks = True
            if is_so or (ast.unparse(part), True) not in known:
                return False
        elif (ast.unparse(part), is_so) not in known:
            return False
    return asks


def loads_none(model: Model, site: CallSite, asking: ast.expr) -> bool:
    """Whether a helper gives None for a missing file, and what it gives is loaded untested, which raises.

    IDvs.MoRec ce372cf bce_text/main-end2end/run.py:132: `path = get_checkpoint(folder, name)`, `torch.load(path)`.
    """
    call = model.call_at(asking)
    given = site.node.args[0] if site.node.args else None
    if call is None or call.site.callee is None or not isinstance(given, ast.Name):
        return False
    values = [value for value in assignments(site.function).get(given.id, ()) if value is asking]
    return (
        site.name == "torch.load"
        and bool(values)
        and _gives_one_or_none(call.site.callee)
        and all(given.id not in _paths(guard.node) for guard in site.guards)
        and not is_caught(model.program, site.function, site.statement)
    )


def _gives_one_or_none(function: Function) -> bool:
    """Whether a function returns one value, or None."""
    given = [
        node.value
        for node in own_nodes(function, ast.Return)
        if node.value is not None
        and not (isinstance(node.value, ast.Constant) and node.value.value is None)
    ]
    match given:
        case [ast.Name(id=name)]:
            return len(assignments(function).get(name, ())) <= 1 and not _always(function)
    return False


def _always(function: Function) -> bool:
    """Whether a function returns its value on all ways: its last statement does, and no other returns."""
    returns = own_nodes(function, ast.Return)
    return len(list(returns)) == 1 and isinstance(function.body[-1], ast.Return)


def _asserts_none(arm: list[ast.stmt], test: ast.expr) -> bool:
    """Whether an arm asserts something of the path that the test asked for."""
    asked = _paths(test)
    return any(
        isinstance(node, ast.Assert) and not asked.isdisjoint(_paths(node.test))
        for statement in arm
        for node in walk(statement)
    )


def _paths(node: ast.expr) -> set[str]:
    """The variables and attributes in an expression, as they are written out: of `args.resume`, not `args` too."""
    named = list(walk(node, ast.Attribute, ast.Name))
    owners = {id(part.value) for part in named if isinstance(part, ast.Attribute)}
    return {dotted_name(part) for part in named if id(part) not in owners} - {""}


def loads_either_way(model: Model, site: CallSite, chosen: ast.expr, names: set[str]) -> bool:
    """Whether a test only picks the file of a folder, or what was given itself, and the load below takes place either way.

    It raises where neither is a file. rcg 0c4433c util/misc.py:361: `resume_path = join(args.resume, last)`, else
    `args.resume`, and then `torch.load(resume_path)`.
    """
    if site.name != "torch.load":
        return False
    match chosen:
        case ast.IfExp(test=test):
            other = [chosen.body if _is_negated(test) else chosen.orelse]
        case _:
            test, other = chosen, _left_over(site, chosen, names)
    asked = [parts_of(path, site.function) for path in asked_paths(test)]
    return (
        bool(asked)
        and bool(other)
        and all(
            any(holds(parts_of(value, site.function), path) for path in asked) for value in other
        )
        and all(_tells_name(guard.node, names) for guard in site.guards)
        and not is_caught(model.program, site.function, site.statement)
    )


def _left_over(site: CallSite, test: ast.expr, names: set[str]) -> list[ast.expr]:
    """What the arm of a statement that stands for a missing file assigns to the names of the load."""
    for node in own_nodes(site.function, ast.If):
        if node.test is test:
            if (node.end_lineno or 0) >= site.node.lineno:
                return []
            arm = node.body if _is_negated(test) else node.orelse
            return [
                each.value
                for each in arm
                if isinstance(each, ast.Assign)
                and not names.isdisjoint(n for target in each.targets for n in target_names(target))
            ]
    return []


def _is_negated(test: ast.expr) -> bool:
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def _tells_name(condition: ast.expr, names: set[str]) -> bool:
    """Whether a condition asks of the names no more than whether there is one."""
    match condition:
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            condition = left
    return dotted_name(condition) != "" or _paths(condition).isdisjoint(names)


def only_evaluates(function: Function) -> bool:
    """Whether a function loads what it evaluates, by its name, and trains nothing.

    NeuralRecon 88d7d0b main.py:228: `test()` looks for new checkpoints again and again, and prints of which epoch.
    """
    return _EVALUATES.match(function.name) is not None and not any(
        _TRAINS.search(last_name(node)) for node in own_nodes(function, ast.Name, ast.Attribute)
    )


def behind_the_training(model: Model, site: CallSite) -> bool:
    """Whether a load stands below the loop that trains, and nothing is trained afterwards: nobody goes on from there.

    CiT 5caecad main.py:341: the best checkpoint, for a last evaluation.
    """
    loops = [
        loop
        for loop in own_nodes(site.function, ast.For, ast.While)
        if any(_is_step(call) for call in walk(loop, ast.Call))
    ]
    return (
        bool(loops)
        and all((loop.end_lineno or loop.lineno) < site.node.lineno for loop in loops)
        and _trains_no_more(model, site, _CALLERS)
    )


def _is_step(call: ast.Call) -> bool:
    """Whether a call is one of a training: `loss.backward()`, `train_one_epoch(…)`; `model.train()` is none."""
    name = last_name(call.func)
    return name in BACKWARD or (name.startswith("train") and bool(call.args or call.keywords))


def _trains_no_more(model: Model, site: CallSite, depth: int) -> bool:
    """Whether nothing below a call, nor below the calls of its function, names what trains, and none is in a loop."""
    last = site.node.end_lineno or site.node.lineno
    callers = model.callers.get(site.function, ())
    return (
        depth > 0
        and not any(
            loop.lineno <= site.node.lineno <= (loop.end_lineno or loop.lineno)
            for loop in own_nodes(site.function, ast.For, ast.While)
        )
        and not any(
            node.lineno > last and _TRAINS.search(last_name(node))
            for node in own_nodes(site.function, ast.Name, ast.Attribute)
        )
        and all(_trains_no_more(model, caller, depth - 1) for caller in callers)
    )
