"""What each rank of `distlint run` runs: it puts the recorder in place, then runs the script.

`python -m distlint.hardware.sanitizer.rank_main EVENTS QUESTIONS STACK BACKEND script|module NAME [ARGS]`;
the first three are file descriptors, BACKEND is `-` for what the script itself asks for.
"""

from __future__ import annotations

import faulthandler
import inspect
import os
import runpy
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import torch.distributed as dist

from distlint.hardware.sanitizer.recorder import Recorder
from distlint.hardware.sanitizer.startup import STACK_SIGNAL
from distlint.proving.rank_main import die_with_parent, run_script


def main() -> None:
    """Run the program named on the command line under the recorder; exits as it does."""
    die_with_parent()
    events, questions, stack, backend, kind, name = sys.argv[1:7]
    sys.argv = sys.argv[6:]
    if STACK_SIGNAL is not None:
        faulthandler.register(STACK_SIGNAL, file=int(stack), all_threads=False)
    recorder = Recorder(int(events))
    recorder.install()
    if backend != "-":
        _replace_backend(backend)
    answers = threading.Thread(
        target=recorder.answer_questions, args=(int(questions),), name="distlint", daemon=True
    )
    answers.start()
    # Processes that the script starts must not hold the pipes open.
    os.set_inheritable(int(events), False)
    os.set_inheritable(int(questions), False)
    os.set_inheritable(int(stack), False)
    error: BaseException | None = None
    try:
        if kind == "script":
            run_script(name)
        else:
            sys.path[0] = str(Path.cwd())
            runpy.run_module(name, run_name="__main__", alter_sys=True)
    except SystemExit as stop:
        error = stop if stop.code not in (0, None) else None
        raise
    except BaseException as raised:
        error = raised
        frames = raised.__traceback__
        while frames is not None and _is_ours(frames.tb_frame.f_code.co_filename):
            frames = frames.tb_next
        traceback.print_exception(type(raised), raised, frames)
        sys.exit(1)
    finally:
        recorder.end(error)


def _is_ours(filename: str) -> bool:
    return filename == __file__ or filename == run_script.__code__.co_filename


def _replace_backend(backend: str) -> None:
    """Have `init_process_group` use `backend`, whatever the script names."""
    original = dist.init_process_group
    signature = inspect.signature(original)

    def init_process_group(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        given.arguments["backend"] = backend
        return original(*given.args, **given.kwargs)

    dist.init_process_group = init_process_group
    dist.distributed_c10d.init_process_group = init_process_group


if __name__ == "__main__":
    main()
