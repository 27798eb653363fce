"""Wording what a run showed: text for the terminal, an object for `--json`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from distlint.hardware.sanitizer.comparison import Divergence, Kind
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
    for state in result.ranks:
        if found is not None and found.group is not None and state.rank not in found.group.ranks:
            continue
        lines += ["", *_rank_lines(state, found)]
    for finding in findings:
        lines += ["", f"{finding.at} {finding.code} {finding.name}", f"  {finding.message}"]
    return "\n".join(lines)


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
        return f"distlint run: rank {state.rank} failed by itself: {_failure(state)}"
    if found.group is None:
        return "distlint run: the ranks stalled: each has entered the same collectives, all wait"
    where = _group_text(found.group)
    if found.index == 0:
        return f"distlint run: send and recv do not belong together in {where}"
    what = f"collective {found.index} of {where}"
    match found.kind:
        case Kind.SWAPPED:
            return (
                f"distlint run: the ranks perform {what} and {found.later} in a different order; "
                "they look alike, so each takes the other's data without an error"
            )
        case Kind.MISMATCH | Kind.MISSING | Kind.STALL:
            later = f" (it showed at collective {found.later})" if found.later else ""
            return f"distlint run: the ranks diverge at {what}{later}"


def _group_text(group: Group) -> str:
    ranks = ", ".join(str(rank) for rank in group.ranks)
    kind = (
        "the default group" if group.description == "default_pg" else f"group {group.description}"
    )
    return f"{kind} (ranks {ranks})"


def _rank_lines(state: RankState, found: Divergence | None) -> list[str]:
    operation = found.operations.get(state.rank) if found is not None else None
    head = f"  rank {state.rank}  "
    if operation is not None:
        entered = f"{head}{operation.text}"
        return [entered, *_stack_lines(operation.stack)]
    lines = [f"{head}{_condition(state)}", *_stack_lines(state.stack)]
    if state.latest is not None:
        lines += [f"    last: {state.latest.text}", *_stack_lines(state.latest.stack[:1])]
    return lines


def _condition(state: RankState) -> str:
    count = f"after {state.operations} collectives in all"
    if state.end is not None and state.end.exception is not None:
        return f"failed {count}: {_failure(state)}"
    if state.end is not None or state.status is not None:
        return f"has ended, {count}"
    if state.where is None:
        return f"does not answer, {count}"
    return f"{'waits' if state.where.waits else 'is'} here, {count}"


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
        "agreed": list(operation.agreed),
        "stack": _stack_object(operation.stack),
    }


def _stack_object(stack: Stack) -> list[dict[str, Any]]:
    return [{"path": shown_path(f.path), "line": f.line, "function": f.function} for f in stack]
