"""Where a function looks for a checkpoint on the disk of its process, before it loads one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.program.definitions import Function, dotted_name, last_name
from distlint.analysis.program.syntax import mentions_rank, own_nodes, statements, target_names
from distlint.knowledge import sinks
from distlint.nodes import walk
from distlint.repairs.blocks import blocks

from .missing import (
    ends_otherwise,
    fails_without,
    loads_either_way,
    loads_none,
    raised_before,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.interpreter.values import Value
    from distlint.analysis.model import Model

LISTINGS: Final = frozenset({"glob", "iglob", "rglob", "listdir", "scandir", "iterdir"})
QUESTIONS: Final = (
    frozenset({name.rpartition(".")[2] for name in sinks.EXISTENCE_TESTS})
    | sinks.EXISTENCE_METHODS
    | LISTINGS
) - {"access", "stat"}
_HANDS_ON: Final = frozenset(
    {"broadcast", "broadcast_object_list", "all_gather_object", "all_reduce", "gather_object"}
    | {"broadcast_object", "all_gather", "run_on_main", "any_rank", "all_ranks", "bcast"}
)
"""Calls after which all ranks know what one of them found."""
_DEPTH: Final = 6


def looked_for(model: Model, site: CallSite, argument: ast.expr | None) -> ast.expr | None:
    """The test of the file system, or the listing, that decides whether and what a call loads.

    Args:
        model: the program.
        site: a call that loads a checkpoint.
        argument: what it loads, where that is an argument.

    Returns:
        None where nothing of the kind decides, or all ranks agree on the answer.
    """
    function = site.function
    if any(last_name(n.func) in _HANDS_ON for n in own_nodes(function, ast.Call)):
        return None
    asked: list[ast.expr] = [] if argument is None else [argument]
    for guard in site.guards:
        if mentions_rank(guard.node) or raised_before(model, function, guard):
            continue
        if _of_disk(guard.value) and not fails_without(function, guard):
            return _question_in(guard.node) or guard.node
        asked.append(guard.node)
    return _behind(model, site, asked)


def _of_disk(value: Value) -> bool:
    return value.variance is Variance.RANK_LOCAL and value.tags == {"file"}


def _behind(model: Model, site: CallSite, asked: list[ast.expr]) -> ast.expr | None:
    """The question to the file system that the names in some expressions come from."""
    seen: set[str] = set()
    for _ in range(_DEPTH):
        names = {n for node in asked for n in _names(node)} - seen
        seen |= names
        asked = []
        for value, tests in _assigned(site.function, names, site.node):
            if any(mentions_rank(test) for test in tests):
                return None
            for node in (value, *tests):
                if loads_either_way(model, site, node, names) or (
                    node is not value and ends_otherwise(site.function, node)
                ):
                    continue
                found = _question_in(node, model, site.function) or _asking_helper(model, node)
                if found is not None and not (found is value and loads_none(model, site, found)):
                    return found
                asked.append(node)
    return None


def _names(node: ast.expr) -> Iterator[str]:
    for part in walk(node, ast.Name, ast.Attribute):
        name = dotted_name(part)
        if name:
            yield name


def _assigned(
    function: Function, names: set[str], load: ast.expr
) -> Iterator[tuple[ast.expr, list[ast.expr]]]:
    """What names are assigned above a call, each with the conditions and loops around it."""
    given = _given_anew(function.body, load)
    for node, around in statements(function.body, []):
        if node.lineno >= load.lineno:
            continue
        match node:
            case ast.Assign(targets=targets, value=value):
                bound = {n for target in targets for n in target_names(target)}
                bound = {n for n in bound if node.lineno >= given.get(n, 0)}
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                bound = set(target_names(target))
            case ast.For(target=target, iter=value):
                bound = set(target_names(target))
            case _:
                continue
        if bound & names:
            yield value, around


def _given_anew(body: list[ast.stmt], load: ast.expr) -> dict[str, int]:
    """The names that are assigned on every way to a call, whatever they were before, with the line of the last time.

    HRDM eda4995 main_distributed.py:377: a path written out, in a variable that was the newest of a folder 146 lines above.
    """
    found: dict[str, int] = {}
    for statement in body:
        if load.lineno <= (statement.end_lineno or statement.lineno):
            for block in blocks(statement):
                if block and block[0].lineno <= load.lineno <= (block[-1].end_lineno or 0):
                    found |= _given_anew(block, load)
            break
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name not in _names(value):
                found[name] = statement.lineno
    return found


def _question_in(
    node: ast.expr, model: Model | None = None, function: Function | None = None
) -> ast.expr | None:
    for part in walk(node, ast.Call):
        if last_name(part.func) in QUESTIONS and (
            model is None or function is None or not _asks_no_disk(model, function, part)
        ):
            return part
    return None


def _asks_no_disk(model: Model, function: Function, call: ast.Call) -> bool:
    """Whether a call is of a function of the program that is only called so.

    SpeechTokenizer 30c96fb speechtokenizer/trainer/trainer.py:25: `exists(val)` is `val is not None`.
    """
    meaning = model.resolve(function.module, call.func) if isinstance(call.func, ast.Name) else None
    return isinstance(meaning, Function) and not any(
        last_name(n.func) in QUESTIONS for n in own_nodes(meaning, ast.Call)
    )


def _asking_helper(model: Model, node: ast.expr) -> ast.expr | None:
    """A call of the program's own function that asks the file system for what it returns."""
    for part in walk(node):
        call = model.call_at(part) if isinstance(part, ast.Call) else None
        callee = call.site.callee if call is not None else None
        if callee is None or callee.name == "__init__":
            continue
        if any(last_name(n.func) in _HANDS_ON for n in walk(callee.node, ast.Call)):
            continue
        if isinstance(part, ast.expr) and _returns_an_answer(callee):
            return part
    return None


def _returns_an_answer(function: Function) -> bool:
    """Whether what a function returns hangs on a question to the file system.

    InternVideo 3965eef InternVideo1/Downstream/Video-Text-Retrieval/main_task_retrieval.py:224: `if not
    os.path.exists(args.output_dir): os.makedirs(…)`, and further down `return args`.
    """
    told: set[str] = set()
    returned: set[str] = set()
    imported = function.module.imports

    def hangs(node: ast.expr | None) -> bool:
        return node is not None and (
            _question_in(node) is not None or not told.isdisjoint(_names(node))
        )

    known = -1
    while known < len(told):
        known = len(told)
        for node in walk(
            function.node, ast.Return, ast.Assign, ast.AnnAssign, ast.If, ast.While, ast.For
        ):
            match node:
                case ast.Return(value=value) if value is not None:
                    if hangs(value):
                        return True
                    returned.update(_names(value))
                case ast.Assign(value=value) | ast.AnnAssign(value=value) if hangs(value):
                    told.update(_bound_in(node))
                case ast.If(test=asked) | ast.While(test=asked) | ast.For(iter=asked) if hangs(
                    asked
                ):
                    # `os` of `os.makedirs(…)` is a module: HCRD 039ae51 ddp_train_distillation.py:197.
                    bound = _bound_in(node)
                    told.update(n for n in bound if n.partition(".")[0] not in imported)
                    if any(walk(node, ast.Return)):
                        return True
    return any(name == each or name.startswith(f"{each}.") for name in told for each in returned)


def _bound_in(statement: ast.AST) -> Iterator[str]:
    """What a statement assigns, itself or in its blocks."""
    for node in walk(statement):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield dotted_name(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield dotted_name(node.func.value)  # found.append(path)
