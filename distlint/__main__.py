"""`distlint` and `python -m distlint`: the program as a process of its own."""

from __future__ import annotations

import contextlib
import gc
import os
import sys


def _leave_working_directory() -> None:
    """Take the working directory off the path, where `python -m` puts it.

    The analysed code lies there, and none of it may be imported: not even as the `re.py` or
    `json.py` that stands in for the standard library's.
    """
    try:
        here = os.getcwd()
    except FileNotFoundError:  # said when a command needs it
        return
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if sys.path[:1] in ([""], [here]) and package != here:
        del sys.path[0]


def run() -> None:
    """Run the command line and end the process with its exit code.

    `check` and `fix` build a million nodes that live until the end. Looking for cycles among them on
    the way costs a third of a run, and freeing them one by one at the end another twentieth.
    """
    _leave_working_directory()
    analyses = sys.argv[1:2] in (["check"], ["fix"])
    if analyses:
        gc.disable()
    try:
        from distlint.cli import INTERRUPTED, main

        main(prog_name="distlint")
    except SystemExit as ended:
        if analyses and isinstance(ended.code, int):
            with contextlib.suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(ended.code)
        raise
    except KeyboardInterrupt:  # while modules were loaded
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    run()
