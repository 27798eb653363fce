"""Forwards of DDP without gradients: what their one broadcast of buffers meets.

torch 2.13.0 torch/nn/parallel/distributed.py:1829, :1841, :2384: a forward broadcasts the buffers where the one before
had gradients, and none where it had none. So one broadcast stands between two training steps, in the first forward of
an evaluation or in the next step's. Run on two processes: rank 0 alone evaluates for three batches behind the second
step, and the training goes on and ends.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ir import CallStep, Event, InlineBody, Layer, UnknownCall
from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.places import place_of_any
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.wrapped import without_gradients
from distlint.analysis.traces.compare import Comparison
from distlint.analysis.traces.graph import steps_below
from distlint.analysis.traces.nodes import (
    OPAQUE,
    BranchNode,
    CallNode,
    EventNode,
    LoopNode,
    Node,
)
from distlint.nodes import children, last_name, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distlint.analysis.interpreter.ir import CallSite, Summary
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.traces.divergence import Divergence
    from distlint.analysis.traces.graph import Graphs

_LOOPS: Final = (ast.For, ast.AsyncFor, ast.While)
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_IN_DDP: Final = frozenset({"ddp", "accelerate"})
_STEPS: Final = 2000
"""How many nodes of the graphs are looked at behind a forward."""


def first_alone_waits(divergence: Divergence) -> bool:
    """Whether what some ranks wait in is a forward of DDP without gradients, of which the first alone is a collective.

    openvla-oft 213c5ff vla-scripts/finetune.py:735: `with torch.no_grad()` stands around the call of the function
    that runs the forward, in a loop that each rank leaves by its own clock.
    """
    event = divergence.event
    if event.op != "forward" or event.layer is not Layer.WRAPPED:
        return False
    return event.first_only or _called_without_gradients(divergence)


def _called_without_gradients(divergence: Divergence) -> bool:
    functions = [divergence.function, *(call.summary.function for call in divergence.chain)]
    return any(
        without_gradients(function, call.node)
        for function, call in zip(functions, divergence.chain, strict=False)
    )


def meets_next_step(graphs: Graphs, divergence: Divergence) -> bool:
    """Whether ranks that do not evaluate come next to a forward of the same model in training, which makes the
    broadcast that the others' next one then leaves out; of a model that the launch wraps, where that is in DDP.

    barlowtwins 8e8d284 evaluate.py:186: rank 0 evaluates after each epoch. Not so behind the first step of all: the
    others come to DDP's second forward, which first rebuilds the buckets (vq-vae-2-pytorch ef5f67c train_vqvae.py:71),
    but where DDP looks for unused parameters, and never does (AnyGPT 282b58f soundstorm_speechtokenizer/trainer.py:356).
    """
    site = divergence.event.site
    if site is None or divergence.event.op != "forward" or not _runs_in_ddp(site):
        return False
    if not _has_no_gradients(divergence, site):
        return False
    if _in_first_step(divergence) and not _keeps_buckets(site):
        return False
    following = _following(graphs, divergence)
    forwards = [act for act in following if act.event.op == "forward"]
    # A way to `backward()` past each forward is of no launch: SSAE train.py:476, `if phase == 1:` and `if phase == 2 or …`.
    return (
        bool(forwards)
        and all(act.event.op in ("forward", "backward") for act in following)
        and all(
            act.event.site is not None
            and _wrap(act.event.site) is not None
            and _wrap(act.event.site) is _wrap(site)
            for act in forwards
        )
    )


def follows_another(live: LiveProgram, divergence: Divergence) -> bool:
    """Whether each rank that waits in a forward of DDP without gradients has come from another one of that model: it
    broadcasts nothing.

    GX_alBERTo 7b15839 train_ddp.py:141: rank 0 tests the model behind the last epoch, and has evaluated it at line 122.
    """
    site, found = divergence.event.site, live.summaries_of(divergence.function)
    if site is None or found is None or divergence.event.op != "forward":
        return False
    runs = [run for rank, run in found.summaries() if rank == divergence.waiters]
    return (
        bool(runs)
        and _runs_in_ddp(site)
        and _has_no_gradients(divergence, site)
        and all(_has_evaluated(run, divergence, site) for run in runs)
    )


def _has_evaluated(run: Summary, divergence: Divergence, site: CallSite) -> bool:
    """Whether the last forward of a model above the place where ranks part is one without gradients, under no condition."""
    line = place_of_any(divergence.anchor)[0]
    above = [
        (at, step)
        for step in steps_below(run.steps)
        if isinstance(step, Event | CallStep | InlineBody | UnknownCall)
        and (at := place_of_any(step.node)[0]) < line
    ]
    forwards = [
        (at, step, step.site)
        for at, step in above
        if isinstance(step, Event)
        and step.op == "forward"
        and step.site is not None
        and _wrap(step.site) is _wrap(site)
    ]
    if not forwards:
        return False
    last, event, before = max(forwards, key=lambda each: each[0])
    by_rank = {id(guard.node) for guard in run.rank_conditions}
    return (
        _is_left_out(event)
        and all(isinstance(step, Event) for at, step in above if at > last)
        and all(id(guard.node) in by_rank for guard in before.guards)
        and all(any(each is loop for each in before.loops) for loop in _loops_around(divergence))
    )


def _has_no_gradients(divergence: Divergence, site: CallSite) -> bool:
    alone = divergence.event.first_only or without_gradients(site.function, site.node)
    return alone or _called_without_gradients(divergence)


def _runs_in_ddp(site: CallSite) -> bool:
    """Whether the outermost layer of what is called is DDP, by its own name or where the launch asks for it."""
    wraps = site.receiver.wraps if site.receiver is not None else ()
    return bool(wraps) and wraps[-1].kind in _IN_DDP


def _wrap(site: CallSite) -> ast.AST | None:
    return site.receiver.wraps[-1].node if site.receiver and site.receiver.wraps else None


def _keeps_buckets(site: CallSite) -> bool:
    """Whether DDP looks for unused parameters: then it rebuilds no buckets, and its second forward is as any other.

    torch 2.13.0 torch/csrc/distributed/c10d/reducer.hpp: `should_rebuild_buckets()`. accelerate takes the option from
    `DistributedDataParallelKwargs`.
    """
    layer = site.receiver.wraps[-1] if site.receiver is not None else None
    if layer is None:
        return False
    within = layer.node if layer.kind == "ddp" else layer.module.source.tree
    return any(
        node.arg == "find_unused_parameters"
        and isinstance(node.value, ast.Constant)
        and node.value.value is True
        for node in walk(within, ast.keyword)
    )


def _following(graphs: Graphs, divergence: Divergence) -> list[EventNode]:
    """What may come next behind a forward, through the calls that lead to it, but for forwards without gradients."""
    comparison = Comparison(graphs, Layer.WRAPPED)
    found: dict[EventNode, None] = {}
    out = tuple(call.next for call in divergence.chain)
    seen: set[tuple[Node, tuple[Node, ...]]] = set()
    work: list[tuple[Node, tuple[Node, ...]]] = [(divergence.act.next, out)]
    while work and len(seen) < _STEPS:
        node, returns = work.pop()
        if (node, returns) in seen:
            continue
        seen.add((node, returns))
        match node:
            case EventNode(event=event):
                counted = comparison.counts(node) or event.op.startswith(OPAQUE)
                if not counted or _is_left_out(event):
                    work.append((node.next, returns))
                else:
                    found[node] = None
            case BranchNode():
                work += [(node.then, returns), (node.orelse, returns)]
            case LoopNode():
                work += [(way, returns) for way in (node.body, node.exit) if way is not None]
            case CallNode():
                root = graphs.root(node.summary, node.known, node.passed)
                work.append((root, (*returns, node.next)))
            case _ if returns:
                work.append((returns[-1], returns[:-1]))
    return list(found)


def _is_left_out(event: Event) -> bool:
    """Whether an event makes no broadcast in DDP behind a forward: one more without gradients, or one of sharded models."""
    site = event.site
    if event.op != "forward" or site is None or not _runs_in_ddp(site):
        return event.first_only or event.layer is Layer.SHARDED
    return event.first_only or without_gradients(site.function, site.node)


def _in_first_step(divergence: Divergence) -> bool:
    """Whether the evaluation also stands behind the first batch: under `i % 100 == 0`, of what counts the steps from 0."""
    counted = {*_counted_from_zero(divergence.function), *_counted_below(divergence)}
    return not _is_in_front_of_step(divergence) and any(
        any(inner is divergence.anchor for part in node.body for inner in walk(part))
        and any(
            isinstance(asked.op, ast.Mod) and dotted_name(asked.left) in counted
            for asked in walk(node.test, ast.BinOp)
        )
        for node in own_nodes(divergence.function, ast.If)
    )


def _is_in_front_of_step(divergence: Divergence) -> bool:
    """Whether a turn of the loop trains below the evaluation alone: at step 0, the others come to DDP's first forward.

    GOTHAM 7ef09cc src/train.py:283: `if iter_num % eval_interval == 0 and (rank == 0):`, and the micro-batches below.
    """
    line = place_of_any(divergence.anchor)[0]
    steps = [
        node.lineno
        for loop in _loops_around(divergence)
        for node in walk(loop, ast.Call)
        if last_name(node) == "backward"
    ]
    return bool(steps) and min(steps) > line


def _loops_around(divergence: Divergence) -> list[ast.For | ast.AsyncFor | ast.While]:
    return [
        node
        for node in own_nodes(divergence.function)
        if isinstance(node, _LOOPS) and any(inner is divergence.anchor for inner in walk(node))
    ]


def _counted_below(divergence: Divergence) -> set[str]:
    """What a loop over the steps counts below the evaluation alone: it is asked of the first before it has counted.

    AnyGPT 282b58f soundstorm_speechtokenizer/trainer.py:356: `if self.is_main and not (steps % self.save_model_steps):`,
    and `self.steps += 1`, `steps = int(self.steps.item())` below.
    """
    steps = [
        loop
        for loop in _loops_around(divergence)
        if any(isinstance(n, ast.Call) and last_name(n) == "backward" for n in _each_turn(loop))
    ]
    if not steps:
        return set()
    given = [
        (node.lineno, name)
        for node in _each_turn(steps[-1])
        if isinstance(node, ast.Assign | ast.AugAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if (name := dotted_name(target))
    ]
    line = place_of_any(divergence.anchor)[0]
    return {name for at, name in given if at > line} - {name for at, name in given if at < line}


def _each_turn(loop: ast.For | ast.AsyncFor | ast.While) -> Iterator[ast.AST]:
    """The nodes of a loop's body, but for those of loops and functions in it."""
    work: list[ast.AST] = list(loop.body)
    while work:
        node = work.pop()
        yield node
        work += [c for c in children(node) if not isinstance(c, (*_LOOPS, *_DEFINITIONS))]


def _counted_from_zero(function: Function) -> list[str]:
    return [
        node.target.elts[0].id
        for node in own_nodes(function, ast.For)
        if isinstance(node.target, ast.Tuple)
        and isinstance(node.target.elts[0], ast.Name)
        and isinstance(node.iter, ast.Call)
        and last_name(node.iter) == "enumerate"
        and len(node.iter.args) == 1
        and not node.iter.keywords
    ]
