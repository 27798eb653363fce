"""What the readers of YAML and JSON share: the place of each value, what is too much, what failed."""

from __future__ import annotations

from typing import TypeAlias

Keys: TypeAlias = tuple[str, ...]
Spans: TypeAlias = dict[Keys, tuple[int, int, int, int]]
"""By the keys that lead to a value: start and end of its key, start and end of the value, as offsets."""

MAX_DEPTH = 40
MAX_VALUES = 20_000
"""No configuration of a launcher is larger; a file that is made to fill the memory is."""


class Unreadable(Exception):
    """Why a file has no values, and the offset at which that shows."""

    def __init__(self, reason: str, offset: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset
