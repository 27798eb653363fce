"""Wording what a run showed: text for the terminal, an object for `--json`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from distlint.hardware.sanitizer.between_runs import Parting, Remark
from distlint.hardware.sanitizer.comparison import Divergence, Kind
from distlint.hardware.sanitizer.disagreement import by_value, differences, ranks_by, ranks_text
from distlint.hardware.sanitizer.events import Collective, Group, PointToPoint, Replica, Stack
from distlint.hardware.sanitizer.findings import RuleFinding
from distlint.hardware.sanitizer.places import at_text, is_users, shown_path, users_frame
from distlint.hardware.sanitizer.ranks import RankState
from distlint.hardware.sanitizer.supervision import Result

_FRAMES = 6


SILENT = "`distlint check` is silent at these lines: no rule sees this divergence before the program runs."

LOST = (
    "distlint run: the job was ended from outside before its scripts had ended, and no rank could say why. "
    "See what its launcher says."
)


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
        lines += [f"  They differ in {difference}." for difference in _differences(result, found)]
    members = None if found is None or found.group is None else found.group.ranks
    shown = [state for state in result.ranks if members is None or state.rank in members]
    lines += _grouped({state.rank: _rank_lines(state, found) for state in shown})
    return "\n".join([*lines, *_finding_lines(findings)])


def _finding_lines(findings: Iterable[RuleFinding]) -> Iterator[str]:
    for finding in findings:
        yield from ("", f"{finding.at} {finding.code} {finding.name}", f"  {finding.message}")


def parting_text(sizes: tuple[int, int], parting: Parting, findings: Iterable[RuleFinding]) -> str:
    """Where a run on some ranks and one on more part, and what was found alike."""
    part = "part" if parting.parted else "do the same, as far as compared"
    lines = [f"distlint run: {_size_text(sizes[0])} and {_size_text(sizes[1])} {part}"]
    lines += [f"  {remark.text}" for remark in parting.parted]
    lines += [f"  note: {remark.text}" for remark in parting.notes]
    lines += [f"  alike: {said}" for said in parting.compared]
    return "\n".join([*lines, *_finding_lines(findings)])


def parting_object(
    parting: Parting, findings: Iterable[RuleFinding], status: int
) -> dict[str, Any]:
    """The same for machines."""
    return {
        "outcome": "parted" if parting.parted else "right",
        "status": status,
        "parted": [_remark_object(remark) for remark in parting.parted],
        "notes": [_remark_object(remark) for remark in parting.notes],
        "alike": parting.compared,
        "findings": [finding.as_object() for finding in findings],
    }


def _remark_object(remark: Remark) -> dict[str, Any]:
    return {
        "what": remark.what,
        "message": remark.message,
        "stack": _stack_object(remark.stack),
    }


def _size_text(ranks: int) -> str:
    return "1 rank" if ranks == 1 else f"{ranks} ranks"


def no_divergence(result: Result) -> str:
    """One line on dumps in which all ranks have entered the same, and where each was."""
    ranks = ranks_text([state.rank for state in result.ranks])
    said = f"distlint run: no divergence in the dumps of {ranks}"
    return f"{said}\n{stacks_text(result.ranks)}"


def stacks_text(states: Iterable[RankState]) -> str:
    """Where each rank is, as an answer to Ctrl-C or SIGUSR1."""
    return "\n".join(_grouped({state.rank: _rank_lines(state, None) for state in states})).strip(
        "\n"
    )


def waiting_text(states: Iterable[RankState], seconds: float) -> str:
    """One line: which ranks wait where, and what the others do meanwhile."""
    parts: dict[str, list[int]] = {}
    for state in states:
        parts.setdefault(_meanwhile(state), []).append(state.rank)
    # Those that wait first.
    ordered = sorted(parts.items(), key=lambda part: not part[0].startswith("waits"))
    told = "; ".join(f"{ranks_text(ranks)} {_number(does, ranks)}" for does, ranks in ordered)
    return f"distlint run: for {seconds:.0f} s: {told}"


def _meanwhile(state: RankState) -> str:
    if state.where is None or state.status is not None:
        return f"{_condition(state)}{at_text(state.stack)}"
    if state.waits:
        lacking = f" in {state.latest.text}" if state.lacks and state.latest is not None else ""
        return f"waits{lacking}{at_text(state.stack)}"
    frame = users_frame(state.stack)
    does = "sleeps or reads" if state.idle else "computes"
    does = _condition(state) if state.holds else does
    does = f"{does}{at_text(state.stack)}{f' in {frame.function}' if frame else ''}"
    if state.lacks and state.latest is not None:
        return f"has entered {state.latest.text}{at_text(state.latest.stack)} and {does}"
    return does


_PLURAL = {
    "waits": "wait",
    "has": "have",
    "does": "do",
    "is": "are",
    "was": "were",
    "sleeps or reads": "sleep or read",
    "computes": "compute",
}


def _number(does: str, ranks: list[int]) -> str:
    """The words on one rank, made to fit several."""
    for one, many in _PLURAL.items():
        if len(ranks) > 1 and f"{does} ".startswith(f"{one} "):
            return many + does.removeprefix(one)
    return does


def _grouped(told: dict[int, list[str]]) -> list[str]:
    """What is told of each rank, once for all ranks of which the same is told."""
    text = []
    for (head, *rest), ranks in ranks_by({r: tuple(lines) for r, lines in told.items()}).items():
        text += ["", f"  {ranks_text(ranks)}  {_number(head, ranks)}", *rest]
    return text


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
    outcome = "lost" if result.lost else outcome
    return {
        "outcome": outcome,
        "status": status,
        "headline": None if outcome in {"right", "lost"} else _headline(result),
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
            "differences": _differences(result, found),
            "shown_at": found.later,
        },
        "ranks": [_rank_object(state, found) for state in result.ranks],
        "findings": [finding.as_object() for finding in findings],
        "seconds": round(result.seconds, 3),
    }


def _headline(result: Result) -> str:
    found = result.divergence
    if found is None:
        state = result.failed_state
        if state.finished:
            return f"distlint run: rank {state.rank} failed after its script had ended: {_failure(state)}"
        why = "after others had left" if state.lost_partner else "by itself"
        return f"distlint run: rank {state.rank} failed {why}: {_failure(state)}"
    if found.group is None:
        return "distlint run: the ranks stalled: each has entered the same collectives, all wait"
    return f"distlint run: {_what_happened(found, found.group)}: {_who_does_what(result, found)}"


def _differences(result: Result, found: Divergence) -> list[str]:
    """In what the operations differ, by name; nothing where the ranks had parted before it showed."""
    if found.group is None or found.kind is Kind.SWAPPED or found.later is not None:
        return []
    return _other_groups(result, found, found.group) or differences(found.group, found.operations)


def _other_groups(result: Result, found: Divergence, group: Group) -> list[str]:
    """Where ranks wait in the same operation of another group."""
    names = {rank: o.name for rank, o in found.operations.items() if isinstance(o, Collective)}
    groups = dict.fromkeys(names, _group_name(group))
    for state in result.ranks:
        if state.rank not in names and (other := _waits_in(state)) is not None:
            if other[0].name not in names.values():
                return []
            groups[state.rank] = _group_name(other[1])
    return [f"group: {by_value(dict(sorted(groups.items())))}"] if len(groups) > len(names) else []


def _waits_in(state: RankState) -> tuple[Collective, Group] | None:
    """The collective in which a rank waits for others, and its group."""
    latest, group = state.latest, state.group
    if state.lacks and state.waits and isinstance(latest, Collective) and group is not None:
        return latest, group
    return None


def _what_happened(found: Divergence, group: Group) -> str:
    where = _group_text(group)
    if found.kind is Kind.REPLICAS:
        return f"the replicas of a model have parted in {where}"
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
        word = "after" if isinstance(operation, Replica) and operation.step else "before"
        word = word if isinstance(operation, Replica) else "in"
        does = f"{word} {operation.text}" if operation else _condition(state)
        if operation is None and (other := _waits_in(state)) is not None:
            does = f"in {other[0].text} of {_group_name(other[1])}"
        parts.setdefault(f"{does}{at_text(stack)}", []).append(state.rank)
    return "; ".join(f"{ranks_text(ranks)} {_number(does, ranks)}" for does, ranks in parts.items())


def _group_text(group: Group) -> str:
    return f"{_group_name(group)} ({ranks_text(list(group.ranks))})"


def _group_name(group: Group) -> str:
    return (
        "the default group" if group.description == "default_pg" else f"group {group.description}"
    )


def _rank_lines(state: RankState, found: Divergence | None) -> list[str]:
    """What is told of a rank: its part in the divergence, else where it is and what it did last."""
    operation = found.operations.get(state.rank) if found is not None else None
    if operation is not None:
        return [operation.text, *_stack_lines(operation.stack)]
    failed = state.end is not None and state.end.exception is not None
    lines = [f"{_condition(state)}{': ' + _failure(state) if failed else ''}"]
    lines += _stack_lines(state.stack)
    if state.latest is None:
        return [*lines, "    has entered no collective before"]
    last = state.latest
    told = f"{last.text}{at_text(last.stack)}"
    return [*lines, f"    last collective, number {state.operations} of all: {told}"]


def _condition(state: RankState) -> str:
    if state.end is not None and state.end.exception is not None:
        return "failed"
    if state.end is not None or state.status is not None:
        return "has ended"
    if state.where is None:
        return "does not answer"
    if state.holds:
        return "computes without letting go of the interpreter"
    if state.where.waits:
        return "waits"
    if state.recorded:
        return "was last seen"
    return "sleeps or reads" if state.idle else "is"


def _failure(state: RankState) -> str:
    if state.end is not None and state.end.exception is not None:
        message = " ".join(state.end.message.split())[:300]
        return f"{state.end.exception}: {message}" if message else state.end.exception
    if state.attached:
        return "its process ended before its script"
    status = state.status or 0
    return f"ended by signal {-status}" if status < 0 else f"exit status {status}"


def _stack_lines(stack: Stack) -> list[str]:
    """The innermost calls; where they are all of installed packages, the user's own after them."""
    own = next((i for i, frame in enumerate(stack) if is_users(frame.path)), 0)
    half = _FRAMES // 2
    kept = [range(_FRAMES)] if own < _FRAMES else [range(half), range(own, own + half)]
    lines, after = [], 0
    for part in kept:
        if part.start > after:
            lines.append(f"    … {part.start - after} more")
        for frame in stack[part.start : part.stop]:
            lines.append(f"    {shown_path(frame.path)}:{frame.line} in {frame.function}")
        after = part.stop
    if len(stack) > after:
        lines.append(f"    … {len(stack) - after} more")
    return lines


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


def _operation_object(
    operation: Collective | PointToPoint | Replica | None,
) -> dict[str, Any] | None:
    match operation:
        case None:
            return None
        case Replica():
            return {
                "name": "parameters",
                "call": operation.text,
                "group": operation.group,
                "step": operation.step,
                "stack": _stack_object(operation.stack),
            }
    return {
        "name": operation.name,
        "call": operation.text,
        "group": operation.group,
        "agreed": dict(operation.agreed),
        "stack": _stack_object(operation.stack),
    }


def _stack_object(stack: Stack) -> list[dict[str, Any]]:
    return [{"path": shown_path(f.path), "line": f.line, "function": f.function} for f in stack]
