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
`if` on the rank. Where one rank may be alone, the call is taken out, which is unsafe (an error takes its place where it is all
that is done about two lengths that are not the same): in an `except`, above a `raise`,
under a condition that each rank answers for its own numbers, in a data set; where nothing comes behind it; and where the
runtime is not there when the code runs. An import that nothing else uses goes with the old call.

## Known limits
Information where nothing shows that several ranks come there together, in a file of distributed code: a data set, a
helper, a branch for errors, and where a table that is written out beside it lacks a key; and where nothing that ranks do together
follows, up to the end of the script. Silent in other files, in the
body of a script that says nothing of ranks and that nothing launches, under a condition that speaks of debugging, in an object
that is made under one, and on `torch.distributed.breakpoint()`.

## References
- torch 2.13.0, `distributed/__init__.py`: `breakpoint`
- [Debugging FSDP](../debugging-fsdp.md)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.values import AGREED, Variance
from distlint.analysis.live.joint_entry import maybe_guarded
from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.environment import blocks, evaluated_here
from distlint.analysis.program.syntax import (
    assignments,
    ends_process,
    literals,
    names_bound,
    own_nodes,
)
from distlint.analysis.questions.awaited import awaited
from distlint.analysis.questions.filesystem import refuses
from distlint.analysis.questions.launched import expects_several
from distlint.analysis.questions.possible import failing_blocks, for_errors, makers, possible
from distlint.edits import Edit, Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.debugging import BREAKPOINTS
from distlint.knowledge.facts import is_data_set
from distlint.nodes import last_name, walk
from distlint.repairs.meeting import hindrance
from distlint.repairs.taking_out import taken_out, without_import
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

_ALONE = "stops here, and the others wait in the next collective until the watchdog ends the job. Take it out."

_OF_NUMBERS = frozenset(
    {"isnan", "isinf", "isfinite", "any", "all", "item", "isclose", "allclose", "equal"}
)
"""Calls that ask something of the numbers that a rank has."""
_BROKEN = frozenset({"isnan", "isinf", "isfinite"})
"""Those that nobody asks of what is no tensor."""
_AS_MANY_AS = frozenset({"nonzero", "argwhere", "unique", "unique_consecutive"})
"""Calls that return as many elements as the numbers of this rank have it."""
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
        if any(_asks_for_debugging(guard) for guard in site.guards):
            continue
        if _is_for_a_signal(call) or _is_made_for_debugging(model, site.function):
            continue
        if _fails_above(site.function, site.node):
            told.add(id(site.node))
            continue
        told.add(id(site.node))
        if any(_asks_own_table(site, guard) for guard in site.guards):
            yield _left_in(site.function, site.node, rare=True)
        elif call.guarded_by_rank:
            yield _on_some(call) if awaited(model, call.site) else _unnoticed(call.site)
        elif (
            len(call.classes) > 1
            and not maybe_guarded(site)
            and not _is_of_plain_script(model, site)
            and (model.joint_entry_at(call) or model.collective_beside(call)) is not None
        ):
            yield _on_all(model, call)
        else:
            told.discard(id(site.node))
    for function, node, _, around in possible(model, BREAKPOINTS):
        rare = for_errors(function, around, node)
        if _fails_above(function, node):
            continue
        if id(node) not in told and (rare or function.name in _OF_DATA):
            yield _left_in(function, node, rare=rare)


def _asks_for_debugging(guard: Guard) -> bool:
    """Whether a condition holds where somebody debugs: `if not cfg.debug` holds everywhere else."""
    return _says_debugging(guard.node, guard.taken)


def _says_debugging(test: ast.expr, taken: bool) -> bool:
    return any(
        holds and "debug" in ast.unparse(part).lower() for part, holds in literals(test, taken)
    )


def _is_made_for_debugging(model: Model, function: Function) -> bool:
    """Whether each object that has a method is made under such a condition.

    Superpoints_Registration 1713a3c src/trainer.py:118: `if self.opt.debug: with TorchDebugger(): …`.
    """
    made = list(makers(model, function))
    return bool(made) and all(
        any(
            isinstance(each, ast.If)
            and _says_debugging(each.test, any(part in each.body for part in around))
            for each in around
        )
        for around in made
    )


