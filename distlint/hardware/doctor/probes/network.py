"""Names and the port of the rendezvous: does MASTER_ADDR resolve, can MASTER_PORT be listened on."""

from __future__ import annotations

import os
import socket

from distlint.hardware.doctor.machine import NetworkFacts, Options

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
    return NetworkFacts(
        own_addresses=own,
        own_error=own_error,
        master=master,
        master_error=master_error,
        master_is_here=master is None or any(_is_here(address) for address in master),
        port=port,
        port_error=_listen_error(port) if 0 <= port < 65536 else "",
    )


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
