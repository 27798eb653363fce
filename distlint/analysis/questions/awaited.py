"""Whether ranks come to wait for one that stops: whether anything that they do together may follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from distlint.analysis.program.memory import remembered
from distlint.analysis.questions.read_back import comes_back
from distlint.knowledge import facts
from distlint.patterns import pattern

if TYPE_CHECKING:
    import ast

    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function

_TOGETHER: Final = pattern(r"^(?:backward|fit|validate|test|predict|generate|evaluate|train)$")
"""Methods of models and trainers that may meet the other ranks, whatever library they are of."""
_ENDS: Final = "torch.distributed.destroy_process_group"


def awaited(live: LiveProgram, site: CallSite) -> bool:
    """Whether something that ranks do together may follow a call: in its function, or behind the calls that lead to it.

    RoboVLMs 8adc1d2 eval/calvin/eval_utils.py:75: each rank of an evaluation writes a file of its own, and ends. Where it is
    not known who calls a function, something may.
    """
    return _is_followed(live, site.function, site.node, set())


def _is_followed(live: LiveProgram, function: Function, node: ast.AST, seen: set[int]) -> bool:
    if id(node) in seen:
        return False
    seen.add(id(node))
    summaries = live.summaries_of(function)
    if summaries is None or any(
        call.function is function
        and comes_back(function, node, call.node)
        and call.node is not node
        and (_meets(call) or (call.callee is not None and _leads_to_meeting(live, call.callee)))
        for _, summary in summaries.summaries()
        for call in summary.calls
    ):
        return True
    if function.is_module_body:
        return not function.module.is_script
    callers = live.callers.get(function, ())
    return not callers or any(
        _is_followed(live, caller.function, caller.node, seen) for caller in callers
    )


def _meets(call: CallSite) -> bool:
    if call.name == _ENDS:
        return False
    wraps = call.receiver.wraps if call.receiver is not None else ()
    return facts.is_collective(call.rows) or bool(wraps) or _TOGETHER.match(call.method) is not None


@remembered
def _leads_to_meeting(live: LiveProgram, function: Function) -> bool:
    """Whether a function, or anything that it calls, may do something that ranks do together."""
    work, seen = [function], {function}
    while work:
        summaries = live.summaries_of(work.pop())
        for _, summary in summaries.summaries() if summaries is not None else ():
            for call in summary.calls:
                if _meets(call):
                    return True
                if call.callee is not None and call.callee not in seen:
                    seen.add(call.callee)
                    work.append(call.callee)
    return False
