"""Rows for mpi4py: what the communicator of all processes does.

An MPI call meets MPI calls only, never one of torch.distributed: its ops have names of their own. Of each
pair, the one in lower case sends pickled objects and the other one buffers; they do not meet either.
"""

from __future__ import annotations

from distlint.knowledge.schema import CallRow, Effect


def _row(
    method: str, line: int, result: str, fills: int | None = None, keyword: str = ""
) -> CallRow:
    return CallRow(
        f"mpi4py.MPI.COMM_WORLD.{method}",
        Effect.COLLECTIVE,
        f"MPI.{'Barrier' if method == 'barrier' else method}",
        group_keyword="",
        fills=() if fills is None else (fills,),
        fills_keywords=(keyword,) if keyword else (),
        result=result,
        source=f"mpi4py 4.1.2 mpi4py/MPI.pyi:{line}",
    )


ROWS: tuple[CallRow, ...] = (
    _row("barrier", 870, "none"),
    _row("Barrier", 783, "none"),
    _row("bcast", 871, "uniform"),
    _row("Bcast", 784, "none", 0, "buf"),
    _row("allreduce", 877, "uniform"),
    _row("Allreduce", 795, "none", 1, "recvbuf"),
    _row("allgather", 874, "uniform"),
    _row("Allgather", 789, "none", 1, "recvbuf"),
    _row("Allgatherv", 790, "none", 1, "recvbuf"),
    _row("alltoall", 875, "local"),
    _row("Alltoall", 791, "none"),
    _row("Alltoallv", 792, "none"),
    _row("gather", 872, "rank"),
    _row("Gather", 785, "none"),
    _row("Gatherv", 786, "none"),
    _row("scatter", 873, "rank"),
    _row("Scatter", 787, "none"),
    _row("Scatterv", 788, "none"),
    _row("reduce", 876, "rank"),
    _row("Reduce", 794, "none"),
)
