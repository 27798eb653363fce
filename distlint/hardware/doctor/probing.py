"""The table of probes, and running them side by side, each with its own limit of time.

Each probe runs in a process of its own, in its own session. What has not answered in time is
killed by its process group, forked ranks included, and is Unknown from then on: whatever hangs
(a driver, a name server, a file server, a collective), the doctor does not.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from distlint.hardware.doctor.machine import Machine, Options, Unknown
from distlint.hardware.doctor.patience import patience


@dataclass(frozen=True, slots=True)
class Probe:
    """A row: the field of Machine that it fills, the function (module:name) and its limit."""

    field: str
    target: str
    what: str
    limit_s: float


_HERE = "distlint.hardware.doctor.probes"

PROBES: tuple[Probe, ...] = (
    Probe("gpus", f"{_HERE}.nvidia:look", "nvidia-smi", 6.0),
    Probe("torch", f"{_HERE}.torch_build:look", "import torch", 8.0),
    Probe("gloo", f"{_HERE}.all_reduce:over_gloo", "the all_reduce over gloo", 9.0),
    Probe("host", f"{_HERE}.host:look", "reading the host's limits", 3.0),
    Probe("network", f"{_HERE}.network:look", "resolving names", 5.0),
    Probe("storage", f"{_HERE}.storage:look", "writing to the checkpoint directory", 6.0),
    Probe("config", f"{_HERE}.configuration:look", "reading the configuration", 4.0),
    Probe("packages", f"{_HERE}.packages:look", "reading the installed packages", 5.0),
    Probe("script", f"{_HERE}.script:look", "reading the script", 5.0),
    Probe("model", f"{_HERE}.model:look", "reading the model's configuration", 5.0),
)

NCCL = Probe("nccl", f"{_HERE}.all_reduce:over_nccl", "the all_reduce over NCCL", 20.0)

# The child removes the current directory from its path first: a user's `random.py` or `torch.py`
# beside the doctor must not be run.
_CHILD = (
    "import sys; sys.path[:] = [p for p in sys.path if p] + [sys.argv[1]]; "
    "from distlint.hardware.doctor.probing import answer; answer()"
)


# Probes that are running, for the one who has to end them early.
_live: set[subprocess.Popen[bytes]] = set()


def look_at_machine(options: Options, environ: Mapping[str, str] | None = None) -> Machine:
    """Runs all probes at once, then NCCL where two GPUs are visible.

    Args:
        options: what the command was asked.
        environ: the environment to look in, this process's by default.
    """
    environ = dict(os.environ if environ is None else environ)
    with ThreadPoolExecutor(max_workers=len(PROBES)) as pool:
        running = {probe.field: pool.submit(run_probe, probe, options, environ) for probe in PROBES}
        try:
            seen = {field: future.result() for field, future in running.items()}
        except BaseException:  # Ctrl-C: the probes are in sessions of their own and hear nothing
            for process in tuple(_live):
                _kill(process)
            raise
    machine = Machine(options, environ, **seen)
    count = machine.gpu_count
    if count < 2:
        nccl: Any = Unknown(f"NCCL needs two GPUs to be tried, {count or 'none'} is visible")
    else:
        nccl = run_probe(NCCL, options, environ, count)
    return Machine(options, environ, **seen, nccl=nccl)


def run_probe(
    probe: Probe, options: Options, environ: Mapping[str, str], *arguments: object
) -> Any:
    """What the probe saw, or Unknown with the reason.

    Never takes longer than the probe's limit, which a busy machine stretches (see patience.py).
    """
    root = str(Path(__file__).resolve().parents[3])
    process = subprocess.Popen(
        [sys.executable, "-c", _CHILD, root],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environ),
        start_new_session=True,
    )
    _live.add(process)
    limit_s = probe.limit_s * patience()
    order = pickle.dumps((probe.target, options, arguments, limit_s))
    try:
        out, err = process.communicate(order, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return Unknown(f"{probe.what} did not answer within {limit_s:.0f} s", failed=True)
    finally:
        _end(process)
    try:
        return pickle.loads(out)
    except (EOFError, pickle.UnpicklingError):
        said = err.decode(errors="replace").strip().splitlines()
        last = said[-1] if said else f"exit code {process.returncode}"
        return Unknown(f"{probe.what} failed: {last}", failed=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kills the probe's process group; a process stuck in the kernel is left behind, unreaped."""
    _live.discard(process)
    _kill(process)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=0.5)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def answer() -> None:
    """The child's side: reads the order, runs the probe, writes what it saw.

    Whatever the probe prints goes to stderr: stdout carries the answer alone. The alarm ends the
    child should the doctor be gone.
    """
    target, options, arguments, limit_s = pickle.load(sys.stdin.buffer)
    if hasattr(signal, "alarm"):
        signal.alarm(int(limit_s) + 2)
    reply = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    module, _, name = target.partition(":")
    seen = getattr(import_module(module), name)(options, *arguments)
    reply.write(pickle.dumps(seen))
    reply.flush()
    os._exit(0)
