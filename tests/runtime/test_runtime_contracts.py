"""Every contract of the runtime, on 1, 2 and 3 processes with gloo.

One launch runs them all; after one fails, or hangs, the rest runs in a new group. Two ranks are interpreters
of their own, which salt their hashes differently; the others are forked.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import rank_processes

from distlint.hardware import contracts
from distlint.proving import launch
from distlint.proving.execution import Starter
from distlint.proving.warm import WarmInterpreter
from tests.once import once

pytest.importorskip("torch")

Reports = dict[str, list[str]]

# A launch runs some 45 contracts; on two busy cores they take up to a minute.
LIMIT = 240.0


def _reports(world_size: int, folder: Path, start: Starter) -> Reports:
    """For each contract what each rank reported."""
    done: Reports = {}
    remaining = [contract.name for contract in contracts.ALL]
    while remaining:
        attempt = folder / str(len(remaining))
        for name in ("scratch", "reports"):
            (attempt / name).mkdir(parents=True)
        outcomes = rank_processes.run(
            "contract_ranks:run_contracts",
            world_size,
            remaining,
            str(attempt / "scratch"),
            str(attempt / "reports"),
            limit=LIMIT,
            start=start,
        )
        complete = True
        while remaining and complete:
            name = remaining.pop(0)
            found = [
                path.read_text() if path.exists() else f"no report\n{outcomes[rank].output}"
                for rank in range(world_size)
                for path in [attempt / "reports" / f"{name}.{rank}"]
            ]
            done[name] = found
            complete = all(text.startswith(("ok", "skip")) for text in found)
    return done


@pytest.mark.parametrize("name", [contract.name for contract in contracts.ALL])
@pytest.mark.parametrize("world_size", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_contract(
    world_size: int,
    name: str,
    tmp_path_factory: pytest.TempPathFactory,
    interpreter: WarmInterpreter,
) -> None:
    """The contract holds on every rank, or says why it cannot be checked here."""
    folder = tmp_path_factory.mktemp(f"{world_size}-ranks")
    start = launch.start if world_size == 2 else interpreter.start
    make = partial(_reports, world_size, folder, start)
    reports: list[str] = once(tmp_path_factory, f"contracts-{world_size}", make)[name]
    if all(report.startswith("skip") for report in reports):
        pytest.skip(reports[0].removeprefix("skip: "))
    failed = [f"rank {r}: {text}" for r, text in enumerate(reports) if not text.startswith("ok")]
    assert not failed, "\n".join(failed)


def test_names_are_unique() -> None:
    """A record is keyed by name."""
    assert len({contract.name for contract in contracts.ALL}) == len(contracts.ALL)
