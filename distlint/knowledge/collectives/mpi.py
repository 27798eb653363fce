"""Rows for mpi4py: the collectives of the communicator of all processes.

Methods with a small letter take Python objects.
"""

from __future__ import annotations

from typing import Final

from distlint.knowledge.schema import CallRow, Effect

WORLD: Final = "mpi4py.MPI.COMM_WORLD"
_RESULTS: Final = {
    # What comes back is equal on all ranks …
    "allgather": ("uniform", 2149),
    "allreduce": ("uniform", 2175),
    "bcast": ("uniform", 2122),
    # … or is there on one, or is each rank's own.
    "alltoall": ("local", 2157),
    "exscan": ("local", 2520),
    "gather": ("rank", 2131),
    "reduce": ("rank", 2165),
    "scan": ("local", 2511),
    "scatter": ("local", 2140),
    # With a capital letter they fill buffers.
    "Allgather": ("none", 996),
    "Allgatherv": ("none", 1014),
    "Allreduce": ("none", 1104),
    "Alltoall": ("none", 1032),
    "Alltoallv": ("none", 1049),
    "Barrier": ("none", 903),
    "Bcast": ("none", 912),
    "Exscan": ("none", 2418),
    "Gather": ("none", 926),
    "Gatherv": ("none", 942),
    "Reduce": ("none", 1088),
    "Reduce_scatter": ("none", 1134),
    "Scan": ("none", 2401),
    "Scatter": ("none", 961),
    "Scatterv": ("none", 977),
    "barrier": ("none", 2113),
}

ROWS: tuple[CallRow, ...] = tuple(
    CallRow(
        f"{WORLD}.{name}",
        Effect.COLLECTIVE,
        f"mpi_{name}",
        group_keyword="",
        fills={"Bcast": (0,), "Allreduce": (1,), "Allgather": (1,)}.get(name, ()),
        result=result,
        source=f"mpi4py 4.1.1 mpi4py/MPI.src/Comm.pyx:{line}",
    )
    for name, (result, line) in _RESULTS.items()
)
