"""Contracts: sections of one rank, the barrier, agreement, and how errors travel."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from distlint import runtime
from distlint.hardware.contracts import Context, Contract
from distlint.hardware.contracts.ranks import everyone, outcome, raised, seconds, together

# Generous for a loaded machine, and far below any timeout of a collective.
SOON = 5.0


class BrokenDownloadError(Exception):
    """What the section raises in these contracts."""


def _fail() -> None:
    raise BrokenDownloadError("no such file")


def check_main_first(context: Context) -> None:
    cache = context.scratch / "main-first"
    with runtime.main_process_first():
        found = cache.exists()
        if context.rank == 0:
            time.sleep(0.2)
            cache.write_text("filled")
    assert found == (context.rank != 0)
    assert cache.read_text() == "filled"


def check_local_first(context: Context) -> None:
    with runtime.main_process_first(local=True):
        entered = time.time()
        if context.local_rank == 0:
            time.sleep(0.2)
        left = time.time()
    times = everyone((context.local_rank, entered, left))
    first_left = max(leave for local, _, leave in times if local == 0)
    assert all(enter >= first_left for local, enter, _ in times if local != 0), times


def _first(context: Context) -> None:
    with runtime.main_process_first():
        if context.rank == 0:
            _fail()


def check_error_of_main(context: Context) -> None:
    took = 0.0

    def section() -> None:
        nonlocal took
        start = time.perf_counter()
        try:
            _first(context)
        finally:
            took = time.perf_counter() - start

    together()
    error = raised(section)
    if context.rank == 0:
        assert isinstance(error, BrokenDownloadError)
    else:
        assert isinstance(error, runtime.MainProcessError), error
        assert error.rank == 0
        assert "sections.py" in error.place
        assert "BrokenDownloadError: no such file" in str(error)
        assert "_fail" in error.remote_traceback
    assert took < SOON, took
    runtime.barrier()


def _in_turn(context: Context, failing: int) -> None:
    with runtime.main_process_first():
        if context.rank == failing:
            _fail()


def check_error_in_turn(context: Context) -> None:
    last = context.world_size - 1
    error = raised(lambda: _in_turn(context, last))
    if context.rank == last:
        assert isinstance(error, BrokenDownloadError)
    else:
        assert isinstance(error, runtime.RankError), error
        assert error.rank == last
        assert "BrokenDownloadError: no such file" in str(error)
        assert "_fail" in error.remote_traceback
    runtime.barrier()


def check_all_leave_together(context: Context) -> None:
    def turns(rank: int) -> Path:
        return context.scratch / f"turn-of-{rank}"

    def left_early() -> None:
        with runtime.main_process_first():
            if context.rank == 0:
                turns(0).touch()
                return  # From another line than the others leave at.
            time.sleep(0.3)
            turns(context.rank).touch()
        assert context.rank != 0

    left_early()
    assert all(turns(rank).exists() for rank in range(context.world_size))
    # A turn inside a turn ends with the outer one.
    with runtime.main_process_first(), runtime.main_process_first():
        pass
    error = raised(lambda: _nested_turns(context))
    assert isinstance(error, BrokenDownloadError if context.rank == 1 else runtime.RankError), error
    runtime.barrier()


def _nested_turns(context: Context) -> None:
    with runtime.main_process_first():
        _in_turn(context, 1)


def check_run_on_local_main(context: Context) -> None:
    calls: list[int] = []

    def work() -> int:
        calls.append(context.rank)
        return context.rank

    mine = everyone((context.rank, context.local_rank))
    value = runtime.run_on_main(work, local=True)
    assert (value, calls) == (
        (context.rank, [context.rank]) if context.local_rank == 0 else (None, [])
    )
    shared = runtime.run_on_main(work, local=True, broadcast=True)
    assert (shared, 0) in mine, (shared, mine)
    error = raised(lambda: runtime.run_on_main(_fail, local=True))
    expected = BrokenDownloadError if context.local_rank == 0 else runtime.RankError
    assert isinstance(error, expected), error
    with runtime.main_process_first(local=True):
        runtime.run_on_main(work, local=True)
    assert runtime.run_on_main(lambda: runtime.run_on_main(work, local=True), broadcast=True) == 0
    runtime.barrier()


def check_exit_of_main(context: Context) -> None:
    error = raised(lambda: runtime.run_on_main(sys.exit, 3))
    if context.rank == 0:
        assert isinstance(error, SystemExit)
    else:
        assert isinstance(error, runtime.MainProcessError)
        assert "SystemExit: 3" in str(error)
    runtime.barrier()


def check_run_on_main(context: Context) -> None:
    calls: list[int] = []

    def work(base: int, *, more: int) -> int:
        calls.append(base)
        return base + more + context.rank

    assert runtime.run_on_main(work, 3, more=4) == (7 if context.rank == 0 else None)
    assert runtime.run_on_main(work, 3, more=5, broadcast=True) == 8
    assert calls == ([3, 3] if context.rank == 0 else [])


def check_large_value(context: Context) -> None:
    value = runtime.run_on_main(lambda: bytes(20_000_003), broadcast=True)
    assert len(value) == 20_000_003


def check_value_that_cannot_be_sent(context: Context) -> None:
    error = raised(lambda: runtime.run_on_main(lambda: lambda: 0, broadcast=True))
    assert isinstance(error, runtime.MainProcessError) == (context.rank != 0), error
    assert "pickle" in str(error), error
    runtime.barrier()


def check_decorator(context: Context) -> None:
    @runtime.on_main_process
    def where() -> int:
        return context.rank

    assert where() == (0 if context.rank == 0 else None)


def check_barrier_waits(context: Context) -> None:
    together()
    if context.rank == context.world_size - 1:
        time.sleep(0.5)
    arrived = time.time()
    runtime.barrier()
    left = time.time()
    times = everyone((arrived, left))
    assert min(left for _, left in times) >= max(arrived for arrived, _ in times), times


def check_call_sites(context: Context) -> None:
    if context.rank == 0:
        error = raised(lambda: runtime.barrier(timeout=60))
    else:
        error = raised(
            # Another line on purpose.
            lambda: runtime.barrier(timeout=60)
        )
    assert isinstance(error, runtime.DesyncError), error
    assert "but main process is at" in str(error), error
    together()
    runtime.barrier()


def check_named_barrier(context: Context) -> None:
    if context.rank == 0:
        runtime.barrier(name="after prepare")
    else:
        runtime.barrier(name="after prepare")


def check_section_against_barrier(context: Context) -> None:
    if context.rank == 0:
        error = raised(lambda: runtime.barrier(timeout=60))
    else:
        error = raised(lambda: runtime.run_on_main(int, timeout=60))
    assert isinstance(error, runtime.DesyncError), error
    together()
    runtime.barrier()


def check_missing_rank(context: Context) -> None:
    together()
    late = context.rank == context.world_size - 1
    if late:
        time.sleep(1.5)
    error = raised(lambda: runtime.barrier(timeout=0.5 if not late else 60))
    assert isinstance(error, runtime.RankTimeoutError), error
    assert f"rank {context.world_size - 1} did not arrive" in str(error), error
    together()
    runtime.barrier()


def check_collective_in_section(context: Context) -> None:
    for call in (runtime.barrier, lambda: runtime.any_rank(True)):

        def section(inner: Any = call) -> None:
            with runtime.main_process_first():
                inner()

        error = raised(section)
        if context.rank == 0:
            assert type(error) is RuntimeError, error
            assert "needs every rank" in str(error)
        else:
            assert isinstance(error, runtime.MainProcessError), error
    runtime.barrier()


def check_nested_sections(context: Context) -> None:
    def inner() -> str:
        value = runtime.run_on_main(lambda: "inner", broadcast=True)
        assert value is not None
        return value

    assert runtime.run_on_main(inner, broadcast=True) == "inner"
    with runtime.main_process_first():
        assert runtime.run_on_main(inner, broadcast=True) == "inner"
    runtime.barrier()


def check_agreement(context: Context) -> None:
    import torch

    last = context.rank == context.world_size - 1
    assert runtime.any_rank(last) is True
    assert runtime.all_ranks(last) is (context.world_size == 1)
    assert runtime.any_rank(False) is False
    assert runtime.all_ranks(True) is True
    assert runtime.any_rank(torch.tensor([float("nan")], device=context.device).isnan()) is True


def check_keys_deleted(context: Context) -> None:
    from torch.distributed.distributed_c10d import _get_default_store

    store = _get_default_store()
    together()
    before = store.num_keys()
    together()
    for _ in range(5):
        runtime.barrier()
        runtime.run_on_main(int, broadcast=True)
        _ = outcome(lambda: _first(context))
        _ = outcome(lambda: _in_turn(context, context.world_size - 1))
        runtime.run_on_main(int, local=True)
    together()
    assert store.num_keys() <= before, (before, store.num_keys())
    together()


def _twenty_barriers() -> None:
    for _ in range(20):
        runtime.barrier()


def check_cost(context: Context) -> None:
    together()
    repeated = seconds(_twenty_barriers)
    assert repeated / 20 < 1.0, repeated


CONTRACTS = (
    Contract(
        "sections.main-first",
        "main_process_first() lets the others in when main has left",
        1,
        check_main_first,
    ),
    Contract(
        "sections.local-first",
        "main_process_first(local=True) lets each machine's first rank go first",
        1,
        check_local_first,
    ),
    Contract(
        "sections.error-of-main",
        "an exception of main reaches the others at once, with its traceback and place",
        2,
        check_error_of_main,
    ),
    Contract(
        "sections.error-in-turn",
        "an exception of another rank in its turn of main_process_first() reaches all",
        2,
        check_error_in_turn,
    ),
    Contract(
        "sections.leave-together",
        "main_process_first() is left together, from whatever line, nested or not",
        2,
        check_all_leave_together,
    ),
    Contract(
        "sections.run-on-local-main",
        "run_on_main(local=True) calls on each machine's first rank",
        1,
        check_run_on_local_main,
    ),
    Contract(
        "sections.exit-of-main",
        "sys.exit of main reaches the others too",
        2,
        check_exit_of_main,
    ),
    Contract(
        "sections.run-on-main",
        "run_on_main() calls on rank 0 only, and can hand its value to all",
        1,
        check_run_on_main,
    ),
    Contract(
        "sections.large-value",
        "run_on_main(broadcast=True) carries 20 MB, more than the store takes at once",
        2,
        check_large_value,
    ),
    Contract(
        "sections.unsendable-value",
        "a value that cannot be pickled is an error on every rank, not a hang",
        2,
        check_value_that_cannot_be_sent,
    ),
    Contract(
        "sections.decorator",
        "@on_main_process decides at the call",
        1,
        check_decorator,
    ),
    Contract(
        "sections.barrier-waits",
        "barrier() lets nobody go before the last rank has come",
        2,
        check_barrier_waits,
    ),
    Contract(
        "sections.call-sites",
        "ranks that meet at different lines all get DesyncError",
        2,
        check_call_sites,
    ),
    Contract(
        "sections.named-barrier",
        "barrier(name=...) lets ranks meet from different lines on purpose",
        2,
        check_named_barrier,
    ),
    Contract(
        "sections.mixed-operations",
        "a barrier on main and a section elsewhere is a DesyncError on every rank",
        2,
        check_section_against_barrier,
    ),
    Contract(
        "sections.missing-rank",
        "a rank that does not come is named to all the others after the timeout",
        2,
        check_missing_rank,
    ),
    Contract(
        "sections.collective-inside",
        "what needs every rank raises inside a section, instead of hanging",
        2,
        check_collective_in_section,
    ),
    Contract(
        "sections.nested",
        "sections inside sections work",
        1,
        check_nested_sections,
    ),
    Contract(
        "sections.agreement",
        "any_rank() and all_ranks() give every rank the same answer",
        1,
        check_agreement,
    ),
    Contract(
        "sections.keys-deleted",
        "meetings leave no keys in the process group's store, also after errors",
        2,
        check_keys_deleted,
    ),
    Contract(
        "sections.cost",
        "a barrier takes far less than a second",
        2,
        check_cost,
    ),
)
