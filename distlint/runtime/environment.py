"""Environment variables: temporary values, and a launcher's traces removed for a while."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from .identity import is_initialized

LAUNCHER_VARIABLES = (
    # torch 2.13.0, distributed/elastic/agent/server/local_elastic_agent.py, _start_workers
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    # torch 2.13.0, distributed/rendezvous.py, env://
    "MASTER_ADDR",
    "MASTER_PORT",
    # srun(1): of the tasks of a step
    "SLURM_STEP_NUM_TASKS",
    "SLURM_PROCID",
    "SLURM_LOCALID",
)
LAUNCHER_PREFIXES = (
    "GROUP_",  # torchrun: GROUP_RANK, GROUP_WORLD_SIZE
    "ROLE_",  # torchrun: ROLE_RANK, ROLE_WORLD_SIZE, ROLE_NAME
    "MASTER_",
    "TORCHELASTIC_",  # torchrun: restart counts, run id, agent store
    "PMI_",  # MPICH, Intel MPI, srun
    "OMPI_COMM_WORLD_",  # Open MPI
    "MV2_COMM_WORLD_",  # MVAPICH2
    "JSM_NAMESPACE_",  # IBM jsrun
    "ACCELERATE_",  # accelerate 1.15.0, utils/launch.py
    "FSDP_",  # accelerate 1.15.0, utils/launch.py
)
# torchrun's agent is the parent of a worker and sets this for its children only.
_UNDER_LAUNCHER = "TORCHELASTIC_RUN_ID"


@contextmanager
def temporary_env(**values: str | os.PathLike[str] | int | None) -> Iterator[None]:
    """Sets environment variables for the body and restores each exactly, absent ones included.

    Not collective. The CUDA runtime reads CUDA_VISIBLE_DEVICES once, at its first call: a change
    after that reaches child processes only.

    Args:
        values: variables to set; None removes one.

    Raises:
        TypeError, ValueError: a value that cannot be an environment variable; nothing is changed.
    """
    with _restored(values):
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = str(value) if isinstance(value, int) else os.fspath(value)
        yield


@contextmanager
def clean_distributed_env(*, keep: Iterable[str] = ()) -> Iterator[None]:
    """Removes the variables that launchers set, for the body, and restores each exactly.

    For what starts its own processes or loads a model on one, in a shell or notebook where an
    earlier launch left RANK or WORLD_SIZE behind. Not collective.

    Args:
        keep: names that stay.

    Raises:
        RuntimeError: inside a live process group, or in a worker that torchrun started, where
            these variables are the truth.
    """
    if is_initialized():
        raise RuntimeError(
            "clean_distributed_env() inside a live process group would remove the variables that "
            "describe it: call it before init_process_group, or after destroy_process_group"
        )
    if _UNDER_LAUNCHER in os.environ:
        raise RuntimeError(
            f"clean_distributed_env() in a worker of torchrun ({_UNDER_LAUNCHER} is set) would "
            "separate it from the other ranks: call it in the process that starts the launcher"
        )
    kept = frozenset(keep)
    names = [
        name
        for name in os.environ
        if name not in kept and (name in LAUNCHER_VARIABLES or name.startswith(LAUNCHER_PREFIXES))
    ]
    with _restored(names):
        for name in names:
            del os.environ[name]
        yield


@contextmanager
def _restored(names: Iterable[str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
