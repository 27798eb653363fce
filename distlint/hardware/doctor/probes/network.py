"""Names and the port of the rendezvous: does MASTER_ADDR resolve, can MASTER_PORT be listened on."""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from distlint.hardware.doctor.machine import NetworkFacts, Options, Rendezvous
from distlint.hardware.doctor.probes.configuration import read_accelerate

# torchrun's and accelerate's default: torch 2.13.0 distributed/run.py --master-port;
# accelerate 1.15.0 utils/launch.py prepare_multi_gpu_env.
DEFAULT_PORT = 29500


def look(options: Options) -> NetworkFacts:
    """What resolves and what is free. May block as long as the resolver does."""
    name = socket.gethostname()
    own, own_error = _resolve(name)
    master_name = os.environ.get("MASTER_ADDR")
    master: tuple[str, ...] | None = None
    master_error = ""
    if master_name is not None:
        master, master_error = _resolve(master_name)
    port = _port(os.environ.get("MASTER_PORT"))
    port_error, holder = _listening(port)
    return NetworkFacts(
        own_addresses=own,
        own_error=own_error,
        master=master,
        master_error=master_error,
        master_is_here=master is None or any(_is_here(address) for address in master),
        port=port,
        port_error=port_error,
        holder=holder,
        configured=_configured(options),
    )


def _configured(options: Options) -> Rendezvous | None:
    """The rendezvous of accelerate's configuration, tried in the same way."""
    values = read_accelerate(options).values
    host, port = values.get("main_process_ip"), values.get("main_process_port")
    if not isinstance(port, int) or not 0 < port < 65536:
        if host is None:
            return None
        port = DEFAULT_PORT  # utils/launch.py, prepare_multi_gpu_env
    addresses, error = _resolve(str(host)) if host is not None else ((), "")
    here = host is None or any(_is_here(address) for address in addresses)
    port_error, holder = _listening(port) if here else ("", "")
    return Rendezvous(str(host or ""), error, here, port, port_error, holder)


def _listening(port: int) -> tuple[str, str]:
    """Why the port cannot be listened on, and who does; empty where it can, or is no port."""
    if not 0 <= port < 65536 or not (error := _listen_error(port)):
        return "", ""
    return error, holder_of(port)


def _port(text: str | None) -> int:
    """The port of the variable; -1 where it is not a number (the check names the variable)."""
    if text is None:
        return DEFAULT_PORT
    return int(text) if text.strip().isdecimal() else -1


def _resolve(name: str) -> tuple[tuple[str, ...], str]:
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except OSError as problem:
        return (), problem.strerror or str(problem)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found)), ""


def _is_here(address: str) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.bind((address, 0))
    except OSError:
        return False
    return True


def _listen_error(port: int) -> str:
    """Listens on all addresses for a moment, as TCPStore's server will."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
            # TIME_WAIT is no obstacle to TCPStore, which reuses addresses too.
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(("", port))
            trial.listen(1)
    except OSError as problem:
        return problem.strerror or str(problem)
    return ""


_LISTEN = "0A"
_MOST_PROCESSES = 20_000


def holder_of(port: int) -> str:
    """The process that listens on a TCP port: `python train.py (process 4711)` (Linux: /proc).

    Empty where it cannot be seen: another user's, another container's, another system.
    """
    inodes = set(_listeners(port))
    if not inodes:
        return ""
    for process in itertools.islice(Path("/proc").glob("[0-9]*"), _MOST_PROCESSES):
        try:
            targets = [str(handle.readlink()) for handle in (process / "fd").iterdir()]
            if inodes.isdisjoint(targets):
                continue
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:  # another user's, or it has just ended
            continue
        return f"{_program(words)} (process {process.name})"
    return ""


def _listeners(port: int) -> Iterator[str]:
    """`socket:[INODE]` of each socket that listens on the port (proc(5): /proc/net/tcp)."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                yield f"socket:[{fields[9]}]"


def _program(words: list[str]) -> str:
    """A command line by the names of its program and of the script or module that it runs."""
    program = Path(words[0]).name or "a process"
    script = next((w for w in words[1:] if w.endswith(".py")), None)
    if script is None and "-m" in words[:-1]:
        script = words[words.index("-m") + 1]
    return f"{program} {Path(script).name}" if script else program
