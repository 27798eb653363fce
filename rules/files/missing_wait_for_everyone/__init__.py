"""Ranks use a file that rank 0 has not finished preparing.

## What it does
Reports a file or directory that rank 0 alone writes, creates, downloads or deletes, under a test of the
rank or in a call that chooses the writer itself (`accelerator.save`), and that the other ranks then read or write, where no collective stands between the two. Calls are followed: the writing and
the reading may stand in functions that one function calls one after the other. Also a cache that all ranks load where
it exists, and that rank 0 alone writes where it does not; and a folder which one rank fills while those that found it
missing wait for a file that says it is full: who asks a little later finds the folder, and waits for nothing. Also a file for
whose existence alone the others wait in a loop, while rank 0 writes it under that name; and what
rank 0 alone writes at the end of one turn of a loop, and all read at the start of the next.

## Why it is bad
The other ranks skip the guarded block and come to the use at once. They find no file, half of one, or the
one of the last run, as the file system and the sizes happen to be: the job fails now and then, on the
large dataset, on the slow disk. A directory that rank 0 removes may go after another rank has filled it.

## Errors you may see
- `PytorchStreamReader failed`
- `No such file or directory`

## Example
```python
if accelerator.is_main_process:
    dataset.save_to_disk(path)
dataset = load_from_disk(path)
```

## Use instead
```python
if accelerator.is_main_process:
    dataset.save_to_disk(path)
barrier()
dataset = load_from_disk(path)
```
or `run_on_main(dataset.save_to_disk, path)`, after which an error on rank 0 reaches the other ranks
instead of leaving them to wait.

## Fix safety
The fix puts the runtime's `barrier()` behind the guarded block. It is safe where all ranks are shown to
come there: a collective in the function or a trainer's hook, and no condition around the block that
ranks may answer differently. Elsewhere it is unsafe. Where the block and the use stand in different
functions, the place is shown and nothing is written.

## Known limits
Paths are compared as written, through variables that are assigned once and through arguments. Any
collective between the two counts as waiting, also one in a branch; `torch.cuda.synchronize()`, with which a rank
waits for its own device, does not. Two calls between which a variable of the path gets another value are of two paths. Whether the process ends while
another rank still writes is not looked at: launchers wait for all ranks.

## References
- accelerate 1.15.0 accelerate/accelerator.py: `wait_for_everyone`, `main_process_first`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.model import place_of, related, span_of
from distlint.analysis.program.syntax import statement_with_test
from distlint.analysis.questions.alone import left_to_flag
from distlint.analysis.questions.cached import awaited_by_name, filled_while_asked, half_written
from distlint.analysis.questions.ordering import Race, is_behind_a_pause, is_next, races
from distlint.analysis.questions.turns import races_between_turns
from distlint.edits import Insert
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.schema import Effect
from distlint.nodes import walk
from distlint.repairs.premises import ranked_callers
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.model import Model

CODE = "DL302"
NAME = "missing-wait-for-everyone"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = (b"logging.FileHandler",)  # a helper that opens the log says nothing of ranks

_DOES = {
    Effect.WRITE: "writes",
    Effect.DELETE: "removes",
    Effect.CREATE_DIR: "creates",
    Effect.DOWNLOAD: "downloads",
}
_USES = {
    Effect.READ: "read",
    Effect.WRITE: "write to",
    Effect.CREATE_DIR: "create",
}


def check(model: Model) -> Iterator[Finding]:
    """Uses of what rank 0 may still be preparing."""
    told: set[int] = set()
    for race in (*races(model), *races_between_turns(model)):
        told.add(id(race.used.outer.node))
        made, used = race.prepared, race.used
        if left_to_flag(model, used.outer):
            continue  # reward_fm 0a8f668 rfm/utils/save.py:536: what rank 0 alone comes to by a method of the class
        if made.effect is Effect.CREATE_DIR and is_behind_a_pause(made, used):
            continue
        assert made.effect is not None and used.effect is not None
        does, uses = _DOES[made.effect], _USES[used.effect]
        line = made.outer.node.lineno
        where = "after it" if made.chosen else "behind the block that only rank 0 runs"
        yield Finding(
            CODE,
            NAME,
            # A folder is there long before it is needed elsewhere: of nine such findings at first sight none was true.
            Severity.INFO
            if made.effect is Effect.CREATE_DIR and not is_next(made, used)
            else SEVERITY,
            f"the other ranks {uses} the path while rank 0 still {does} it (line {line}): nothing "
            f"between makes them wait. Let all ranks wait {where}: `barrier()`.",
            place_of(used.outer.module, used.outer.node),
            tuple(
                related(site.module, site.node, text)
                for site, text in (
                    (made.site, f"only rank 0 {does} it"),
                    *([(used.site, "the use")] if used.site is not used.outer else []),
                )
            ),
            _fix(model, race),
        )

    for cache in half_written(model):
        if id(cache.used.outer.node) in told:
            continue
        line = cache.prepared.outer.node.lineno
        advice = "Let rank 0 go first, through the test and both its arms: `main_process_first()`"
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            f"a rank that asks while rank 0 still writes the file (line {line}) finds it, and reads the half of it "
            f"that is there. {advice}.",
            place_of(cache.used.outer.module, cache.used.outer.node),
            (
                related(
                    cache.prepared.site.module, cache.prepared.site.node, "only rank 0 writes it"
                ),
            ),
            Fix(Applicability.DISPLAY, advice),
        )
    for folder in filled_while_asked(model.file_calls):
        module, advice = (
            folder.filled.module,
            "Ask for what is written last, once the folder is full",
        )
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            f"a rank that asks while another one still fills the folder (line {folder.filled.node.lineno}) finds it, "
            f"does not wait with the others, and goes on with the part that is there. {advice}.",
            place_of(module, folder.asked.node),
            (
                related(module, folder.filled.node, "one rank fills it"),
                related(module, folder.waiting, "the others wait, if they have found nothing"),
            ),
            Fix(Applicability.DISPLAY, advice),
        )
    for awaited in awaited_by_name(model.file_calls):
        advice = "Write it under another name, and `os.replace()` it; or wait in a collective"
        module = awaited.written.module
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            f"the other ranks wait until the file exists, which it does as soon as line {awaited.written.node.lineno} opens "
            f"it, and go on while it is written. {advice}.",
            place_of(module, awaited.written.node),
            (related(module, awaited.waiting, "the others wait for the name alone"),),
            Fix(Applicability.DISPLAY, advice),
        )


def _fix(model: Model, race: Race) -> Fix | None:
    site = race.prepared.outer
    guard = next((g for g in site.guards if g.value.variance is Variance.RANK_DEPENDENT), None)
    block = statement_with_test(race.function, guard.node) if guard is not None else None
    if guard is None or guard.exits or block is None or block.orelse:
        return None
    if any(walk(block, ast.Return, ast.Break, ast.Continue)):
        return None
    around = site.guards[: site.guards.index(guard)]
    if any(g.value.variance is not Variance.UNIFORM for g in around):
        return None
    arrived = any(
        reason.all_ranks
        for (function, _), reason in model.joint_entries.items()
        if function is race.function
    )
    return Fix(
        Applicability.SAFE
        if arrived and not ranked_callers(model, race.function)
        else Applicability.UNSAFE,
        "Wait for all ranks behind the block: `barrier()`",
        (Insert(span_of(block), "$barrier()", after=True),),
    )