def _fails_above(function: Function, node: ast.Call) -> bool:
    """Whether a statement of the same block above reads a name that the file gives nothing: nobody comes to the breakpoint.

    UniHCP 37b93cd core/data/test_datasets/images/reid_dataset.py:66.
    """
    bound = names_bound(function.module)
    if bound is None:
        return False
    for block in blocks(function.body):
        place = next((n for n, each in enumerate(block) if node in evaluated_here(each)), None)
        if place is not None:
            return any(
                isinstance(part, ast.Name)
                and isinstance(part.ctx, ast.Load)
                and part.id not in bound
                for above in block[:place]
                if isinstance(above, ast.Expr | ast.Assign)
                for part in evaluated_here(above)
            )
    return False


def _left_in(function: Function, node: ast.Call, *, rare: bool) -> Finding:
    """A breakpoint in a file of distributed code, in a data set, a helper or a branch for errors."""
    text = (
        "a rank that comes here stops, and the others wait for it in the next collective until the watchdog ends the "
        "job. Take it out, or raise an error."
        if rare
        else "each rank that comes here stops at a prompt that nobody sees under a launcher. Take it out, or call the "
        "runtime's `breakpoint()` where all ranks come."
    )
    place = place_of(function.module, node)
    return Finding(CODE, NAME, Severity.INFO, text, place, (), _taking_out(function, node))


def _is_for_a_signal(call: CallGroup) -> bool:
    """Whether the function waits for a person's signal (latent-diffusion, main.py: `divein`)."""
    own = call.site.function.name
    for function in call.site.module.all_functions:
        for node in own_nodes(function, ast.Call):
            match node:
                case ast.Call(func=ast.Attribute(attr="signal"), args=[_, ast.Name(id=name)]):
                    if name == own:
                        return True
    return False


def _on_all(model: Model, call: CallGroup) -> Finding:
    site = call.site
    function, alike = site.function, _made_alike(site)
    # A rank that an assertion further up stops is not among those that wait
    # (Otter 1e7eb9a pipeline/mimicit_utils/mimicit_dataset.py:239).
    asked = [guard for guard in site.guards if not refuses(function, guard)]
    apart = next((guard for guard in reversed(asked) if _may_differ(function, guard, alike)), None)
    if apart is not None:
        # Those who wait in it wait for ranks that have no such number, and never come.
        text = f"Each rank with `{source_of(apart.module, apart.node)}` {_ALONE}"
    elif any(part is site.node for block in failing_blocks(function) for part in _below(block)):
        # What one rank alone has caught stops it alone (wenet 0154699 wenet/models/finetune/lora/utils.py:334).
        text = f"A rank that fails {_ALONE}"
    elif _is_of_data(model, function) or hindrance(model, function, span_of(site.node)):
        text = f"A rank that comes here {_ALONE}"
    elif _is_last(function, site.node):
        text = "Every rank stops here when its work is done, and one terminal cannot serve them all. Take it out."
    else:
        text = (
            "Every rank stops here, and one terminal cannot serve them all. Use the runtime's `breakpoint()`: "
            "one rank stops, the others wait for it."
        )
        edits: tuple[Edit, ...] = (
            Replace(span_of(site.node), "$breakpoint()"),
            *without_import(function, site.node),
        )
        by_all = Applicability.SAFE if call.by_all else Applicability.UNSAFE
        fix = Fix(by_all, "Stop one rank, and let the others wait", edits)
        return _found(site, text, fix)
    if text.endswith(_ALONE) and not awaited(model, site):
        return _unnoticed(site)
    return _found(site, text, _taking_out(function, site.node))


def _unnoticed(site: CallSite) -> Finding:
    """A breakpoint behind which the ranks do nothing together any more."""
    text = "A rank that comes here stops at a prompt, and nothing shows that others come to wait for it. Take it out."
    found = _found(site, text, _taking_out(site.function, site.node))
    return replace(found, severity=Severity.INFO)


def _found(site: CallSite, text: str, fix: Fix) -> Finding:
    severity = Severity.WARNING if any(map(_is_asked_for, site.guards)) else SEVERITY
    return Finding(CODE, NAME, severity, text, place_of(site.module, site.node), (), fix)


