"""Forwards of DDP without gradients: what their one broadcast of buffers meets.

torch 2.13.0 torch/nn/parallel/distributed.py:1829, :1841, :2384: a forward broadcasts the buffers where the one before
had gradients, and none where it had none. So one broadcast stands between two training steps, in the first forward of
an evaluation or in the next step's. Run on two processes: rank 0 alone evaluates for three batches behind the second
step, and the training goes on and ends.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ir import Layer
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.wrapped import without_gradients
from distlint.analysis.traces.compare import Comparison
from distlint.analysis.traces.nodes import (
    OPAQUE,
    BranchNode,
    CallNode,
    EventNode,
    LoopNode,
    Node,
)
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.traces.divergence import Divergence
    from distlint.analysis.traces.graph import Graphs

_STEPS = 2000
"""How many nodes of the graphs are looked at behind a forward."""


def first_alone_waits(divergence: Divergence) -> bool:
    """Whether what some ranks wait in is a forward of DDP without gradients, of which the first alone is a collective.

    openvla-oft 213c5ff vla-scripts/finetune.py:735: `with torch.no_grad()` stands around the call of the function
    that runs the forward, in a loop that each rank leaves by its own clock.
    """
    event = divergence.event
    if event.op != "forward" or event.layer is not Layer.WRAPPED:
        return False
    functions = [divergence.function, *(call.summary.function for call in divergence.chain)]
    return event.first_only or any(
        without_gradients(function, call.node)
        for function, call in zip(functions, divergence.chain, strict=False)
    )


def meets_next_step(graphs: Graphs, divergence: Divergence) -> bool:
    """Whether ranks that do not evaluate come next to a forward of the same model in training, which makes the
    broadcast that the others' next one then leaves out.

    barlowtwins 8e8d284 evaluate.py:186: rank 0 evaluates after each epoch. Not so behind the first step of all: the
    others come to DDP's second forward, which first rebuilds the buckets (vq-vae-2-pytorch ef5f67c train_vqvae.py:71).
    """
    site = divergence.event.site
    if site is None or not first_alone_waits(divergence) or _in_first_step(divergence):
        return False
    following = _following(graphs, divergence)
    return bool(following) and all(
        act.event.op == "forward"
        and act.event.site is not None
        and _wrap(act.event.site) is not None
        and _wrap(act.event.site) is _wrap(site)
        for act in following
    )


def _wrap(site: CallSite) -> ast.AST | None:
    return site.receiver.wraps[-1].node if site.receiver and site.receiver.wraps else None


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
                if event.first_only or not (comparison.counts(node) or event.op.startswith(OPAQUE)):
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


def _in_first_step(divergence: Divergence) -> bool:
    """Whether the evaluation also stands behind the first batch: under `i % 100 == 0`, of an `enumerate` from 0."""
    counted = set(_counted_from_zero(divergence.function))
    return any(
        isinstance(node, ast.If)
        and any(inner is divergence.anchor for part in node.body for inner in walk(part))
        and any(
            isinstance(asked, ast.BinOp)
            and isinstance(asked.op, ast.Mod)
            and isinstance(asked.left, ast.Name)
            and asked.left.id in counted
            for asked in walk(node.test)
        )
        for node in own_nodes(divergence.function)
    )


def _counted_from_zero(function: Function) -> list[str]:
    return [
        node.target.elts[0].id
        for node in own_nodes(function)
        if isinstance(node, ast.For)
        and isinstance(node.target, ast.Tuple)
        and isinstance(node.target.elts[0], ast.Name)
        and isinstance(node.iter, ast.Call)
        and last_name(node.iter) == "enumerate"
        and len(node.iter.args) == 1
        and not node.iter.keywords
    ]
