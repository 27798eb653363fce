"""Runs at the start of each Python process below a launcher, as `sitecustomize`; see `launcher`.

A process that is a rank (it has RANK) attaches the recorder; every other one only goes on to the
sitecustomize that this one stands in front of.
"""

import importlib
import os
import signal
import sys
from pathlib import Path

VARIABLE = "DISTLINT_RUN"
"""The environment variable with the path of the socket; what a rank starts does not inherit it."""

REPLICAS = "DISTLINT_RUN_REPLICAS"
"""The variable that has a rank tell the parameters of DDP's modules too, see `replicas`."""

TRAINING = "DISTLINT_RUN_TRAINING"
"""The variable with the folder in which a rank notes its training, see `training_log`."""

STACK_SIGNAL: int | None = signal.SIGRTMIN + 9 if hasattr(signal, "SIGRTMIN") else None
"""Has a rank that holds the interpreter write its stack; one that no program is likely to use."""


def _go_on() -> None:
    """Import the sitecustomize that would have been found without this one, if any."""
    here = Path(__file__).parent
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".") != here]
    own = sys.modules.pop("sitecustomize")
    importlib.invalidate_caches()
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        sys.modules["sitecustomize"] = own


if __name__ == "sitecustomize":
    _go_on()
    if "RANK" in os.environ and VARIABLE in os.environ:
        # By name: what is attached reads the names above, and a file that this one imports cannot.
        rank = importlib.import_module("distlint.hardware.sanitizer.attach")
        rank.attach(os.environ.pop(VARIABLE))
