"""Runs at the start of each Python process with this folder on PYTHONPATH; see `attach`.

Where no variable asks for the recorder, it only goes on to the sitecustomize that it stands in front of.
"""

import importlib
import os
import sys
from pathlib import Path


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


def _attach() -> None:
    """By name: what is attached may import what stands beside this file."""
    try:
        attach = importlib.import_module("distlint.hardware.sanitizer.attach")
    except ModuleNotFoundError as error:
        if error.name != "distlint":
            raise
        sys.stderr.write(
            f"distlint run: not attached: {sys.executable} has no distlint; "
            "install it there, or unset DISTLINT_RUN\n"
        )
    else:
        attach.begin()


if __name__ == "sitecustomize":
    _go_on()
    if "DISTLINT_RUN" in os.environ or "DISTLINT_RUN_SOCKET" in os.environ:
        _attach()
