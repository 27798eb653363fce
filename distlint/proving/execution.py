"""Running one script on N processes, within limits, and judging how it ended."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from distlint.proving import launch, rank_main
from distlint.proving.declaration import Declaration, Launch, Outcome
from distlint.proving.waiting import PARTNER_LOST, IdleWatch, script_lines

_LOOK = 0.25
_TAIL = 4000
_SHOWN = 160

_TORN_DOWN = "terminate called without an active exception"
"""What a process says that aborts after the script has ended: threads of gloo meet the end of the interpreter
(torch 2.13.0, now and then on a busy machine). The script had come to its end before."""

_PORT_TAKEN = re.compile(r"EADDRINUSE|address already in use", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RankEnd:
    """How one rank ended.

    `status` is the exit status, None for a rank that the harness ended because it waited or because
    another had failed. `line` is the innermost line of the script: where it raised or waited.
    """

    rank: int
    status: int | None
    exception: str | None
    message: str
    line: int | None
    output: str

    @property
    def lost_partner(self) -> bool:
        """Whether the rank failed only because another did not come, or had left."""
        return self.exception is not None and PARTNER_LOST.search(self.message) is not None


@dataclass(frozen=True, slots=True)
class Execution:
    """One run of a script on all of its ranks: the outcome, and in a sentence how it showed."""

    outcome: Outcome
    evidence: str
    ranks: tuple[RankEnd, ...]
    seconds: float


class Starter(Protocol):
    """Starts one rank: `launch.start`, or what forks it."""

    def __call__(
        self, command: Sequence[str], rank: int, env: Mapping[str, str], cwd: Path, output: Path
    ) -> launch.RankProcess: ...


def execute(
    script: Path,
    declaration: Declaration,
    *,
    may_hang: bool,
    folder: Path,
    start: Starter = launch.start,
) -> Execution:
    """Run `script` on the declared number of processes and judge how it ended.

    Args:
        script: the file to run.
        declaration: ranks, launcher and time limit.
        may_hang: a hang is expected: ranks that all wait idly are ended at once. Otherwise only the
            time limit ends them, so that a slow machine does not look like a hang.
        folder: an empty folder for the notes; a subfolder of it is the script's working directory.
        start: starts a rank.

    Raises:
        OSError: a process could not be started.
    """
    for attempt in range(3):
        notes = folder / f"run{attempt}"
        notes.mkdir(parents=True)
        result = _execute_once(script, declaration, may_hang, notes, start)
        if not any(_PORT_TAKEN.search(end.message) for end in result.ranks):
            break
    return result


def _execute_once(
    script: Path, declared: Declaration, may_hang: bool, notes: Path, start: Starter
) -> Execution:
    began = time.monotonic()
    watch = IdleWatch()
    waiting_at: dict[int, int | None] = {}
    processes = _start(script, declared, notes, start)
    try:
        while any(one.process.poll() is None for one in processes):
            if any(one.process.poll() for one in processes):
                # As torchrun: when one fails the others are ended. First they get the time to say
                # what they saw, since the failing rank is not always the first to be gone.
                _wait_for_all(processes, 3.0)
                break
            if time.monotonic() - began > declared.timeout:
                waiting_at = script_lines(notes, _alive(notes, declared), script)
                break
            if may_hang and declared.launch is not Launch.PLAIN:
                alive = _alive(notes, declared)
                if watch.idle(list(alive.values())):
                    waiting_at = script_lines(notes, alive, script)
                    if all(waiting_at.values()):
                        break
            time.sleep(_LOOK)
    finally:
        statuses = {one.rank: one.process.poll() for one in processes}
        launch.end(processes)
    count = 1 if declared.launch is Launch.PLAIN else declared.ranks
    ends = tuple(_rank_end(notes, rank, statuses, waiting_at) for rank in range(count))
    outcome, evidence = _judge(ends)
    return Execution(outcome, evidence, ends, time.monotonic() - began)


def _start(
    script: Path, declared: Declaration, notes: Path, start: Starter
) -> list[launch.RankProcess]:
    """Start the ranks; where one cannot be started, none is left."""
    base = launch.proof_environment(os.environ)
    port = launch.free_port()
    cwd = notes / "cwd"
    cwd.mkdir()
    run = [str(Path(rank_main.__file__)), str(notes), str(script)]
    if declared.launch is Launch.TORCHRUN:
        torchrun = ["-m", "torch.distributed.run", "--nproc-per-node", str(declared.ranks)]
        torchrun += ["--master-addr", "127.0.0.1", "--master-port", str(port)]
        command = [sys.executable, *torchrun, *run]
        return [start(command, 0, base, cwd, notes / "0.output")]
    if declared.launch is Launch.PLAIN:
        return [start([sys.executable, *run], 0, base, cwd, notes / "0.output")]
    processes: list[launch.RankProcess] = []
    try:
        for rank in range(declared.ranks):
            env = launch.rank_environment(base, rank, declared.ranks, port)
            command = [sys.executable, *run]
            processes.append(start(command, rank, env, cwd, notes / f"{rank}.output"))
    except OSError:
        launch.end(processes)
        raise
    return processes


def _alive(notes: Path, declared: Declaration) -> dict[int, int]:
    """Process ids by rank of the ranks that run the script; empty before all have started."""
    started = {}
    for rank in range(declared.ranks):
        note = notes / f"{rank}.started"
        if not note.exists():
            return {}
        started[rank] = int(note.read_text() or 0)
    return {rank: pid for rank, pid in started.items() if not (notes / f"{rank}.ended").exists()}


def _wait_for_all(processes: list[launch.RankProcess], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(one.process.poll() is None for one in processes):
        time.sleep(0.1)


def _rank_end(
    notes: Path, rank: int, statuses: dict[int, int | None], waiting_at: dict[int, int | None]
) -> RankEnd:
    output = notes / f"{rank}.output"
    text = output.read_text(errors="replace")[-_TAIL:] if output.exists() else ""
    ended = notes / f"{rank}.ended"
    if not ended.exists():
        # Ended by us, by a signal, or by os._exit.
        status = statuses.get(rank)
        return RankEnd(rank, status, None, "", waiting_at.get(rank), text)
    note = json.loads(ended.read_text())
    status = statuses[rank] if statuses.get(rank) is not None else note["status"]
    if status == -signal.SIGABRT and _TORN_DOWN in text:
        status = note["status"]
    return RankEnd(rank, status, note["exception"], note["message"], note["line"], text)


def _judge(ends: tuple[RankEnd, ...]) -> tuple[Outcome, str]:
    """The outcome of all ranks. The first cause counts, not what it did to the others."""
    own = [end for end in ends if end.status not in (0, None) and not end.lost_partner]
    if own:
        first = own[0]
        wrong = first.exception == "AssertionError"
        where = f" at line {first.line}" if first.line else ""
        what = f"exit {first.status}"
        if first.exception is not None:
            what = ": ".join(part for part in (first.exception, _one_line(first.message)) if part)
        evidence = f"rank {first.rank} failed{where}: {what}"
        return (Outcome.WRONG_RESULT if wrong else Outcome.FAILS), evidence
    stuck = [end for end in ends if end.status is None or end.lost_partner]
    if stuck:
        parts = [f"rank {end.rank} {_waited(end)}" for end in stuck]
        parts += [f"rank {end.rank} has finished" for end in ends if end not in stuck]
        return Outcome.HANGS, "; ".join(parts)
    return Outcome.RIGHT, "all ranks finished"


def _waited(end: RankEnd) -> str:
    line = f" at line {end.line}" if end.line else ""
    if end.lost_partner:
        return f"gave up waiting{line}: {_one_line(end.message)}"
    return f"waits{line}"


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 2]} …"
