"""A section that one rank runs first holds what must happen once, or what needs all ranks.

## What it does
Reports, in the body of `main_process_first()`, `local_main_process_first()` and their relatives, a
collective, or the removal of a path, that every rank performs.

## Why it is bad
Such a section is for work that is cheap the second time: a download, a cached `map`. Every rank runs its
body. A removal is repeated by all the others, after the first rank has put something new there. A
collective meets the barrier of the section: the first rank reduces while the others wait to enter, and the job
hangs or fails.

## Example
```python
with accelerator.main_process_first():
    shutil.rmtree(cache)
    dataset = dataset.map(tokenize)
```

## Use instead
```python
run_on_main(shutil.rmtree, cache)
with accelerator.main_process_first():
    dataset = dataset.map(tokenize)
```

## Fix safety
Shown, not applied: what has to come out of the section, and to which side, is a decision.

## Known limits
Collectives are followed into functions of the project. Silent on barriers in the sections of accelerate and
transformers and in copies of theirs: these are two barriers themselves, and barriers have no names, so that each rank
comes to as many as the others, unless they stand under a test of a path which the first rank takes away in the section.

## References
- accelerate 1.15.0 accelerate/state.py: `PartialState._goes_first`
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.live.joint_entry import BARRIERS, called, ranked
from distlint.analysis.model import place_of, related
from distlint.analysis.program.syntax import own_nodes, target_names
from distlint.analysis.questions import filesystem as files
from distlint.analysis.questions.ordering import Traces
from distlint.analysis.questions.paths import parts_of
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.schema import Effect
from distlint.patterns import pattern
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function

CODE = "DL306"
NAME = "unsafe-first-section"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
_OF_BARRIERS: Final = ("accelerate.", "transformers.")
_LOADER: Final = pattern(r"(?:data_?)?loaders?\b|DataLoader\(", re.IGNORECASE)
LITERALS = (b"process_first", b"rank_zero_first", b"master_first")


def check(model: Model) -> Iterator[Finding]:
    """Collectives and removals in sections that one rank runs first."""
    traces = model.answer(Traces)
    for function, block in model.first_blocks:
        for found in model.file_calls:
            if (
                found.function is function
                and files.stands_in(found.site, block)
                and found.effect is Effect.DELETE
                and found.by_several
                and not files.tolerated(found.site)
                and files.check_before(found) is None
                and files.same_path(model, found, listed=True)
            ):
                yield _finding(
                    found.site,
                    block,
                    f"the ranks that come second remove `{found.text}` again, with what the first "
                    "rank has put there. Take it out of the section and let rank 0 alone do it.",
                )
        for site, inner in _collectives(model, traces, function, block):
            yield _finding(
                site,
                block,
                f"the first rank comes to `{inner.method}()` while the others still wait in the barrier by which they "
                "enter: they do not match. Take the collective out of the section.",
            )
        for site, gone in _barriers_of_the_first(model, function, block):
            yield _finding(
                site,
                block,
                f"the first rank finds the path, takes it away in line {gone.node.lineno} and comes to this barrier; the others "
                "find nothing and leave it out, so that the barriers of the section meet others from then on. Take the "
                "barrier out of the condition.",
            )


def _finding(site: CallSite, block: ast.With | ast.AsyncWith, message: str) -> Finding:
    advice = Fix(Applicability.DISPLAY, "Take it out of the section")
    entry = related(site.module, block.items[0].context_expr, "one rank runs this section first")
    return Finding(
        CODE, NAME, SEVERITY, message, place_of(site.module, site.node), (entry,), advice
    )


def _collectives(
    model: Model, traces: Traces, function: Function, block: ast.With | ast.AsyncWith
) -> Iterator[tuple[CallSite, CallSite]]:
    """Calls in the section that every rank makes and that lead to a collective, with that collective."""
    summaries = model.summaries_of(function)
    anonymous = _is_of_barriers(model, block)
    seen: set[int] = set()
    for _, summary in summaries.summaries() if summaries is not None else ():
        children = {id(site): child for site, child in called(summary)}
        for site in summary.calls:
            if (
                id(site.node) in seen
                or not files.stands_in(site, block)
                or ranked(site)
                or any(row.first for row in site.rows)
            ):
                continue
            child = children.get(id(site))
            steps = [s.site for s in traces.of(child)] if child is not None else []
            inner = next((s for s in (site, *steps) if _waits(s, anonymous)), None)
            if inner is not None:
                seen.add(id(site.node))
                yield site, inner


def _barriers_of_the_first(
    model: Model, function: Function, block: ast.With | ast.AsyncWith
) -> Iterator[tuple[CallSite, CallSite]]:
    """The barriers of a section under a test of a path that is gone once the first rank has been there, with what it does.

    gritlm 9710681 gritlm/training/gradcache_trainer.py:166, as transformers 4.36 src/transformers/trainer.py has it:
    `if os.path.exists(staging_dir): if rank == 0: os.rename(staging_dir, output_dir); barrier()`.
    """
    gone = [
        (parts_of(found.path, function), found.site)
        for found in model.file_calls
        if found.function is function
        and found.effect is Effect.DELETE
        and found.path is not None
        and files.stands_in(found.site, block)
    ]
    for call in model.calls(*(f".{name}" for name in BARRIERS), module=function.module):
        site = call.site
        if not gone or site.function is not function or ranked(site):
            continue
        asked = [
            parts_of(path, function)
            for guard in site.guards
            if files.stands_in(site, block) and guard.taken and not guard.exits
            for path in files.asked_paths(guard.node)
            if block.lineno <= path.lineno
        ]
        taken = next((other for path, other in gone if path in asked), None)
        if taken is not None:
            yield site, taken


def _is_of_barriers(model: Model, block: ast.With | ast.AsyncWith) -> bool:
    """Whether a section is a barrier before its body for the others, and one behind it for the first.

    Amphion d3de90f models/vc/Noro/noro_trainer.py:102: `wait_for_everyone()` in the section meets the entry of the
    others. Lightning's section has a group of its own (`_InfiniteBarrier` in fabric/utilities/distributed.py).
    """
    call = model.call_at(block.items[0].context_expr)
    name = call.site.name if call is not None else ""
    return call is not None and (name.startswith(_OF_BARRIERS) or call.site.callee is not None)


def _waits(site: CallSite, anonymous: bool) -> bool:
    """Whether a call is a collective of the default group in every mode, under no open condition, and no barrier
    that the barriers of the section match."""
    if anonymous and site.method in BARRIERS:
        return False
    for row in site.rows:
        if row.effect is Effect.COLLECTIVE and not row.first and not row.implicit_group:
            group = site.argument(row.group, row.group_keyword)
            open_ = any(guard.value.truthiness() is None for guard in site.guards)
            if (group is None or group.const is None) and not open_ and not _prepares_data(site):
                return True
    return False


def _prepares_data(site: CallSite) -> bool:
    """Whether accelerate prepares nothing but loaders, which is no collective: only what draws from them asks the others.

    catalyst e99f906 catalyst/core/runner.py:277: `self.engine.prepare(value)` for each of `loaders.items()`. accelerate
    1.15.0 accelerate/data_loader.py: `prepare_data_loader` wraps; the broadcast stands in `DataLoaderShard.__iter__`.
    """
    arguments = site.node.args
    return (
        site.method == "prepare"
        and bool(arguments)
        and all(_LOADER.search(text) for text in (_drawn_from(site, each) for each in arguments))
    )


def _drawn_from(site: CallSite, argument: ast.expr) -> str:
    """An argument as it is written; what a loop or comprehension goes through for it, if it is the variable of one."""
    if isinstance(argument, ast.Name):
        for node in own_nodes(site.function, ast.For, ast.comprehension):
            if argument.id in target_names(node.target):
                return ast.unparse(node.iter)
    return ast.unparse(argument)
