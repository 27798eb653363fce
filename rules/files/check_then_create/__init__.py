"""Every rank asks whether a file exists, then makes or removes it.

## What it does
Reports an existence test followed by the creation, download or removal of the same path, where rank 0
and other ranks do both; also a directory that they all create with no test and without `exist_ok=True`.

A tree that all ranks copy is an error unless an option asks for it. What fails on all ranks but one (a folder without
`exist_ok`, a removal, a move) and a download are warnings. So is a write behind the test where something shows that it does harm, as
for DL301: the file is read, on the other arm or below, is large, or differs between the ranks. Information where nothing does.
Information, too, where all that shows the ranks works on one process as well (a barrier, a wrapped model, an
Accelerator, a trainer or its hook, a test of the rank), nothing above makes the group, and no launch starts what leads
there on several processes: a script or page beside the code, a configuration, a number as in `Trainer(devices=2)`. A
file without any script or page beside it is no such case: nothing there could tell of a launch.

Every rank builds the data sets, those too that a registry, a table or `eval()` makes by a name; and what
`wget -O`, `curl -o`, `gdown -O`, `unzip -d` and `tar -xC` make in a command counts like a write.

## Why it is bad
All ranks ask before any of them has acted, so all get the same answer and all act: `os.mkdir` raises
FileExistsError and `os.remove` FileNotFoundError on all ranks but one, downloads overwrite each other,
and a rank that comes a little later finds half a file and takes it for a whole one.

## Errors you may see
- `FileExistsError: [Errno 17] File exists`

## Example
```python
if not os.path.exists(path):
    download(url, path)
```

## Use instead
```python
with main_process_first():
    if not os.path.exists(path):
        download(url, path)
```
For a directory `os.makedirs(path, exist_ok=True)`, for a removal `Path.unlink(missing_ok=True)`.

## Fix safety
A removal that also sets what the program goes on with is only shown: it was a signal, and the ranks must agree on it.
`exist_ok=True`, `missing_ok=True` and `suppress(FileNotFoundError)` around a removal are safe. `main_process_first()` needs all ranks: safe where the
analysis shows that they arrive, else unsafe.

## Known limits
The test and the action must name the path in a way that can be compared, in one function. Silent where all ranks
have made the path above, here or in each function that calls this one: with `exist_ok=True`, or by a function that makes
what is missing, and where the process that spawns the ranks has made it before, or makes the same calls before. Folders that one
rank alone comes to, behind one that the others fail to make, are told, and repaired, with that. Silent, too, where a rank moves a file of its own
into place, where the job ends right behind a removal, where an empty file is made, and where a file is read out of a folder right
below what makes it.

## References
- python 3.11 os: `makedirs`; pathlib: `Path.unlink`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from textwrap import indent
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.model import evidence, place_of, related, span_of
from distlint.analysis.program.syntax import (
    exits,
    literals,
    own_nodes,
    statement_with_test,
)
from distlint.analysis.questions import filesystem as files
from distlint.analysis.questions.ending import ends_with_error
from distlint.analysis.questions.harms import harm_of
from distlint.analysis.questions.locks import in_turn_by_lock, under_a_lock
from distlint.analysis.questions.made_before import (
    made_before,
    made_before_fit,
    prepared_before,
)
from distlint.analysis.questions.made_by_parent import called_by_parent
from distlint.analysis.questions.sections import after_main, in_turn
from distlint.analysis.questions.terminals import never_answered
from distlint.edits import AddImport, Edit, Replace, WrapInWith
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge import facts
from distlint.knowledge.ranks import ARGUMENT_NAMES
from distlint.knowledge.schema import Effect
from distlint.nodes import last_name, walk
from distlint.repairs.arguments import with_keyword
from distlint.repairs.blocks import block_with
from distlint.repairs.guarding import comment_behind, dedented, source
from distlint.repairs.premises import everyone_comes, on_import
from distlint.rule import Status

from .anew import is_made_anew
from .child import made_by_child
from .existing import is_read_below
from .tagged import is_a_folder
from .together import in_one_section, with_what_follows

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite, Guard
    from distlint.analysis.live.joint_entry import JointEntry
    from distlint.analysis.model import Model
    from distlint.analysis.questions.filesystem import FileCall

CODE = "DL305"
NAME = "check-then-create"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = ()

_DOES = {
    Effect.WRITE: "write",
    Effect.CREATE_DIR: "create",
    Effect.DOWNLOAD: "download",
    Effect.DELETE: "remove",
}
_MOVES = frozenset({"move", "rename", "replace"})
"""Calls that remove one path and make another."""
_FLAGS = {
    "os.makedirs": "exist_ok",
    "pathlib.Path.mkdir": "exist_ok",
    "mkdir": "exist_ok",
    "pathlib.Path.unlink": "missing_ok",
    "unlink": "missing_ok",
}
"""Keyword that makes the call take what another rank did, by name (".method" without the dot)."""
_FILL = frozenset({"write", "writelines", "write_text", "dump", "writerow"})
"""Calls that put something into a file."""
_REMOVES = frozenset({"os.remove", "os.unlink"})

_ANEW = "Let rank 0 remove what was there and make it, while the others wait: `run_on_main()`"


def check(model: Model) -> Iterator[Finding]:
    """Existence tests and what follows from them, on several ranks."""
    yield from in_one_section(model, with_what_follows(model, _found(model)))


def _found(model: Model) -> Iterator[tuple[FileCall, Finding]]:
    told: set[int] = set()
    for found in model.file_calls:
        joint_entry, does = found.joint_entry, _DOES.get(found.effect)
        if found.site.method in _MOVES and does is not None:
            does = "move"
        guard = files.check_before(found)
        if (
            joint_entry is None
            or does is None
            or (guard is None and found.effect is not Effect.CREATE_DIR)
            or found.row.locked
            # gdown moves what it has fetched into place: each rank finds nothing, or all of it (VideoGPT 733d2b1
            # videogpt/download.py:18).
            or (found.effect is Effect.DOWNLOAD and found.row.atomic)
            or not found.by_several
            or files.tolerated(found.site)
            or files.moves_its_own(found)
            or in_turn(model, found.site)
            or never_answered(model, found.site, joint_entry)
            or (guard is not None and after_main(model, found.site))
            or (guard is not None and model.fetched_by_first(joint_entry))
            # Reversible-ViT 62f093a main_ddp.py:403: the process that spawns the ranks has read the file first.
            or (guard is not None and joint_entry.on_import)
            or (made_before_fit(found) and model.ranks_come_in_fit(joint_entry.module))
            or under_a_lock(found.site)
            or in_turn_by_lock(model, found.site)
            or made_by_child(model.program, joint_entry)
            or not files.same_path(model, found, listed=True)
            or (guard is not None and made_before(model, found))
            or (guard is not None and is_read_below(model, found, guard))
            or prepared_before(model, found)
            or (guard is not None and called_by_parent(model, found))
            or _ends_behind(found)
            or _makes_empty(found)
            or (found.effect is Effect.DELETE and is_a_folder(model, found))
            or model.starts_one(found.site.module, joint_entry)
        ):
            continue
        if id(found.site.node) in told:
            continue  # what `os.rename` removes and what it makes are one defect
        told.add(id(found.site.node))
        module = found.site.module
        severity = _severity(model, found, joint_entry)
        finding = Finding(
            CODE,
            NAME,
            severity,
            _message(model, found, does, guard, joint_entry),
            place_of(module, found.site.node),
            (
                *(
                    [related(module, guard.node, "asked by every rank")]
                    if guard is not None
                    else []
                ),
                *evidence(joint_entry),
            ),
            None if severity is Severity.INFO else _fix(model, found, guard, joint_entry),
        )
        yield found, finding


def _ends_behind(found: FileCall) -> bool:
    """Whether the job ends right behind a removal: who comes second fails, and who finds nothing there does as well.

    EasyNLP a4ee956 easynlp/appzoo/sequence_generation/data.py:66: a broken archive is removed, then `exit()`; a rank that
    no longer sees it raises FileNotFoundError below. A rank that would go on without a switch waits for the others.
    """
    block = block_with(found.function, found.site.statement)
    if found.effect is not Effect.DELETE or block is None:
        return False
    behind = block[block.index(found.site.statement) + 1 :]
    fails = any(map(ends_with_error, behind))
    return fails or (any(map(exits, behind)) and _fails_without(found))


def _makes_empty(found: FileCall) -> bool:
    """Whether a call leaves an empty file, into which the function puts nothing: each rank finds none, or all of it.

    PersFormer_3DLane 3ed3109 utils/utils.py:1052: `open(txt_file, "w").close()`, and what comes second does the same.
    """
    made = found.site.node
    match found.site.statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="close", value=closed))):
            others = {last_name(n) for n in own_nodes(found.function, ast.Call) if n is not made}
            return closed is made and others.isdisjoint(_FILL)
    return False


def _fails_without(found: FileCall) -> bool:
    """Whether a function raises further down where the file system has not what it asks for."""
    return any(
        node.lineno > found.site.node.lineno
        and files.asked_paths(node.test)
        and any(arm and isinstance(arm[-1], ast.Raise) for arm in (node.body, node.orelse))
        for node in own_nodes(found.function, ast.If)
    )


def _severity(model: Model, found: FileCall, joint_entry: JointEntry) -> Severity:
    if _fails_for_all_but_one(found, joint_entry):
        return SEVERITY if _is_chosen(model, found) else Severity.ERROR
    harmless = found.effect is Effect.WRITE and harm_of(model, found) is None
    return Severity.INFO if harmless else SEVERITY


def _fails_for_all_but_one(found: FileCall, joint_entry: JointEntry) -> bool:
    """Whether what is copied takes so long that all ranks ask before it is there, and only one may make it.

    open_lm main.py:422, open_clip src/open_clip_train/legacy_main.py:579: `copytree()` on every rank.
    """
    return joint_entry.all_ranks and found.site.name == "shutil.copytree"


def _is_chosen(model: Model, found: FileCall) -> bool:
    """Whether only who asks for it by an option comes there, here or in all calls of the function.

    LanguageBind 7070c53 main.py:201: `if args.copy_codebase:`, which is off unless somebody turns it on.
    """

    def asked_for(site: CallSite) -> bool:
        return any(
            holds and isinstance(part, ast.Attribute) and last_name(part.value) in ARGUMENT_NAMES
            for guard in site.guards
            for part, holds in literals(guard.node, guard.taken)
        )

    callers = model.callers.get(found.function, ())
    return asked_for(found.site) or (bool(callers) and all(map(asked_for, callers)))


def _message(
    model: Model, found: FileCall, does: str, guard: Guard | None, joint_entry: JointEntry
) -> str:
    if guard is None:
        advice = _ANEW if is_made_anew(model, found) else "Create it with `exist_ok=True`"
        return (
            f"the first rank creates `{found.text}` and the others fail because it is there: "
            f"{joint_entry.text}. {advice}."
        )
    return (
        f"all ranks find the same answer and all {does} `{found.text}`: {joint_entry.text}. Let one "
        "rank go first, or do it so that a second time does no harm."
    )


def _fix(model: Model, found: FileCall, guard: Guard | None, joint_entry: JointEntry) -> Fix | None:
    site = found.site
    if guard is not None and _decides(found, guard):
        advice = (
            "Let rank 0 ask and remove it, and tell the others: `run_on_main(..., broadcast=True)`"
        )
        return Fix(Applicability.DISPLAY, advice)
    if guard is None and _is_numbered(found):
        advice = "Let rank 0 choose the name and make it, and send the name to all: `run_on_main(..., broadcast=True)`"
        return Fix(Applicability.DISPLAY, advice)
    if is_made_anew(model, found) or (
        guard is not None and _made_again(model, found) and not _asks_for_file(guard)
    ):
        return Fix(Applicability.DISPLAY, _ANEW)
    block = None if guard is None else statement_with_test(found.function, guard.node)
    if block is not None and _turns_over(model, found, block):
        advice = "Let rank 0 alone do either while the others wait: `run_on_main()`"
        return Fix(Applicability.DISPLAY, advice)
    flag = _FLAGS.get(site.name.removeprefix("."))
    if flag is not None and flag not in site.keywords and not _made_again(model, found):
        edit = with_keyword(site.module.source.text, site.node, f"{flag}=True")
        if edit is not None:
            return Fix(Applicability.SAFE, f"Take what another rank did: `{flag}=True`", (edit,))
    if guard is None:
        return None
    if (edit := _made_with_parents(model, found)) is not None:
        advice = "Take what another rank did: `os.makedirs(..., exist_ok=True)`"
        return Fix(Applicability.SAFE, advice, (edit,))
    if (moved := on_import(joint_entry)) is not None:
        return moved
    around = site.guards[: site.guards.index(guard)]
    if (
        block is None
        or guard.exits
        or any(g.value.variance is not Variance.UNIFORM for g in around)
    ):
        return None
    for call in model.calls(module=site.module):
        line = call.site.node.lineno
        inside = block.lineno <= line <= (block.end_lineno or line)
        if inside and (facts.is_collective(call.site.rows) or call.site.callee is not None):
            return None  # a collective in a section of one rank would hang
    if not _made_again(model, found) and (edits := _removed_anyway(found, block)):
        return Fix(
            Applicability.SAFE,
            "Take what another rank did: `suppress(FileNotFoundError)`",
            edits,
        )
    return Fix(
        Applicability.SAFE if everyone_comes(model, site, joint_entry) else Applicability.UNSAFE,
        "Let rank 0 go first: `main_process_first()`",
        (WrapInWith(span_of(block), span_of(block), "$main_process_first()"),),
    )


def _turns_over(model: Model, found: FileCall, block: ast.stmt) -> bool:
    """Whether the other arm does the opposite to the path, so that who comes later undoes what rank 0 did.

    Deep-Learning-Image-Classification-Models 0640f21 train_distributed.py:78: a folder is made, or removed where it is there.
    """
    inside = {id(node) for node in walk(block, ast.Call)}
    return any(
        other.effect is not found.effect
        and id(other.site.node) in inside
        and other.text == found.text
        and other.effect in (Effect.CREATE_DIR, Effect.DELETE)
        for other in model.file_calls
    )


def _made_with_parents(model: Model, found: FileCall) -> Replace | None:
    """`os.mkdir(p)` as the call that takes what is there; None where it is no such call.

    ChatLM-mini-Chinese 2696eb8 pre_train.py:127: the folder of a log, behind its test.
    """
    site = found.site
    if site.name != "os.mkdir" or site.node.keywords or _made_again(model, found):
        return None
    edit = with_keyword(site.module.source.text, site.node, "exist_ok=True")
    before, called, behind = edit.code.partition(".mkdir(") if edit is not None else ("", "", "")
    if edit is None or not called or "(" in before:
        return None
    return replace(edit, code=f"{before}.makedirs({behind}")


def _is_numbered(found: FileCall) -> bool:
    """Whether each rank has chosen the name by what is in the folder: ranks that agree would then fill one folder.

    pi-zero-pytorch 42e1d7f pi_zero_pytorch/pi_zero.py:4328: the number behind the last, and each overwrites it.
    """
    return any(value is not None and "file" in value.tags for _, _, value in found.sites)


def _decides(found: FileCall, guard: Guard) -> bool:
    """Whether a file that is removed was a signal: who comes late finds none, and goes another way than the others.

    smollm a041759 vision/m4/training/trainer.py:1403: a switch to save now, which only some ranks then do.
    """
    block = statement_with_test(found.function, guard.node)
    return (
        found.effect is Effect.DELETE
        and block is not None
        # LatentSync a229c39 latentsync/whisper/audio2feature.py:133 removes what cannot be read, in an `except`.
        and found.site.statement in block.body
        and any(
            isinstance(statement, ast.Assign | ast.AugAssign | ast.Return | ast.Break | ast.Raise)
            or exits(statement)
            for statement in block.body
        )
    )


def _removed_anyway(found: FileCall, block: ast.If) -> tuple[Edit, ...]:
    """`if exists(p): os.remove(p)` becomes the removal with its error suppressed; nothing where more is done.

    artidoro/qlora 7f4e95a qlora.py:275: ranks need not wait for each other to remove a file.
    """
    module, call = found.site.module, found.site.node
    match block:
        case ast.If(
            test=ast.Call(args=[asked], keywords=[]), body=[ast.Expr(value=made)], orelse=[]
        ) if (
            made is call
            and found.site.name in _REMOVES
            and [ast.unparse(each) for each in call.args] == [ast.unparse(asked)]
        ):
            pass
        case _:
            return ()
    text = module.source.text
    removal = dedented(text, block.body[0])
    if removal is None or source(text, block).startswith("elif"):
        return ()
    known = next((n for n, what in module.imports.items() if what == "contextlib.suppress"), "")
    code = f"with {known or 'contextlib.suppress'}(FileNotFoundError):\n{indent(removal, '    ')}"
    code += comment_behind(text, block.body[0])
    replaced = Replace(span_of(block), code)
    return (replaced,) if known else (replaced, AddImport("contextlib"))


def _asks_for_file(guard: Guard) -> bool:
    """Whether a condition holds of a file alone: of a folder that is there in its place it does not."""
    return any(last_name(node.func) in ("isfile", "is_file") for node in walk(guard.node, ast.Call))


def _made_again(model: Model, removed: FileCall) -> bool:
    """Whether something is created further down where a call removes it.

    The last rank would find, and remove, what the first has made there since
    (lightning 2.6.6 lightning_fabric/strategies/model_parallel.py:403: a file makes room for a folder).
    """
    return removed.effect is Effect.DELETE and any(
        made.effect in (Effect.WRITE, Effect.CREATE_DIR)
        and made.text == removed.text
        and made.function is removed.function
        and made.site.node.lineno > removed.site.node.lineno
        for made in model.file_calls
    )
