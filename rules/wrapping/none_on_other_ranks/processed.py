"""Data sets that some ranks process further than others, and all train on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.program.environment import statements
from distlint.analysis.program.memory import all_remembered
from distlint.analysis.program.syntax import own_nodes, target_names
from distlint.knowledge import conventions, facts
from distlint.nodes import walk
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module

_TRAINER: Final = "transformers.Trainer"
_OF_TRAINER: Final = ("train_dataset", "eval_dataset")
_TAKES_DATA: Final = (conventions.LOADER, "torch.utils.data.DistributedSampler")


@dataclass(frozen=True, slots=True, eq=False)
class Processed:
    """A data set that is bound anew on some ranks, and the call that all hand it to."""

    name: str
    bound: ast.Assign
    used: ast.Call


@all_remembered
def processed_by_rank(model: Model, module: Module) -> Iterator[Processed]:
    """Each such variable of a file, in source order."""
    calls = list(model.calls(module=module))
    told: set[ast.stmt] = set()
    for use in calls:
        if use.guarded_by_rank:
            continue
        for name in _data_of(use.site):
            bound = _bound_by_rank(use.site, name, calls)
            if bound is not None and bound not in told:
                told.add(bound)
                yield Processed(name, bound, use.site.node)


def _data_of(site: CallSite) -> list[str]:
    """The variables that a call takes data sets from."""
    given: list[ast.expr | None] = []
    if site.name in _TAKES_DATA:
        given = [site.argument_node(0, "dataset")]
    elif _TRAINER in facts.with_bases([site.name]):
        given = [site.argument_node(None, keyword) for keyword in _OF_TRAINER]
    return [node.id for node in given if isinstance(node, ast.Name)]


def _bound_by_rank(use: CallSite, name: str, calls: list[CallGroup]) -> ast.Assign | None:
    """What binds a variable to more of itself on some ranks, on the way to a call; None where all may have it."""
    for branch, _ in statements(use.function.body):
        if not isinstance(branch, ast.If) or branch.lineno > use.node.lineno:
            continue
        if any(_binds(each, name) for each in branch.orelse) or use.node in walk(branch):
            continue
        found = [
            bound
            for bound in _made_of_itself(branch.body, name)
            if any(_decided_by(call.site, branch, bound) for call in calls)
        ]
        if found:
            return None if _is_bound_again(use, name, branch) else found[-1]
    return None


def _made_of_itself(body: list[ast.stmt], name: str) -> Iterator[ast.Assign]:
    """The assignments that bind a variable to what is made of its value, by way of others too."""
    made = {name}
    for statement in body:
        if isinstance(statement, ast.Assign):
            reads = {n.id for n in walk(statement.value, ast.Name)}
            for target in statement.targets:
                for written in target_names(target) if made & reads else ():
                    made.add(written)
                    if written == name:
                        yield statement


def _decided_by(site: CallSite, branch: ast.If, bound: ast.Assign) -> bool:
    """Whether an assignment holds a call, and the rank decides in a branch who makes it."""
    return site.node in walk(bound.value) and any(
        guard.value.variance is Variance.RANK_DEPENDENT and guard.node in walk(branch.test)
        for guard in site.guards
    )


def _is_bound_again(use: CallSite, name: str, branch: ast.If) -> bool:
    """Whether something between may give all ranks one data set: another assignment, or a call that fills a list."""
    for node in own_nodes(use.function):
        between = (branch.end_lineno or 0) < getattr(node, "lineno", 0) < use.node.lineno
        match node:
            case ast.Name(id=written, ctx=ast.Store()) if between and written == name:
                return True
            case ast.Call(func=func) if between and "broadcast" in ast.unparse(func):
                return True
    return False


def _binds(statement: ast.stmt, name: str) -> bool:
    return any(
        node.id == name and isinstance(node.ctx, ast.Store) for node in walk(statement, ast.Name)
    )
