"""Wording what a run showed: text for the terminal, an object for `--json`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from distlint.hardware.sanitizer.comparison import Divergence, Kind
from distlint.hardware.sanitizer.disagreement import differences, ranks_text
from distlint.hardware.sanitizer.events import Collective, Group, PointToPoint, Stack
from distlint.hardware.sanitizer.findings import RuleFinding
from distlint.hardware.sanitizer.supervision import RankState, Result

_FRAMES = 6


def stacks_of(result: Result) -> list[Stack]:
    """The stacks that a report shows, of those that explain the divergence first."""
    found = result.divergence
    stacks = []
    if found is not None:
        stacks = [operation.stack for operation in found.operations.values() if operation]
    stacks += [state.stack for state in result.ranks]
    return [stack for stack in stacks if stack]


def as_text(result: Result, findings: Iterable[RuleFinding]) -> str:
    """The report on a run that diverged or failed."""
    found = result.divergence
    lines = [_headline(result)]
    if found is not None:
        lines += [f"  They differ in {difference}." for difference in _differences(found)]
    for state in result.ranks:
        if found is not None and found.group is not None and state.rank not in found.group.ranks:
            continue
        lines += ["", *_rank_lines(state, found)]
    for finding in findings:
        lines += ["", f"{finding.at} {finding.code} {finding.name}", f"  {finding.message}"]
    return "\n".join(lines)


def torn_down(state: RankState) -> str:
    """Two sentences about a rank that aborted after its script had ended."""
    return (
        f"the script had ended on rank {state.rank} when its process aborted (signal 6): threads of "
        "gloo met the end of the interpreter. Let the script end with `dist.destroy_process_group()`."
    )


def as_object(result: Result, findings: Iterable[RuleFinding], status: int) -> dict[str, Any]:
    """The same for machines; also on a run without a report."""
    found = result.divergence
    outcome = "diverged" if found else "failed" if result.failed is not None else "right"
    return {
        "outcome": outcome,
        "status": status,
        "headline": None if outcome == "right" else _headline(result),
        "divergence": None
        if found is None
        else {
            "kind": found.kind.value,
            "group": None
            if found.group is None
            else {
                "name": found.group.name,
                "description": found.group.description,
                "ranks": list(found.group.ranks),
            },
            "index": found.index,
            "differences": _differences(found),
            "shown_at": found.later,
        },
        "ranks": [_rank_object(state, found) for state in result.ranks],
        "findings": [finding.as_object() for finding in findings],
        "seconds": round(result.seconds, 3),
    }


def _headline(result: Result) -> str:
    found = result.divergence
    if found is None:
        state = result.ranks[result.failed or 0]
        if state.finished:
            return f"distlint run: rank {state.rank} failed after its script had ended: {_failure(state)}"
        return f"distlint run: rank {state.rank} failed by itself: {_failure(state)}"
    if found.group is None:
        return "distlint run: the ranks stalled: each has entered the same collectives, all wait"
    return f"distlint run: {_what_happened(found, found.group)}: {_who_does_what(result, found)}"


def _differences(found: Divergence) -> list[str]:
    """In what the operations differ, by name; nothing where the ranks had parted before it showed."""
    if found.group is None or found.kind is Kind.SWAPPED or found.later is not None:
        return []
    return differences(found.group, found.operations)


def _what_happened(found: Divergence, group: Group) -> str:
    where = _group_text(group)
    if found.index == 0:
        return f"send and recv do not belong together in {where}"
    if found.kind is Kind.SWAPPED:
        return (
            f"the ranks perform collectives {found.index} and {found.later} of {where} in different "
            "orders, and each takes the other's data without an error"
        )
    later = f" (it showed at collective {found.later})" if found.later else ""
    return f"the ranks diverge at collective {found.index} of {where}{later}"


def _who_does_what(result: Result, found: Divergence) -> str:
    """Each rank's part in a few words; ranks that do the same from the same place share them."""
    parts: dict[str, list[int]] = {}
    for state in result.ranks:
        if state.rank not in found.operations:
            continue
        operation = found.operations[state.rank]
        stack = operation.stack if operation else state.stack
        at = f" at {shown_path(stack[0].path)}:{stack[0].line}" if stack else ""
        does = f"in {operation.text}" if operation else _condition(state)
        parts.setdefault(f"{does}{at}", []).append(state.rank)
    return "; ".join(f"{ranks_text(ranks)} {does}" for does, ranks in parts.items())


def _group_text(group: Group) -> str:
    kind = (
        "the default group" if group.description == "default_pg" else f"group {group.description}"
    )
    return f"{kind} ({ranks_text(list(group.ranks))})"


def _rank_lines(state: RankState, found: Divergence | None) -> list[str]:
    operation = found.operations.get(state.rank) if found is not None else None
    head = f"  rank {state.rank}  "
    if operation is not None:
        entered = f"{head}{operation.text}"
        return [entered, *_stack_lines(operation.stack)]
    failed = state.end is not None and state.end.exception is not None
    lines = [f"{head}{_condition(state)}{': ' + _failure(state) if failed else ''}"]
    lines += _stack_lines(state.stack)
    if state.latest is None:
        return [*lines, "    has entered no collective before"]
    last = state.latest
    at = f" at {shown_path(last.stack[0].path)}:{last.stack[0].line}" if last.stack else ""
    return [*lines, f"    last collective, number {state.operations} of all: {last.text}{at}"]


def _condition(state: RankState) -> str:
    if state.end is not None and state.end.exception is not None:
        return "failed"
    if state.end is not None or state.status is not None:
        return "has ended"
    if state.where is None:
        return "does not answer"
    return "waits" if state.where.waits else "is"


def _failure(state: RankState) -> str:
    if state.end is not None and state.end.exception is not None:
        message = " ".join(state.end.message.split())[:300]
        return f"{state.end.exception}: {message}" if message else state.end.exception
    status = state.status or 0
    return f"ended by signal {-status}" if status < 0 else f"exit status {status}"


def _stack_lines(stack: Stack) -> list[str]:
    lines = [f"    {shown_path(f.path)}:{f.line} in {f.function}" for f in stack[:_FRAMES]]
    if len(stack) > _FRAMES:
        lines.append(f"    … {len(stack) - _FRAMES} more")
    return lines


def shown_path(path: str) -> str:
    """Relative to the working directory where the file is below it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else Path(relative).as_posix()


def _rank_object(state: RankState, found: Divergence | None) -> dict[str, Any]:
    operation = found.operations.get(state.rank) if found is not None else None
    return {
        "rank": state.rank,
        "operation": _operation_object(operation),
        "last": _operation_object(state.latest),
        "operations": state.operations,
        "exit_status": state.status,
        "ended": state.end is not None or state.status is not None,
        "exception": state.end.exception if state.end else None,
        "message": state.end.message if state.end else "",
        "waits": state.where.waits if state.where else None,
        "stack": _stack_object(state.stack),
    }


def _operation_object(operation: Collective | PointToPoint | None) -> dict[str, Any] | None:
    if operation is None:
        return None
    return {
        "name": operation.name,
        "call": operation.text,
        "group": operation.group,
        "agreed": dict(operation.agreed),
        "stack": _stack_object(operation.stack),
    }


def _stack_object(stack: Stack) -> list[dict[str, Any]]:
    return [{"path": shown_path(f.path), "line": f.line, "function": f.function} for f in stack]
