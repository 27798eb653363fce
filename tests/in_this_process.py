"""`distlint …` in the process of the tests: a new one spends half a second on loading the rules."""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from distlint.cli import main


def distlint(arguments: Sequence[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """What `distlint ARGUMENTS` in the folder `cwd` prints, and how it ends."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    before = Path.cwd()
    os.chdir(cwd)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main(list(arguments), prog_name="distlint")
    except SystemExit as ended:
        assert isinstance(ended.code, int)
        code = ended.code
    else:
        code = 0
    finally:
        os.chdir(before)
    said, told = (each.detach().getvalue().decode() for each in (out, err))
    return subprocess.CompletedProcess(list(arguments), code, said, told)
