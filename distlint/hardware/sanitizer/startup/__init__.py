"""What is put on PYTHONPATH to have the recorder attached, and the variables that ask for it."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parent
"""The folder that PYTHONPATH names: Python imports `sitecustomize` from it when it starts."""

VARIABLE = "DISTLINT_RUN"
"""The environment variable that has a job watched through its store; its value are options of `run`."""

SOCKET = "DISTLINT_RUN_SOCKET"
"""The variable with the path of the socket at which a `run` on this machine takes its ranks in."""

REPLICAS = "DISTLINT_RUN_REPLICAS"
"""The variable that has a rank tell the parameters of DDP's modules too, see `replicas`."""

TRAINING = "DISTLINT_RUN_TRAINING"
"""The variable with the folder in which a rank notes its training, see `training_log`."""

STACK_SIGNAL: int | None = signal.SIGRTMIN + 9 if hasattr(signal, "SIGRTMIN") else None
"""Has a rank that holds the interpreter write its stack; one that no program is likely to use."""


def in_front(env: Mapping[str, str]) -> str:
    """PYTHONPATH with the folder in front of what `env` has there."""
    return os.pathsep.join(filter(None, [str(FOLDER), env.get("PYTHONPATH")]))
