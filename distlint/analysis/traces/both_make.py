"""Whether ranks that seem to skip a collective make the very same call, of which less is known on their side."""

from __future__ import annotations

from collections.abc import Sequence

from distlint.analysis.interpreter.ir import CallSite, CallStep, Event, Summary
from distlint.analysis.traces.graph import Graphs, steps_below
from distlint.analysis.traces.nodes import CallNode
from distlint.knowledge.schema import Effect

_COLLECTIVE = (Effect.COLLECTIVE, Effect.SHARDED_COLLECTIVE, Effect.WRAPPED_COLLECTIVE)


def made_by_both(graphs: Graphs, absent: Summary, chain: Sequence[CallNode], event: Event) -> bool:
    """Whether the run of the other ranks makes the call as well, on an object that is not known there.

    No condition divides the ranks then: what the one run knows of the object, the other does not (PRIME 18ad596
    fsdp_workers.py:434, where `self.actor.actor_module` was FSDP on rank 0 alone).

    Args:
        graphs: gives the complete run in place of one that a recursion cut short.
        absent: the run of the ranks that seem not to come.
        chain: the calls that lead to the collective on the other side, outermost first.
        event: the collective.
    """
    if event.site is None:
        return False
    run = graphs.final(absent)
    for call in chain:
        steps = (
            s for s in steps_below(run.steps) if isinstance(s, CallStep) and s.node is call.node
        )
        step = next(steps, None)
        if step is None or step.summary.function is not call.summary.function:
            return step is None and any(
                site.node is call.node and _is_unknown(site) for site in run.calls
            )
        run = graphs.final(step.summary)
    if any(isinstance(s, Event) and s.node is event.node for s in steps_below(run.steps)):
        return False
    return any(
        site.node is event.site.node and site.callee is None and site.row(*_COLLECTIVE) is None
        for site in run.calls
    )


def _is_unknown(site: CallSite) -> bool:
    """Whether nothing is known of what is called."""
    receiver = site.receiver
    return site.callee is None and (
        receiver is None
        or (receiver.type is None and receiver.target is None and not receiver.known)
    )


__all__ = ["made_by_both"]
