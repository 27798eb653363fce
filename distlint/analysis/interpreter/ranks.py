"""The classes of ranks that are followed through the program.

Ranks differ only in who they are. The assumed run is distributed (`is_initialized()` holds), with four
ranks on two nodes; a few concrete ranks stand for all that code can tell apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from distlint.records import dataclass

WORLD_SIZE: Final = 4
LOCAL_WORLD_SIZE: Final = 2


@dataclass(frozen=True, slots=True, eq=False)
class RankClass:
    """One concrete rank standing for all that take the same decisions."""

    name: str
    rank: int
    local_rank: int

    def fact(self, kind: str) -> int | bool | None:
        """What a rank predicate of this kind (a kind of `knowledge.ranks`) gives on this rank."""
        match kind:
            case "rank":
                return self.rank
            case "local_rank":
                return self.local_rank
            case "is_main":
                return self.rank == 0
            case "is_local_main":
                return self.local_rank == 0
            case "is_last":
                return self.rank == WORLD_SIZE - 1
            case "world_size":
                return WORLD_SIZE
            case "local_world_size":
                return LOCAL_WORLD_SIZE
            case "initialized":
                return True
        return None

    def answers_like(self, other: RankClass, kinds: Iterable[str]) -> bool:
        """Whether predicates of these kinds give the same on another rank."""
        facts = [(self.fact(kind), other.fact(kind)) for kind in kinds]
        return all(mine is not None and mine == theirs for mine, theirs in facts)


MAIN: Final = RankClass("rank 0", 0, 0)
OTHER: Final = RankClass("other ranks", 1, 1)
NODE_MAIN: Final = RankClass("local rank 0 of another node", 2, 0)
LAST: Final = RankClass("the last rank", 3, 1)

RANK_CLASSES: Final = (MAIN, OTHER, NODE_MAIN, LAST)

RANK_KINDS: Final = frozenset({"rank", "is_main", "local_rank", "is_local_main", "is_last"})
"""The predicates that tell who the rank is."""

_PARTING: Final[dict[RankClass, frozenset[str]]] = {
    OTHER: RANK_KINDS,
    NODE_MAIN: frozenset({"local_rank", "is_local_main"}),
    LAST: frozenset({"is_last"}),
}
"""The predicates for whose sake a class is followed."""


def classes_to_run(depends_on: frozenset[str]) -> tuple[RankClass, ...]:
    """The ranks worth following beside MAIN, given which predicates a run consulted."""
    return tuple(rank for rank, kinds in _PARTING.items() if depends_on & kinds)
