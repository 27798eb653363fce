"""The classes of ranks that are followed through the program.

Ranks differ only in who they are. The assumed run is distributed (`is_initialized()` holds), with four
ranks on two nodes; a few concrete ranks stand for all that code can tell apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

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


MAIN: Final = RankClass("rank 0", 0, 0)
OTHER: Final = RankClass("other ranks", 1, 1)
NODE_MAIN: Final = RankClass("local rank 0 of another node", 2, 0)
LAST: Final = RankClass("the last rank", 3, 1)

RANK_CLASSES: Final = (MAIN, OTHER, NODE_MAIN, LAST)

DEPENDENCE_BY_KIND: Final[dict[str, str]] = {
    "rank": "rank",
    "is_main": "rank",
    "local_rank": "local",
    "is_local_main": "local",
    "is_last": "last",
}


def classes_to_run(depends_on: frozenset[str]) -> tuple[RankClass, ...]:
    """The ranks worth following beside MAIN, given which predicates a run consulted."""
    if not depends_on & {"rank", "local", "last"}:
        return ()
    others = [OTHER]
    if "local" in depends_on:
        others.append(NODE_MAIN)
    if "last" in depends_on:
        others.append(LAST)
    return tuple(others)
