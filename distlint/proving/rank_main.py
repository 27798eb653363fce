"""The first thing each rank of a proof runs: it runs the script and notes how that ended.

Started by its file name (`python rank_main.py NOTES SCRIPT [ARGS]`), with nothing imported from
distlint, so that the script meets the same interpreter as under `python SCRIPT`. NOTES is a folder;
for rank R it receives `R.started` (the process id), `R.stack` (written on SIGUSR1 by faulthandler,
which works while the interpreter waits inside C++), and `R.ended`, unless the process was killed.
"""

import faulthandler
import json
import os
import signal
import sys
import traceback
import types
from pathlib import Path

STARTED_BY = "DISTLINT_STARTED_BY"
"""The variable that tells a rank which process had it started, by its id."""

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def die_with_parent() -> None:
    """Ask Linux to end this process when its parent ends, so that none is ever left behind.

    Linux tells of no end that came before it was asked: whoever started this one is looked for behind that.
    """
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    starter = os.environ.pop(STARTED_BY, None)
    if starter is not None and not _runs(starter):
        os.kill(os.getpid(), signal.SIGKILL)


def _runs(pid: str) -> bool:
    """Whether a process is there and no zombie; its state stands behind its name (proc_pid_stat(5))."""
    try:
        state = Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return not Path("/proc/self/stat").exists()
    return state not in {"Z", "X"}


def run_script(script: str) -> None:
    """Run `script` as `__main__`."""
    module = types.ModuleType("__main__")
    module.__file__ = script
    module.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = module
    sys.path[0] = str(Path(script).resolve().parent)
    exec(compile(Path(script).read_bytes(), script, "exec"), module.__dict__)


def _script_line(error: BaseException, script: str) -> int | None:
    """The innermost line of the script in the traceback."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == script]
    return lines[-1] if lines else None


def main() -> None:
    """Run the script named on the command line; exits as it does."""
    die_with_parent()
    notes, script = Path(sys.argv[1]), sys.argv[2]
    sys.argv = sys.argv[2:]
    rank = os.environ.get("RANK", "0")
    if sys.platform != "win32":
        stack = (notes / f"{rank}.stack").open("w")
        faulthandler.register(signal.SIGUSR1, file=stack, all_threads=True)
    (notes / f"{rank}.started").write_text(str(os.getpid()))
    ended: dict[str, object] = {"status": 0, "exception": None, "message": "", "line": None}
    try:
        run_script(script)
    except SystemExit as stop:
        ended["status"] = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        raise
    except BaseException as error:
        ended = {
            "status": 1,
            "exception": type(error).__name__,
            "message": str(error),
            "line": _script_line(error, script),
        }
        # Without the frames of this file: what the user would see under `python SCRIPT`.
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
            frames = frames.tb_next
        traceback.print_exception(type(error), error, frames)
        sys.exit(1)
    finally:
        (notes / f"{rank}.ended").write_text(json.dumps(ended))


if __name__ == "__main__":
    main()
