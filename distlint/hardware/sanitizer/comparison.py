"""Compares what the ranks tell: one sequence a process group, one a pair of ranks. Knows no process.

The k-th collective of a group on one rank belongs to the k-th on every other. What is a divergence:

- *mismatch*: their kind, dtypes, element counts, shapes, roots, reduce ops or splits differ;
- *missing*: a rank has ended, or waits elsewhere, with fewer than another has entered;
- *replicas*: the parameters of a module that DDP wraps are not the same after the same step;
- *swapped*: they look alike, but come from different places of the program, or from calls of
  different text, and soon after the same two come the other way round. (Different places alone are
  no error: ranks that broadcast and ranks that receive often stand in different arms of an `if`.)

Where ranks were apart before it showed (an extra all_reduce pairs with the next one of the others),
the first divergence is found by aligning the two sequences by place: `alignment.first_gap`.
"""

from __future__ import annotations

import dataclasses
import enum
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field

from distlint.hardware.sanitizer.alignment import Side, first_gap
from distlint.hardware.sanitizer.disagreement import disagree
from distlint.hardware.sanitizer.events import Collective, Group, PointToPoint, Replica, Stack

KEPT = 512
"""How many of the latest collectives of a rank in a group are kept to find the first divergence."""
SWAP_REACH = 32
"""How far apart, in collectives, two swapped ones may be."""


class Kind(enum.Enum):
    """How the ranks diverged."""

    MISMATCH = "mismatch"
    MISSING = "missing"
    SWAPPED = "swapped"
    STALL = "stall"
    REPLICAS = "replicas"


@dataclass(frozen=True, slots=True)
class Divergence:
    """Ranks that do not do the same.

    `index` counts the collectives of the group from 1, and is 0 for point-to-point operations. `operations` holds what each rank did there;
    None for a rank that did nothing there. `later` is the collective at which it showed, where that
    is another one. `group` is None for a stall in which no group differs.
    """

    kind: Kind
    group: Group | None
    index: int
    operations: Mapping[int, Collective | PointToPoint | Replica | None]
    later: int | None = None


@dataclass(slots=True)
class _Sequence:
    """The collectives of one rank in one group: how many, and the latest."""

    count: int = 0
    latest: deque[Collective] = field(default_factory=lambda: deque(maxlen=KEPT))

    def add(self, operation: Collective) -> None:
        self.count += 1
        self.latest.append(operation)

    def at(self, index: int) -> Collective | None:
        """The collective of that index from 0; None where it has not come or is no longer kept."""
        first = self.count - len(self.latest)
        return self.latest[index - first] if first <= index < self.count else None


