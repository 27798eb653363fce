"""A breakpoint in code that several ranks run: one prompt for many processes, and a timeout that ends the job.

## What it does
Reports `breakpoint()`, `pdb.set_trace()` and their like where the program shows that several ranks come there, and
under a condition on the rank, where one rank stops and the others go on.

## Why it is bad
Under a launcher the ranks share one terminal, or have none: each of them prints a prompt, and what is typed goes to
any of them; without a terminal `BdbQuit` ends the job. `if rank == 0: breakpoint()` gives one prompt, and the other
ranks wait in the next collective, where the watchdog ends the job after its timeout while you look around.

## Errors you may see
- `BdbQuit`
- `Watchdog caught collective operation timeout`

## Example
```python
if dist.get_rank() == 0:
    breakpoint()
loss = model(batch).mean()
```

## Use instead
```python
from distlint.runtime import breakpoint

breakpoint()
loss = model(batch).mean()
```

## Fix safety
The runtime's `breakpoint()` must be called by all ranks: one stops, the others wait for it, outside of every process
group's timeout. Safe where the analysis shows that all ranks come to the call; unsafe where it takes the place of an
`if` on the rank, and where the call is taken out, as an error is raised right below it; shown only in an `except` and under a condition that each rank answers for its own numbers, where
one rank may be alone. An import that nothing else uses goes with the old call.

## Known limits
Information where nothing shows that several ranks come there together, in a file of distributed code: a data set, a
helper, a branch for errors. Silent in other files, under a condition that speaks of debugging, and on
`torch.distributed.breakpoint()`.

## References
- torch 2.13.0, `distributed/__init__.py`: `breakpoint`
- [Debugging FSDP](../debugging-fsdp.md)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.values import AGREED, Variance
from distlint.analysis.live.joint_entry import maybe_guarded
from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.filesystem import refuses
from distlint.analysis.questions.possible import for_errors, possible
from distlint.edits import Delete, Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.debugging import BREAKPOINTS
from distlint.nodes import last_name, walk
from distlint.repairs.blocks import block_with
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite, Guard
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.program.definitions import Function

CODE = "DL701"
NAME = "breakpoint-on-some-ranks"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_OF_NUMBERS = frozenset(
    {"isnan", "isinf", "isfinite", "any", "all", "item", "isclose", "allclose", "equal"}
)
"""Calls that ask something of the numbers that a rank has."""
_EQUALIZERS = frozenset({"all_reduce", "broadcast"})
_OPTIONS = ("args", "opt", "opts", "options", "FLAGS", "flags")
"""Names of what a command line is parsed into."""

_OF_DATA = frozenset({"__getitem__", "__iter__", "__next__", "__call__", "collate_fn", "forward"})
"""Methods of data sets, collators and modules, which each rank runs."""


def check(model: Model) -> Iterator[Finding]:
    """Breakpoints that several ranks pass, or that one rank alone stops at."""
    told: set[int] = set()
    for call in model.calls(*BREAKPOINTS):
        site = call.site
        if any("debug" in source_of(site.module, g.node).lower() for g in site.guards):
            continue
        if _is_for_a_signal(call):
            continue
        told.add(id(site.node))
        if call.guarded_by_rank:
            yield _on_some(call)
        elif (
            len(call.classes) > 1
            and not maybe_guarded(site)
            and (model.joint_entry_at(call) or model.collective_beside(call)) is not None
        ):
            yield _on_all(call)
        else:
            told.discard(id(site.node))
    for function, node, _, around in possible(model, BREAKPOINTS):
        rare = for_errors(function, around, node)
        if id(node) not in told and (rare or function.name in _OF_DATA):
            yield _left_in(function, node, rare=rare)


def _left_in(function: Function, node: ast.Call, *, rare: bool) -> Finding:
    """A breakpoint in a file of distributed code, in a data set, a helper or a branch for errors."""
    text = (
        "a rank that comes here stops, and the others wait for it in the next collective until the watchdog ends the "
        "job. Raise an error instead."
        if rare
        else "each rank that comes here stops at a prompt that nobody sees under a launcher. Take it out, or call the "
        "runtime's `breakpoint()` where all ranks come."
    )
    return Finding(CODE, NAME, Severity.INFO, text, place_of(function.module, node))


def _is_for_a_signal(call: CallGroup) -> bool:
    """Whether the function waits for a person's signal (latent-diffusion, main.py: `divein`)."""
    own = call.site.function.name
    for function in call.site.module.all_functions:
        for node in own_nodes(function):
            match node:
                case ast.Call(func=ast.Attribute(attr="signal"), args=[_, ast.Name(id=name)]):
                    if name == own:
                        return True
    return False


