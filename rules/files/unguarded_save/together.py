"""Downloads that belong together: those that one section would cure, and those of what is there already."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.analysis.program.handed import argument_of, callers_by_name
from distlint.analysis.program.syntax import literals
from distlint.edits import Edit, WrapInWith
from distlint.findings import Finding, Related
from distlint.knowledge.schema import Effect

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.questions.filesystem import FileCall


def one_of_each_section(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, those with the same section as their fix as one.

    NVAE datasets.py:135: `CIFAR10(train=True, download=True)`, and below it the same with `train=False`.
    """
    kept: list[Finding] = []
    by_section: dict[tuple[str, tuple[Edit, ...]], int] = {}
    for finding in findings:
        fix = finding.fix
        if fix is None or not any(isinstance(edit, WrapInWith) for edit in fix.edits):
            kept.append(finding)
            continue
        at = by_section.setdefault((finding.place.path, fix.edits), len(kept))
        if at == len(kept):
            kept.append(finding)
        else:
            beside = Related(finding.place, "downloaded here, too")
            kept[at] = replace(kept[at], related=(*kept[at].related, beside))
    yield from kept


def fetched_for_training(model: Model, found: FileCall) -> bool:
    """Whether all callers that ask a function for one split of a data set have asked it for the other one above.

    Both are in one archive. RepVGG eae7c52 data/build.py:108: `build_dataset(is_train=True, …)`, and then with False.
    """
    if found.effect is not Effect.DOWNLOAD or found.path is None:
        return False
    for before in model.file_calls:
        if (
            before.function is found.function
            and before.site.name == found.site.name
            and before.text == found.text
            and before.site.node.lineno < found.site.node.lineno
        ):
            theirs = dict(_told(before))
            for name, value in _told(found):
                if theirs.get(name, value) is not value and _asked_first(
                    model, found.function, name, value
                ):
                    return True
    return False


def _told(found: FileCall) -> Iterator[tuple[str, bool]]:
    """The parameters of a function that a call waits for to be true or false."""
    for guard in found.site.guards:
        for part, holds in literals(guard.node, guard.taken):
            if isinstance(part, ast.Name) and part.id in found.function.parameters:
                yield part.id, holds


def _asked_first(model: Model, function: Function, name: str, value: bool) -> bool:
    """Whether each call that passes a truth for a parameter stands below one that passes the other, in one block."""
    calls = [
        (user, statement.lineno, given.value)
        for user, call in callers_by_name(model.program, function)
        for given in (argument_of(call, function, name),)
        if isinstance(given, ast.Constant)
        for statement in user.body
        if statement.lineno <= call.lineno <= (statement.end_lineno or call.lineno)
        and isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr)
    ]
    asked = [(user, line) for user, line, given in calls if given is value]
    total = len(callers_by_name(model.program, function))
    return (
        len(calls) == total
        and bool(asked)
        and all(
            any(u is user and above < line and given is not value for u, above, given in calls)
            for user, line in asked
        )
    )
