"""Telling a process that waits for ever from one that works, or that got no processor."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

IDLE_SECONDS = 2.5
"""How long all ranks must be idle. A collective of a proof takes milliseconds."""
_BUSY_SHARE = 0.1
"""gloo's and the store's own threads poll: they cost about 1 % of a processor."""
# What a rank says whose partners never came, or left: gloo's and the store's own words
# (gloo/transport/tcp/pair.cc, unbound_buffer.cc; torch/csrc/distributed/c10d/TCPStore*.cpp,
# ProcessGroupNCCL.cpp's watchdog; torch 2.13).
PARTNER_LOST = re.compile(
    r"Timed out waiting|Connection closed by peer|Connection reset by peer|Broken pipe"
    r"|Application timeout caused pair closure|wait timeout after|Wait timeout"
    r"|Watchdog caught collective operation timeout|failed to pass monitoredBarrier"
    r"|Read error|Failed to recv, got 0 bytes|Socket closed",
    re.IGNORECASE,
)

_FRAME = re.compile(r'  File "(?P<path>.+)", line (?P<line>\d+) in ')


@dataclass(slots=True)
class IdleWatch:
    """Says when a set of processes has done nothing for `IDLE_SECONDS`.

    Reads /proc: the main thread sleeps at each look (a process that merely waits for a processor is
    runnable, one that waits for the disk is in D), and the processor time of all threads hardly
    grows. Where there is no /proc the answer is always no, and only the time limit ends a hang.
    """

    _since: float = 0.0
    _spent: dict[int, float] = field(default_factory=dict)

    def idle(self, pids: list[int]) -> bool:
        """Whether all of `pids` have been idle since long enough. Call it a few times a second."""
        now = time.monotonic()
        usage = {pid: _processor_seconds(pid) for pid in pids}
        spent = {pid: seconds for pid, seconds in usage.items() if seconds is not None}
        if len(spent) < len(pids) or not pids or set(spent) != set(self._spent):
            self._restart(now, spent)
            return False
        share = max(spent[pid] - self._spent[pid] for pid in spent)
        if share > _BUSY_SHARE * IDLE_SECONDS:
            self._restart(now, spent)
            return False
        return now - self._since >= IDLE_SECONDS

    def _restart(self, now: float, spent: dict[int, float]) -> None:
        self._since = now
        self._spent = spent


def _processor_seconds(pid: int) -> float | None:
    """Processor time of a sleeping process, in seconds; None where it is not asleep, or gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # proc(5): the name in parentheses may hold anything; state is the field after it.
    fields = stat.rpartition(")")[2].split()
    if fields[0] != "S":
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def script_lines(notes: Path, pids: dict[int, int], script: Path) -> dict[int, int | None]:
    """The innermost line of `script` at which each rank is, by rank, from faulthandler's dump.

    `pids` maps ranks to process ids. A rank that does not answer within two seconds, or has no frame
    of the script on any stack, gets None.
    """
    answers: dict[int, int | None] = dict.fromkeys(pids)
    for rank, pid in pids.items():
        (notes / f"{rank}.stack").write_text("")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGUSR1)
    deadline = time.monotonic() + 2.0
    while time.monotonic() < deadline and None in answers.values():
        for rank in pids:
            frames = _FRAME.finditer((notes / f"{rank}.stack").read_text(errors="replace"))
            lines = [int(m["line"]) for m in frames if m["path"] == str(script)]
            answers[rank] = lines[0] if lines else None
        time.sleep(0.05)
    return answers