class Comparison:
    """The sequences of all ranks of one run."""

    def __init__(
        self,
        are_alternatives: Callable[[Stack, Stack], bool],
        calls_of: Callable[[Stack], Hashable],
    ) -> None:
        """`are_alternatives` tells whether two stacks part in exclusive arms of one branch.

        `calls_of` gives what two stacks have in common that make the same calls in different lines.
        """
        self._are_alternatives = are_alternatives
        self._calls_of = calls_of
        # By the id of the stack, which is kept: to hash a stack costs more than all the rest.
        self._calls: dict[int, tuple[Stack, Hashable]] = {}
        self._groups: dict[str, Group] = {}
        self._sequences: dict[str, dict[int, _Sequence]] = {}
        self._pairs: dict[tuple[str, int, int, int], dict[str, deque[PointToPoint]]] = {}
        self._replicas: dict[tuple[str, str, int], dict[int, Replica]] = {}
        self._any_source: set[tuple[str, int]] = set()
        self.latest: dict[int, Collective | PointToPoint] = {}
        self.counts: dict[int, int] = {}

    def add_group(self, group: Group, begun: int = 0) -> None:
        """Learn, or learn anew, who is in a group; `begun` of its collectives are past and alike."""
        self._groups[group.name] = group
        self._sequences.setdefault(group.name, {})
        for rank in group.ranks:
            self._sequences[group.name].setdefault(rank, _Sequence(begun))

    def add(self, rank: int, operation: Collective) -> Divergence | None:
        """Take the next collective of a rank; the divergence that it shows, if any."""
        self.latest[rank] = operation
        self.counts[rank] = self.counts.get(rank, 0) + 1
        sequences = self._sequences[operation.group]
        sequences[rank].add(operation)
        index = sequences[rank].count - 1
        for other, sequence in sequences.items():
            partner = sequence.at(index)
            if other == rank or partner is None:
                continue
            group = self._groups[operation.group]
            if disagree(group, (rank, operation), (other, partner)):
                return self._at(Kind.MISMATCH, operation.group, index, rank, other, set())
            earlier = self._earlier_swap(rank, other, operation, partner, index)
            if earlier is not None:
                there = {r: sequence.at(earlier) for r, sequence in sequences.items()}
                return Divergence(Kind.SWAPPED, group, earlier + 1, there, index + 1)
        return None

    def add_point_to_point(self, rank: int, operation: PointToPoint) -> Divergence | None:
        """Take a send or receive; sends and receives of a pair with one tag belong in order."""
        self.latest[rank] = operation
        self.counts[rank] = self.counts.get(rank, 0) + 1
        if operation.source is None:
            self._any_source.add((operation.group, operation.destination))
        if (operation.group, operation.destination) in self._any_source:
            return None  # Which send a receive from any rank takes is not known.
        assert operation.source is not None
        sides = self._pairs.setdefault(operation.pair, {"send": deque(), "recv": deque()})
        sides[operation.name].append(operation)
        if not (sides["send"] and sides["recv"]):
            return None
        sent, received = sides["send"].popleft(), sides["recv"].popleft()
        if sent.agreed == received.agreed:
            return None
        operations: dict[int, Collective | PointToPoint | None] = {
            operation.source: sent,
            operation.destination: received,
        }
        group = self._groups[operation.group]
        return Divergence(Kind.MISMATCH, group, 0, operations)

    def add_replica(self, rank: int, replica: Replica) -> Divergence | None:
        """Take the parameters of a rank; a divergence where another has others after that step."""
        key = (replica.group, replica.module, replica.step)
        told = self._replicas.setdefault(key, {})
        told[rank] = replica
        group = self._groups[replica.group]
        if any(other.sums != replica.sums for other in told.values()):
            everybody = {member: told.get(member) for member in group.ranks}
            return Divergence(Kind.REPLICAS, group, 0, everybody)
        if len(told) == len(group.ranks):
            del self._replicas[key]
        return None

    def complete(self, found: Divergence) -> Divergence:
        """The same divergence with what other ranks have entered there since it showed."""
        if found.kind is Kind.REPLICAS and found.group is not None:
            one = next(o for o in found.operations.values() if isinstance(o, Replica))
            told = self._replicas[one.group, one.module, one.step]
            here = {member: told.get(member) for member in found.group.ranks}
            return dataclasses.replace(found, operations=here)
        if found.group is None or found.index == 0:
            return found
        sequences = self._sequences[found.group.name]
        there = {r: found.operations[r] or sequences[r].at(found.index - 1) for r in sequences}
        return dataclasses.replace(found, operations=there)

    def group_of(self, rank: int) -> Group | None:
        """The group of a rank's latest operation."""
        latest = self.latest.get(rank)
        return None if latest is None else self._groups[latest.group]

    def lacks(self, rank: int) -> bool:
        """Whether a rank's latest operation has not been entered by all that belong to it."""
        latest = self.latest.get(rank)
        match latest:
            case None:
                return False
            case Collective():
                sequences = self._sequences[latest.group]
                return any(s.count < sequences[rank].count for s in sequences.values())
            case PointToPoint():
                sides = self._pairs.get(latest.pair)
                return sides is not None and latest in sides[latest.name]

    def missing(self, behind: set[int], ended: set[int]) -> Divergence | None:
        """What another rank has entered and a rank of `behind`, which will not come, has not.

        `ended` are the ranks whose scripts are over; the others wait.
        """
        for name, sequences in self._sequences.items():
            for rank in sorted(behind & sequences.keys()):
                ahead = max(sequences, key=lambda other: sequences[other].count)
                if sequences[ahead].count > sequences[rank].count:
                    return self._at(Kind.MISSING, name, sequences[rank].count, ahead, rank, ended)
        for (name, source, destination, _), sides in self._pairs.items():
            if (name, destination) in self._any_source:
                continue
            for side, partner in (("send", destination), ("recv", source)):
                if sides[side] and partner in behind:
                    one = source if partner == destination else destination
                    parted: dict[int, PointToPoint | None] = {
                        one: sides[side][0],
                        partner: self._other_tag(side, sides[side][0]),
                    }
                    return Divergence(Kind.MISSING, self._groups[name], 0, parted)
        return None

    def _other_tag(self, side: str, waiting: PointToPoint) -> PointToPoint | None:
        """What the partner of a send or receive waits in, that would belong to it but for the tag."""
        opposite = "recv" if side == "send" else "send"
        same = waiting.pair[:3]
        for (*pair, _), sides in self._pairs.items():
            if (*pair,) == same and sides[opposite]:
                return sides[opposite][0]
        return None

    def _earlier_swap(
        self, rank: int, other: int, mine: Collective, partner: Collective, index: int
    ) -> int | None:
        """The index at which the same two came the other way round; None where they did not."""
        if mine.stack == partner.stack:
            return None
        sequences = self._sequences[mine.group]
        for earlier in range(index - 1, max(-1, index - 1 - SWAP_REACH), -1):
            one, two = sequences[rank].at(earlier), sequences[other].at(earlier)
            if one is None or two is None or one.stack == two.stack:
                continue
            # A root that changes between them is a rotation of roles, not a swap.
            if one.signature != mine.signature:
                continue
            if one.stack == partner.stack and two.stack == mine.stack:
                return None if self._are_alternatives(mine.stack, partner.stack) else earlier
            if self._crossed(one, two, mine, partner):
                return earlier
        return None

    def _crossed(self, one: Collective, two: Collective, *later: Collective) -> bool:
        """Whether two ranks make two calls in opposite orders, each in lines of its own."""
        first, second = (self._call(operation.stack) for operation in (one, two))
        if first == second:
            return False
        return [second, first] == [self._call(operation.stack) for operation in later]

    def _call(self, stack: Stack) -> Hashable:
        known = self._calls.get(id(stack))
        if known is None:
            known = self._calls[id(stack)] = (stack, self._calls_of(stack))
        return known[1]

    def _at(
        self, kind: Kind, name: str, index: int, rank: int, other: int, ended: set[int]
    ) -> Divergence:
        """A divergence that showed at `index` between two ranks, put where they first parted."""
        sequences = self._sequences[name]
        # Both windows start at the same index, so that equal positions belong together.
        start = max(s.count - len(s.latest) for s in (sequences[rank], sequences[other]))
        mine, theirs = (self._window(sequences[r], start) for r in (rank, other))
        sites = {operation.stack for operation in mine}, {operation.stack for operation in theirs}

        def belong_together(one: Collective, two: Collective) -> bool:
            """Unequal operations as matched arms: alike, and each from a place of its own rank."""
            if one.signature != two.signature:
                return False
            own_places = one.stack not in sites[1] and two.stack not in sites[0]
            return own_places or self._are_alternatives(one.stack, two.stack)

        gap = first_gap(
            Side(mine, rank in ended), Side(theirs, other in ended), index - start, belong_together
        )
        first = min(index, start + gap)
        operations = {r: sequence.at(first) for r, sequence in sequences.items()}
        later = index + 1 if first < index else None
        return Divergence(kind, self._groups[name], first + 1, operations, later=later)

    @staticmethod
    def _window(sequence: _Sequence, start: int) -> list[Collective]:
        kept = [sequence.at(index) for index in range(start, sequence.count)]
        return [operation for operation in kept if operation is not None]
