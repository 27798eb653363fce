"""In what operations that belong together differ: whether at all, and each by its name."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

from distlint.hardware.sanitizer.events import Collective, Group, PointToPoint, Replica

_SHOWN = 4
"""How many parameters are named."""
_Value = TypeVar("_Value", bound=Hashable)
Shapes = tuple[tuple[int, ...], ...]


def disagree(group: Group, one: tuple[int, Collective], two: tuple[int, Collective]) -> bool:
    """Whether two collectives of a group, each with its rank, do not belong together."""
    (rank, left), (other, right) = one, two
    if left.signature != right.signature or not _compatible(left.shapes, right.shapes):
        return True
    # Where one of them is not the reducer's, as with a rank that has joined early, there is none.
    if left.forward and right.forward and left.forward != right.forward:
        return True
    return any(_unequal_parts(group, rank, left, other, right))


def differences(
    group: Group, operations: Mapping[int, Collective | PointToPoint | Replica | None]
) -> list[str]:
    """What differs between operations of one name: ``root: rank 0 on rank 0; rank 1 on rank 1``."""
    replicas = {rank: o for rank, o in operations.items() if isinstance(o, Replica)}
    if replicas:
        return _parted(replicas)
    present = {
        rank: o
        for rank, o in sorted(operations.items())
        if isinstance(o, (Collective, PointToPoint))
    }
    messages = {r: o for r, o in present.items() if isinstance(o, PointToPoint)}
    collectives = {r: o for r, o in present.items() if isinstance(o, Collective)}
    if messages:
        values = [("tag", {rank: str(o.tag) for rank, o in messages.items()})]
    elif len({operation.name for operation in collectives.values()}) > 1:
        # What else differs says nothing then.
        return [f"operation: {by_value({r: o.name for r, o in collectives.items()})}"]
    else:
        values = [("shape", {rank: _shapes_text(o.shapes) for rank, o in collectives.items()})]
        if _all_compatible([operation.shapes for operation in collectives.values()]):
            values = []
        forwards = {rank: f"number {o.forward}" for rank, o in collectives.items() if o.forward}
        values.append(("the forward pass whose gradients are reduced", forwards))
    names = dict.fromkeys(name for operation in present.values() for name, _ in operation.agreed)
    for name in names:
        found = {rank: dict(operation.agreed).get(name, "") for rank, operation in present.items()}
        values.append((name, found))
    told = [f"{name}: {by_value(found)}" for name, found in values if len({*found.values()}) > 1]
    listed = list(collectives.items())
    for number, (rank, left) in enumerate(listed):
        for other, right in listed[number + 1 :]:
            for sender, sent, receiver, expected in _unequal_parts(group, rank, left, other, right):
                told.append(
                    f"splits: rank {sender} sends {sent} elements to rank {receiver}, "
                    f"which expects {expected}"
                )
    return told


def _parted(replicas: Mapping[int, Replica]) -> list[str]:
    """Which parameters are not the same on all ranks, and which ranks have the same."""
    sums = {rank: dict(replica.sums) for rank, replica in sorted(replicas.items())}
    names = list(dict.fromkeys(name for told in sums.values() for name in told))
    parted = [name for name in names if len({told.get(name) for told in sums.values()}) > 1]
    alike = ranks_by({r: tuple(told.get(name) for name in parted) for r, told in sums.items()})
    sides = "; ".join(f"one value on {ranks_text(ranks)}" for ranks in alike.values())
    return [f"the parameters {names_text(parted)}: {sides.replace('; one', '; another')}"]


def names_text(names: list[str]) -> str:
    """The first names of parameters, and how many there are."""
    more = f", … {len(names)} of them" if names[_SHOWN:] else ""
    return ", ".join(names[:_SHOWN]) + more


def ranks_by(values: Mapping[int, _Value]) -> dict[_Value, list[int]]:
    """By value, the ranks that have it."""
    ranks: dict[_Value, list[int]] = {}
    for rank, value in values.items():
        ranks.setdefault(value, []).append(rank)
    return ranks


def ranks_text(ranks: list[int]) -> str:
    """``rank 3``, or ``ranks 0, 4-7``: three and more in a row as a range."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    parts = [
        f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(str(rank) for rank in run)
        for run in runs
    ]
    return "ranks " + ", ".join(parts)


def by_value(values: Mapping[int, str]) -> str:
    """``rank 0 on rank 0; rank 1 on ranks 1, 2``: each value with its ranks."""
    return "; ".join(f"{value} on {ranks_text(which)}" for value, which in ranks_by(values).items())


def _unequal_parts(
    group: Group, rank: int, left: Collective, other: int, right: Collective
) -> list[tuple[int, int, int, int]]:
    """Where an all_to_all sends another count than is expected: sender, count, receiver, count."""
    if left.exchange is None or right.exchange is None:
        return []
    here, there = group.ranks.index(rank), group.ranks.index(other)
    pairs = [
        (rank, left.exchange[0][there], other, right.exchange[1][here]),
        (other, right.exchange[0][here], rank, left.exchange[1][there]),
    ]
    return [pair for pair in pairs if pair[1] != pair[3]]


def _all_compatible(shapes: list[Shapes]) -> bool:
    return all(_compatible(shapes[0], other) for other in shapes[1:])


def _compatible(left: Shapes, right: Shapes) -> bool:
    """Whether data of one shape means the same in the other.

    A flat tensor may stand for any shape, and dimensions of one element may be left out: what is
    broadcast is often received that way. [2, 3] in [3, 2] is in the wrong places.
    """
    for one, two in zip(left, right, strict=False):
        shape, other = ([size for size in sizes if size != 1] for sizes in (one, two))
        if min(len(shape), len(other)) > 1 and shape != other:
            return False
    return True


def _shapes_text(shapes: Shapes) -> str:
    return ", ".join(str(list(shape)) for shape in shapes)
