"""Downloads that belong together: those that one section would cure, and those of what is there already."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import Class
from distlint.analysis.program.handed import argument_of, callers_by_name
from distlint.analysis.program.syntax import literals, own_nodes
from distlint.analysis.questions.made_by_parent import called_by_parent
from distlint.analysis.questions.paths import parts_of
from distlint.edits import Edit, WrapInWith
from distlint.findings import Finding, Related
from distlint.knowledge.schema import Effect
from distlint.knowledge.sinks import FOLDERS, KEEPS_WHAT_IS_THERE, ONE_ARCHIVE

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.joint_entry import JointEntry
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.questions.filesystem import FileCall
    from distlint.analysis.questions.paths import Parts


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


def is_there(model: Model, found: FileCall, joint_entry: JointEntry) -> bool:
    """Whether each rank that comes to a download has all of it: it has asked for the other split, or its parent has."""
    return found.effect is Effect.DOWNLOAD and (
        _fetched_above(model, found)
        or _fetched_by_parent(found, joint_entry)
        or (found.site.name in KEEPS_WHAT_IS_THERE and called_by_parent(model, found))
        or _fetched_for_training(model, found)
    )


def _fetched_above(model: Model, found: FileCall) -> bool:
    """Whether a function asks for the other split of a data set further up, on each way to the call.

    opacus 4d0ebc8 examples/cifar10.py:297: `CIFAR10(root=args.data_root, train=False, …)`, 12 lines below `train=True`.
    """
    if found.site.name not in ONE_ARCHIVE:
        return False
    passed = {(id(guard.node), guard.taken) for guard in found.site.guards}
    if any(
        call.site.function is found.function
        and call.site.node.lineno < found.site.node.lineno
        and {(id(guard.node), guard.taken) for guard in call.site.guards} <= passed
        and set(call.site.loops) <= set(found.site.loops)
        and _fetches(model, call.site, found)
        for call in model.calls(module=found.site.module)
    ):
        return True
    return any(
        before.function is found.function
        and before.site.name == found.site.name
        and before.site.node.lineno < found.site.node.lineno
        and before.effect is Effect.DOWNLOAD
        and {(id(guard.node), guard.taken) for guard in before.site.guards} <= passed
        and set(before.site.loops) <= set(found.site.loops)
        and _folder(before) == _folder(found)
        for before in model.file_calls
    )


def _fetches(model: Model, site: CallSite, found: FileCall) -> bool:
    """Whether a call makes a data set of the program's own that fetches the same archive into the same folder.

    GloCo_ProCo 3772ce4 main_distributed.py:281: a class from `CIFAR10` that names the files of `CIFAR100`.
    """
    made = site.callee
    if made is None or made.cls is None or made.name != "__init__":
        return False
    cls = model.resolve(site.module, site.node.func)
    if not isinstance(cls, Class) or _archive(model, cls) != FOLDERS.get(
        found.site.name, found.site.name
    ):
        return False
    root = argument_of(site.node, made, "root")
    match argument_of(site.node, made, "download"):
        case ast.Constant(value=True):
            return root is not None and parts_of(root, site.function) == _folder(found)
    return False


def _archive(model: Model, cls: Class) -> str:
    """The folder of the archive that a data set of the program's own is read from."""
    own, installed = model.program.mro(cls)
    named = (each.attributes.get("base_folder") for each in own)
    match [node for node in named if node is not None], [n for n in installed if n in ONE_ARCHIVE]:
        case [ast.Constant(value=str() as folder), *_], [_, *_]:
            return folder
        case [], [name, *_]:
            return FOLDERS.get(name, name)
    return ""


def _folder(found: FileCall) -> Parts | None:
    return parts_of(found.path, found.function) if found.path is not None else None


def _fetched_by_parent(found: FileCall, joint_entry: JointEntry) -> bool:
    """Whether the ranks fetch on importing what the process that starts them has fetched on its way there.

    opacus 4d0ebc8 examples/fsdp_example.py:80: a data set at the top of a script whose `main()` spawns the ranks.
    """
    return (
        joint_entry.on_import
        and found.site.name in KEEPS_WHAT_IS_THERE
        and (
            joint_entry.node not in own_nodes(found.function)
            or getattr(joint_entry.node, "lineno", 0) > found.site.node.lineno
        )
    )


def _fetched_for_training(model: Model, found: FileCall) -> bool:
    """Whether all callers that ask a function for one split of a data set have asked it for the other one above.

    Both are in one archive. RepVGG eae7c52 data/build.py:108: `build_dataset(is_train=True, …)`, and then with False.
    """
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