def _on_all(call: CallGroup) -> Finding:
    site = call.site
    text = (
        "Every rank stops here, and one terminal cannot serve them all. Use the runtime's `breakpoint()`: "
        "one rank stops, the others wait for it."
    )
    alike = _made_alike(site)
    # A rank that an assertion further up stops is not among those that wait
    # (Otter 1e7eb9a pipeline/mimicit_utils/mimicit_dataset.py:239).
    asked = (guard for guard in site.guards if not refuses(site.function, guard))
    apart = next((guard for guard in asked if _may_differ(guard, alike)), None)
    # What one rank alone has caught stops it alone, and nobody comes to the others' call
    # (wenet 0154699 wenet/models/finetune/lora/utils.py:334).
    caught = any(
        part is site.node
        for handler in own_nodes(site.function)
        if isinstance(handler, ast.ExceptHandler)
        for part in walk(handler)
    )
    fix = Fix(
        Applicability.DISPLAY,
        "Use the runtime's `breakpoint()` where all ranks come, behind the `try`",
    )
    if apart is not None:
        # Those who wait in it wait for ranks that have no such number, and never come.
        text = (
            f"Each rank with `{source_of(apart.module, apart.node)}` stops here, and the others wait in the next "
            "collective until the watchdog ends the job. Let all ranks answer the condition alike, and call the "
            "runtime's `breakpoint()`."
        )
        advice = "Let all ranks answer the condition alike, and call the runtime's `breakpoint()`"
        fix = Fix(Applicability.DISPLAY, advice)
    elif isinstance(_beside(site.function, site.statement, 1), ast.Raise):
        # Nobody goes on from there; HumanBench core/data/datasets/images/parsing_dataset.py:529: ranks that do
        # not have this data set never come.
        edits = (Delete(span_of(site.statement)), *_needless_import(site))
        fix = Fix(Applicability.UNSAFE, "Take it out: an error is raised right below", edits)
        text = (
            "Every rank stops here, and one terminal cannot serve them all. Take it out: an error is raised right "
            "below it."
        )
    elif not caught:
        fix = Fix(
            Applicability.SAFE if call.by_all else Applicability.UNSAFE,
            "Stop one rank, and let the others wait",
            (Replace(span_of(site.node), "$breakpoint()"), *_needless_import(site)),
        )
    severity = Severity.WARNING if any(map(_is_asked_for, site.guards)) else SEVERITY
    return Finding(CODE, NAME, severity, text, place_of(site.module, site.node), (), fix)


def _made_alike(site: CallSite) -> set[str]:
    """The tensors that a collective above a call fills alike on all ranks."""
    return {
        ast.unparse(node.args[0])
        for node in own_nodes(site.function)
        if isinstance(node, ast.Call)
        and node.args
        and node.lineno < site.node.lineno
        and last_name(node.func) in _EQUALIZERS
    }


def _may_differ(guard: Guard, alike: set[str]) -> bool:
    """Whether each rank answers a condition for itself: what it computes of numbers no collective made alike.

    StyleTTS2 5cedc71 train_finetune_accelerate.py:466: `if torch.isnan(g_loss): set_trace()`.
    """
    if guard.value.variance is not Variance.UNIFORM:
        return True
    parts = list(walk(guard.node))
    asks = any(isinstance(n, ast.Call) and last_name(n.func) in _OF_NUMBERS for n in parts)
    given = {ast.unparse(node) for node in parts if isinstance(node, ast.expr)}
    return asks and AGREED not in guard.value.tags and given.isdisjoint(alike)


def _needless_import(site: CallSite) -> tuple[Delete, ...]:
    """The import of what the call alone uses goes with it, where it imports nothing else."""
    name = ast.unparse(site.node.func).partition(".")[0]
    for scope in (site.function.node, site.module.source.tree):
        named = _named(scope, name)
        imports = [
            node
            for node in walk(scope)
            if isinstance(node, ast.Import | ast.ImportFrom)
            and any(name == (a.asname or a.name.partition(".")[0]) for a in node.names)
        ]
        if imports:
            # `import pdb; pdb.set_trace()` twice in a function (HumanBench core/data/test_datasets/images/
            # reid_dataset.py:226): each call has an import of its own.
            served = [_named(_beside(site.function, each, 1), name) for each in imports]
            own = _beside(site.function, site.statement, -1)
            if own in imports and all(served) and named == set().union(*served):
                imports = [each for each in imports if each is own]
            elif not len(named) == len(imports) == 1:
                return ()
            return (Delete(span_of(imports[0])),) if len(imports[0].names) == 1 else ()
    return ()


def _named(scope: ast.AST | None, name: str) -> set[int]:
    """The places in which a name is used below a node."""
    nodes = walk(scope) if scope is not None else ()
    return {id(node) for node in nodes if isinstance(node, ast.Name) and node.id == name}


def _beside(function: Function, statement: ast.stmt, step: int) -> ast.stmt | None:
    """The statement before (-1) or after (1) another one in its block."""
    block = block_with(function, statement) or []
    at = block.index(statement) + step if statement in block else -1
    return block[at] if 0 <= at < len(block) else None


def _is_asked_for(guard: Guard) -> bool:
    """Whether somebody has to switch it on: a flag of the command line (GLIP 9dda955 tools/finetune.py:456)."""
    match guard.node:
        case ast.Attribute(value=ast.Name(id=owner)):
            return guard.taken and not guard.exits and owner in _OPTIONS
    return False


def _on_some(call: CallGroup) -> Finding:
    site = call.site
    text = (
        "One rank stops here, and the others wait in the next collective until the watchdog ends the job. "
        "Call the runtime's `breakpoint()` on all ranks."
    )
    guards = tuple(
        related(g.module, g.node, "the ranks part here")
        for g in site.guards
        if "rank" in g.value.tags
    )
    fix = Fix(Applicability.DISPLAY, "Call the runtime's `breakpoint()` on all ranks")
    alone = _only_guards(call)
    if alone is not None:
        edit = Replace(span_of(alone), "$breakpoint()")
        fix = Fix(Applicability.UNSAFE, "Stop rank 0, and let the others wait", (edit,))
    return Finding(CODE, NAME, SEVERITY, text, place_of(site.module, site.node), guards[:1], fix)


def _only_guards(call: CallGroup) -> ast.If | None:
    """The `if` that holds the call and nothing else, where rank 0 is the one that stops."""
    if not all(rank.rank == 0 for rank in call.classes):
        return None
    for node in own_nodes(call.site.function):
        match node:
            case ast.If(body=[ast.Expr(value=only)], orelse=[]) if only is call.site.node:
                return node
    return None
