"""What became of one contract or proof."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Status(enum.Enum):
    """HELD and FAILED were seen here; NOT_CHECKED comes with the reason."""

    HELD = "held"
    FAILED = "failed"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One row of the table.

    `reason` says what was seen, or why nothing was; one line. `details` is the output that a
    failure left, for the terminal only. `seconds` is the slowest rank's time.
    """

    name: str
    summary: str
    status: Status
    reason: str = ""
    details: str = ""
    seconds: float = 0.0
