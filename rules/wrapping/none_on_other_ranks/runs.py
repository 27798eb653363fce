"""The run that a tracking library keeps in each process: opened by rank 0 alone, written to by the others as well."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Set
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ranks import MAIN, NODE_MAIN
from distlint.analysis.interpreter.values import Variance
from distlint.analysis.live.joint_entry import may_be_about_rank
from distlint.analysis.program.chosen import options
from distlint.analysis.program.definitions import Module, dotted_name
from distlint.analysis.program.handed import asks_cleared_setting
from distlint.analysis.program.linked import linked
from distlint.analysis.program.syntax import assignments, literals, spawned_by
from distlint.nodes import walk
from distlint.patterns import pattern

from .settings import tests_around

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite, Guard
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

_OPENS: Final = "wandb.init"
_NEEDS: Final = (
    "wandb.log",
    "wandb.save",
    "wandb.watch",
    "wandb.unwatch",
    "wandb.alert",
    "wandb.define_metric",
    "wandb.log_artifact",
    "wandb.use_artifact",
    "wandb.config.update",
    "wandb.config.get",
    "wandb.summary.update",
)
"""What raises `wandb.Error` in a process without a run (wandb 0.31.0 wandb/__init__.py:87-118, sdk/lib/preinit.py)."""
_ELSEWHERE: Final = pattern(
    r"WandbLogger|WandbCallback|init_trackers|report_to|wandb\.agent"
    r"|^[ \t]*wandb(?:\.(?:log|init|watch|save))? = (?!None\b)",
    re.MULTILINE,
)
"""What opens a run by itself, perhaps on each rank, or puts something else in the place of the library."""
_FEW: Final = frozenset({MAIN, NODE_MAIN})
_CATCHES: Final = frozenset({"Exception", "BaseException", "Error", "UsageError"})
_DEEP: Final = 4


def runs_of_main_process(model: Model) -> Iterator[tuple[CallSite, CallSite]]:
    """The first such call of each function to which other ranks come, with the one that opens the run on rank 0.

    MTID 32cbeec train_mlp.py:484: `wandb.log()` behind the loop, and `if args.rank == 0: wandb.init()` above it.
    """
    done: set[Function] = set()
    for call in model.calls(*_NEEDS) if any(True for _ in model.calls(_OPENS)) else ():
        site = call.site
        if site.function in done or call.classes <= _FEW or model.joint_entry_at(call) is None:
            continue
        opened = _opened_by_main(model, site.module)
        if (
            opened is not None
            and not any(map(_is_caught, site.tries))
            and _others_come(model, call, opened.site, _DEEP)
        ):
            done.add(site.function)
            yield site, opened.site


def _opened_by_main(model: Model, module: Module) -> CallGroup | None:
    """The call that opens the run of a program, where rank 0 makes it and no other rank."""
    opened: list[CallGroup] = []
    files = sorted(linked(model.program, module), key=lambda m: m.path)
    for each in files:
        if "wandb" not in each.source.text:
            continue
        if _ELSEWHERE.search(each.source.text):
            return None
        for node in walk(each.source.tree, ast.Call):
            if _opens(each, node):
                group = model.call_at(node)
                if group is None or not group.classes <= _FEW or not group.guarded_by_rank:
                    return None
                opened.append(group)
    own = (g for g in opened if g.site.module is module)
    return next(own, opened[0] if opened else None)


def _opens(module: Module, node: ast.Call) -> bool:
    root, _, rest = dotted_name(node.func).partition(".")
    return f"{module.imports.get(root, root)}.{rest}".removesuffix(".") == _OPENS


def _others_come(model: Model, call: CallGroup, opened: CallSite, depth: int) -> bool:
    """Whether nothing but what the run is opened under stands before a call on other ranks, up to where it is opened."""
    function = call.site.function
    asked = tests_around(opened.function, opened.statement)
    if call.classes <= _FEW or not all(
        _holds_for_all(model, call.site, guard, asked) for guard in call.site.guards
    ):
        return False
    callers = model.callers.get(function, ())
    if function is opened.function or spawned_by(function) or not callers:
        return True
    groups = [g for g in (model.call_at(c.node) for c in callers) if g is not None]
    return depth > 0 and any(_others_come(model, group, opened, depth - 1) for group in groups)


def _holds_for_all(model: Model, site: CallSite, guard: Guard, asked: Set[str]) -> bool:
    """Whether a condition says nothing of the rank or of the run: a count, an option, what is asked before the run is opened.

    None that names the rank, however it was followed: medical f0d68d0 src/Trainer.py:318 asks what its constructor is given.
    """
    if (
        guard.value.variance is Variance.RANK_DEPENDENT
        or may_be_about_rank(guard)
        or asks_cleared_setting(model.program, guard.node)
    ):
        return False
    return guard.value.truthiness() is not None or all(
        ast.unparse(part) in asked or _is_shared(model, site, part)
        for part, _ in literals(guard.node, guard.taken)
    )


def _is_shared(model: Model, site: CallSite, part: ast.expr) -> bool:
    match part:
        case ast.Name(id=name):
            given = assignments(site.module.body).get(name, [])
            return name in options(model.program) or (
                bool(given) and all(isinstance(v, ast.Constant) for v in given)
            )
        case ast.Attribute(attr=name):
            return name in options(model.program)
        case ast.Compare(comparators=[ast.Constant(value=value)]):
            return value is not None
        case ast.Compare():
            return True
    return False


def _is_caught(attempt: ast.Try) -> bool:
    return any(
        handler.type is None
        or any(
            dotted_name(part).rpartition(".")[2] in _CATCHES
            for part in walk(handler.type, ast.Name, ast.Attribute)
        )
        for handler in attempt.handlers
    )
