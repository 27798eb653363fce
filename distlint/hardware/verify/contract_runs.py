"""Running the contracts in one process group; after a failure the rest runs in a new one."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distlint.hardware import contracts
from distlint.hardware.verify.outcome import Outcome, Status
from distlint.hardware.verify.sessions import Session
from distlint.proving import launch

_SILENCE = 150.0
"""Seconds without a word from any rank after which the group is given up."""
_LAST_WORDS = 8.0
"""Seconds that the other ranks get after one has failed."""
_OUTPUT = 3000


@dataclass(slots=True)
class _Notes:
    """What the ranks of one group have noted: by contract, what each rank saw."""

    formed: set[int] = field(default_factory=set)
    seen: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    lines: int = 0


def run_contracts(
    session: Session, names: Sequence[str], report: Callable[[Outcome], None]
) -> tuple[list[Outcome], str | None]:
    """Run the named contracts in a group of `session`; calls `report` with each outcome as it comes.

    Returns the outcomes, and why the group could not be formed (then there are none).

    Raises:
        OSError: a process could not be started.
    """
    summaries = {contract.name: contract.summary for contract in contracts.ALL}
    remaining = [contract.name for contract in contracts.ALL if contract.name in set(names)]
    outcomes: list[Outcome] = []
    while remaining:
        notes, output = _run_group(session, remaining)
        if len(notes.formed) < session.ranks and not notes.seen:
            return outcomes, _last_line(output) or "the ranks did not meet in time"
        before = len(remaining)
        while remaining:
            name = remaining[0]
            outcome = _outcome(name, summaries[name], notes.seen.get(name, {}), session, output)
            if outcome is None:
                break
            remaining.pop(0)
            outcomes.append(outcome)
            report(outcome)
            if outcome.status is Status.FAILED:
                break
        if len(remaining) == before:
            # The group broke between two contracts: count the next one as failed, and go on.
            name = remaining.pop(0)
            reason = f"the ranks ended before it: {_last_line(output)}"
            outcomes.append(Outcome(name, summaries[name], Status.FAILED, reason, output))
            report(outcomes[-1])
    return outcomes, None


def _outcome(
    name: str, summary: str, seen: dict[int, dict[str, Any]], session: Session, output: str
) -> Outcome | None:
    """The outcome of one contract from all ranks; None where no rank began it."""
    if not seen:
        return None
    seconds = max(note["seconds"] for note in seen.values())
    states = [seen[rank]["state"] if rank in seen else "absent" for rank in range(session.ranks)]
    if set(states) == {"held"}:
        return Outcome(name, summary, Status.HELD, seconds=seconds)
    if set(states) == {"skipped"}:
        return Outcome(name, summary, Status.NOT_CHECKED, seen[0]["text"])
    failed = [rank for rank, state in enumerate(states) if state == "failed"]
    if failed:
        text = seen[failed[0]]["text"]
        reason = f"rank {failed[0]}: {_last_line(text)}"
        return Outcome(name, summary, Status.FAILED, reason, text, seconds)
    parts = ", ".join(f"rank {rank} {state}" for rank, state in enumerate(states))
    return Outcome(name, summary, Status.FAILED, f"not all ranks came through: {parts}", output)


def _run_group(session: Session, names: Sequence[str]) -> tuple[_Notes, str]:
    """Run the contracts in one group until all are through, one fails, or nothing moves."""
    base = launch.one_machine_environment(os.environ) | dict(session.environment)
    base |= {"HF_HUB_OFFLINE": "1", "PYTHONUNBUFFERED": "1", "TOKENIZERS_PARALLELISM": "false"}
    port = launch.free_port()
    processes: list[launch.RankProcess] = []
    with tempfile.TemporaryDirectory(prefix="distlint-verify-") as folder:
        root = Path(folder)
        for name in ("notes", "scratch", "cwd"):
            (root / name).mkdir()
        try:
            for rank in range(session.ranks):
                env = launch.rank_environment(base, rank, session.ranks, port)
                main = [sys.executable, "-m", "distlint.hardware.verify.rank_main"]
                where = [str(root / "notes"), str(root / "scratch")]
                device = session.device_of(rank)
                command = [*main, *where, session.backend, device, *names]
                output = root / f"{rank}.output"
                processes.append(launch.start(command, rank, env, root / "cwd", output))
            _wait(processes, root / "notes")
        finally:
            launch.end(processes)
        outputs = [
            (root / f"{rank}.output").read_text(errors="replace")[-_OUTPUT:]
            for rank in range(session.ranks)
        ]
        return _read(root / "notes"), "\n".join(text for text in outputs if text)


def _wait(processes: list[launch.RankProcess], notes: Path) -> None:
    heard, lines, deadline = time.monotonic(), 0, float("inf")
    while any(one.process.poll() is None for one in processes):
        now = time.monotonic()
        if (count := _read(notes).lines) > lines:
            heard, lines = now, count
        if any(one.process.poll() for one in processes):
            deadline = min(deadline, now + _LAST_WORDS)
        if now > deadline or now - heard > _SILENCE:
            return
        time.sleep(0.2)


def _read(notes: Path) -> _Notes:
    found = _Notes()
    for path in notes.iterdir():
        rank = int(path.name)
        for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
            if not line.endswith("\n"):
                continue  # Half written; whole the next time.
            note = json.loads(line)
            found.lines += 1
            if note["state"] == "formed":
                found.formed.add(rank)
            else:
                found.seen.setdefault(note["name"], {})[rank] = note
    return found


def _last_line(text: str) -> str:
    """The last line that says an error, else the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line.partition(":")[0]]
    return (errors or lines or [""])[-1][:300]