def _taking_out(function: Function, node: ast.Call) -> Fix:
    """The fix of a breakpoint to which no other rank comes: who debugs on one process misses it."""
    edits = taken_out(function, node)
    raises = any(isinstance(each, Replace) for each in edits)
    advice = "Raise an error in its place" if raises else "Take it out"
    return Fix(Applicability.UNSAFE if edits else Applicability.DISPLAY, advice, edits)


def _below(block: list[ast.stmt]) -> Iterator[ast.AST]:
    return (part for statement in block for part in walk(statement))


def _is_of_data(model: Model, function: Function) -> bool:
    """Whether a data set's method stops: it may be made by the ranks of one task alone, or be in a loader's worker."""
    return function.cls is not None and is_data_set(model.program.mro(function.cls)[1])


def _is_last(function: Function, node: ast.Call) -> bool:
    """Whether nothing comes behind a call, or the end of the process alone."""
    match [s for s in function.body if s.lineno >= node.lineno]:
        case [ast.Expr(value=only)]:
            return only is node
        case [ast.Expr(value=first), ast.Expr(value=ast.Call(func=called))]:
            return first is node and ends_process(called)
    return False


def _made_alike(site: CallSite) -> set[str]:
    """The tensors that a collective above a call fills alike on all ranks."""
    return {
        ast.unparse(node.args[0])
        for node in own_nodes(site.function, ast.Call)
        if node.args and node.lineno < site.node.lineno and last_name(node.func) in _EQUALIZERS
    }


def _may_differ(function: Function, guard: Guard, alike: set[str]) -> bool:
    """Whether each rank answers a condition for itself: what it computes of numbers no collective made alike.

    StyleTTS2 5cedc71 train_finetune_accelerate.py:466: `if torch.isnan(g_loss): set_trace()`. hotr d3cb632
    hotr/models/hotr_matcher.py:121: the lengths of what `torch.nonzero()` has found. Hulk afdcd95
    core/solvers/solver_mae_devnew.py:639: `bad = [name for name, p in … if torch.isnan(p.grad).any()]`, `if len(bad):`.
    """
    if guard.value.variance is not Variance.UNIFORM:
        return True
    parts = list(walk(guard.node))
    given_to = assignments(function)
    made_of = [made for n in parts if isinstance(n, ast.Name) for made in given_to.get(n.id, ())]
    of_broken = [
        made
        for made in made_of
        if any(last_name(call.func) in _BROKEN for call in walk(made, ast.Call))
    ]
    asks = (
        any(isinstance(n, ast.Call) and last_name(n.func) in _OF_NUMBERS for n in parts)
        or any(last_name(made) in _AS_MANY_AS for made in made_of)
        or bool(of_broken)
    )
    parts += [part for made in of_broken for part in walk(made)]
    given = {ast.unparse(node) for node in parts if isinstance(node, ast.expr)}
    return asks and AGREED not in guard.value.tags and given.isdisjoint(alike)


def _is_of_plain_script(model: Model, site: CallSite) -> bool:
    """Whether a call stands in the body of a script that nothing launches and that says nothing of ranks.

    SwissArmyTransformer examples/vit/transform_param.py:79 converts weights, once.
    """
    module = site.module
    return site.function.is_module_body and not (
        expects_several(module) or model.launch.starting(module.path)
    )


def _asks_own_table(site: CallSite, guard: Guard) -> bool:
    """Whether a call stands where a table that the function writes out lacks a key: its author's slip, or never.

    MeshTransformer cefc4af metro/utils/renderer.py:222: `if child not in ecolors.keys()`.
    """
    match guard.node:
        case ast.Compare(ops=[ast.NotIn()], comparators=[ast.Name(id=name)]) if guard.taken:
            pass
        case ast.Compare(
            ops=[ast.NotIn()],
            comparators=[ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="keys"))],
        ) if guard.taken:
            pass
        case _:
            return False
    given = assignments(site.function).get(name, ())
    return bool(given) and all(
        isinstance(v, ast.Dict | ast.Set | ast.List | ast.Tuple) for v in given
    )


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
    for node in own_nodes(call.site.function, ast.If):
        match node:
            case ast.If(body=[ast.Expr(value=only)], orelse=[]) if only is call.site.node:
                return node
    return None
