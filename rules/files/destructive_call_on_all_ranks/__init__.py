"""Every rank removes the same files, or asks the same question.

## What it does
Reports `shutil.rmtree`, `os.remove`, `os.rename`, `Path.unlink` and the like on one path by rank 0 and
other ranks, and `input()` on every rank, where the program shows that several ranks come there. An error where they do so
in any case; a warning behind a condition. With `ignore_errors`,
or by `rm` in a command, nobody fails: there what counts is a file of each rank's own that is written into the folder
below, with nothing that makes the ranks wait in between.
Information where all that shows the ranks works on one process as well (a barrier, a wrapped model, an
Accelerator, a trainer or its hook, a test of the rank), nothing above makes the group, and no launch starts what leads
there on several processes: a script or page beside the code, a configuration, a number as in `Trainer(devices=2)`. A
file without any script or page beside it is no such case: nothing there could tell of a launch.

## Why it is bad
The first rank removes the file, the others raise FileNotFoundError, or `rmtree` fails half way because
another rank removes the same tree: the job dies while it makes room for a checkpoint. A rank that is
late removes what the others have already written anew. `input()` on a rank without a terminal raises
EOFError, or all ranks wait for a person who answers one of them. What `mp.spawn` or `Process` starts has an empty
input: there it raises EOFError on rank 0, too.

## Errors you may see
- `FileNotFoundError: [Errno 2] No such file or directory`
- `EOFError: EOF when reading a line`
- `Directory not empty`

## Example
```python
accelerator.wait_for_everyone()
shutil.rmtree(oldest)
```

## Use instead
```python
accelerator.wait_for_everyone()
run_on_main(shutil.rmtree, oldest)
```

## Fix safety
`run_on_main` needs all ranks: safe where the analysis shows that they arrive, and no condition stands
around the call that ranks may answer differently; else unsafe. In a hook at the end of an epoch or of a test all
ranks meet first: one may not be done with what is removed. For `input()` always unsafe: the answer
is sent to all ranks, which needs the process group.

## Known limits
Information where nobody fails: whose files are removed late is not followed to each caller. Silent where a handler
takes the error, with `ignore_errors` or `missing_ok` where nothing is written there below, and on paths made from the
rank or from temporary names. Where a test for existence stands before it, see DL305.

## References
- accelerate 0.22.0 accelerate/accelerator.py: `save_state` with `total_limit`, repaired in 0.23.0
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.live.joint_entry import lets_engine_in, ranked
from distlint.analysis.model import evidence, place_of, related, source_of, span_of
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions import filesystem as files
from distlint.analysis.questions.locks import in_turn_by_lock
from distlint.analysis.questions.made_before import made_before_fit
from distlint.analysis.questions.sections import in_turn
from distlint.analysis.questions.shares_of_files import removed_late
from distlint.analysis.questions.terminals import QUESTIONS, without_terminal
from distlint.edits import Insert
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.schema import Effect
from distlint.patterns import pattern
from distlint.repairs import guarding
from distlint.repairs.premises import everyone_comes, on_import
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.joint_entry import JointEntry
    from distlint.analysis.model import Model

CODE = "DL303"
NAME = "destructive-call-on-all-ranks"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_AT_THE_END = pattern("^on_.*_end$|_epoch_end$")
"""Hooks to which the ranks come as they get done with their shares."""


def check(model: Model) -> Iterator[Finding]:
    """Removals of one path, and questions, by several ranks."""
    for found in model.file_calls:
        joint_entry = found.joint_entry
        if (
            joint_entry is None
            or found.effect is not Effect.DELETE
            or not found.by_several
            or files.check_before(found) is not None
            or files.tolerated(found.site)
            or in_turn(model, found.site)
            or in_turn_by_lock(model, found.site, once=True)
            or not files.same_path(model, found, listed=True)
            or model.starts_one(found.site.module, joint_entry)
            # A file is gone when `fit` starts the others; a folder may be there anew. foldingdiff 18c8653 foldingdiff/datasets.py:302.
            or (
                found.site.method in ("remove", "unlink")
                and made_before_fit(found)
                and model.ranks_come_in_fit(joint_entry.module)
            )
        ):
            continue
        if any(g.taken and lets_engine_in(g.node) for g in found.site.guards):
            # `run_on_main()` would wait in vain where the test lets rank 0 alone in.
            when, advice = ("in DeepSpeed or FSDP ", "Ask for rank 0 alone around it")
        else:
            when, advice = ("", "Remove it on rank 0 while the others wait: `run_on_main()`")
        yield _finding(
            model,
            found.site,
            f"{when}the first rank removes `{found.text}` and the others fail, or remove what is new there: "
            f"{joint_entry.text}. {advice}.",
            joint_entry,
            broadcast=False,
            severity=Severity.WARNING if found.site.guards else SEVERITY,
        )
    yield from _late(model)
    for call in model.calls(*QUESTIONS):
        joint_entry = model.joint_entry_at(call)
        if (
            joint_entry is None
            or len(call.classes) == 1
            or ranked(call.site)
            or _set_up_like_others(call.site, joint_entry)
        ):
            continue
        if without_terminal(model, joint_entry):
            if not call.site.tries:
                yield _asked_in_a_child(call.site, joint_entry)
        else:
            yield _finding(
                model,
                call.site,
                f"every rank waits for an answer at a terminal that one process has: {joint_entry.text}. "
                "Ask on rank 0 and send the answer to all: `run_on_main(..., broadcast=True)`.",
                joint_entry,
                broadcast=True,
                # Behind a switch it is an aid for debugging that somebody turns on at one terminal.
                severity=Severity.WARNING if call.site.guards else SEVERITY,
            )


def _late(model: Model) -> Iterator[Finding]:
    """Removals that do not fail, and take what the faster ranks have written since."""
    for late in model.answer(removed_late):
        removed, written = late.used, late.written
        if not removed.module.source.reported or model.starts_one(removed.module):
            continue
        advice = "Remove it on rank 0, and let all ranks wait behind it: `run_on_main()`"
        yield Finding(
            CODE,
            NAME,
            Severity.INFO,
            f"every rank removes the folder, and one that comes later removes what the others have written into it "
            f"since (line {written.node.lineno}): nothing between makes them wait. {advice}.",
            place_of(removed.module, removed.node),
            (related(written.module, written.node, "each rank writes a file of its own"),),
            Fix(Applicability.DISPLAY, advice),
        )


def _asked_in_a_child(site: CallSite, joint_entry: JointEntry) -> Finding:
    """Where `mp.spawn` or `Process` has started the ranks: rank 0 has no terminal either."""
    asks = source_of(site.module, site.node.func)
    advice = "Ask before the processes are started, and hand the answer to them"
    return Finding(
        CODE,
        NAME,
        Severity.WARNING if site.guards else SEVERITY,
        f"`{asks}()` raises EOFError on every rank: `multiprocessing` has started them with an empty input. {advice}.",
        place_of(site.module, site.node),
        evidence(joint_entry),
        Fix(Applicability.DISPLAY, advice),
    )


def _set_up_like_others(site: CallSite, joint_entry: JointEntry) -> bool:
    """Whether a conversation merely calls the project's setup, which makes a group where there are ranks.

    nanochat 92d63d4 scripts/chat_cli.py:53: `compute_init()` of all scripts, and a prompt for one process.
    """
    top = joint_entry.call.function if joint_entry.call is not None else site.function
    return joint_entry.starts and not any(node is joint_entry.node for node in own_nodes(top))


def _finding(
    model: Model,
    site: CallSite,
    message: str,
    joint_entry: JointEntry,
    *,
    broadcast: bool,
    severity: Severity = SEVERITY,
) -> Finding:
    return Finding(
        CODE,
        NAME,
        severity if joint_entry.all_ranks else Severity.WARNING,
        message,
        place_of(site.module, site.node),
        evidence(joint_entry),
        _fix(model, site, joint_entry, broadcast),
    )


def _fix(model: Model, site: CallSite, joint_entry: JointEntry, broadcast: bool) -> Fix | None:
    if (moved := on_import(joint_entry)) is not None:
        return moved
    statement = site.statement
    alone = isinstance(statement, ast.Expr) and statement.value is site.node
    if any(guard.value.variance is not Variance.UNIFORM for guard in site.guards):
        return None  # each rank decides for itself: what needs all ranks would hang here
    if not alone and not broadcast:
        return None
    if broadcast and site.tries:
        # Of what ends an input (end of file, Ctrl-C) the others hear by an error of another class, which the
        # handler does not take.
        return Fix(
            Applicability.DISPLAY,
            "Ask on rank 0, handlers included, in a function for `run_on_main(..., broadcast=True)`",
        )
    # Nobody reads the answer to a bare `input()`, which only waits
    # (FlagEmbedding 7ed43d6 research/llm_embedder/src/lm/modeling_srlm.py:196).
    answered = broadcast and not alone
    edit = guarding.call_on_main(site.module.source.text, site.node, broadcast=answered)
    if edit is None:
        return None
    safe = everyone_comes(model, site, joint_entry) and not broadcast
    least = Applicability.SAFE if safe else Applicability.UNSAFE
    if _AT_THE_END.search(site.function.name) and not broadcast:
        # threestudio 28d9d80 threestudio/systems/zero123.py:319: a slower rank still writes into the folder.
        return Fix(
            least,
            "Wait for all ranks with `barrier()`, then do it on rank 0: `run_on_main()`",
            (Insert(span_of(statement), "$barrier()"), edit),
        )
    return Fix(least, "Do it on rank 0 while the others wait: `run_on_main()`", (edit,))
