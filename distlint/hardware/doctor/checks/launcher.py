"""What is left of an earlier launcher, and what the next one will meet: port and names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from distlint.hardware.doctor.check import Check, Result, error, ok, skipped, warning
from distlint.hardware.doctor.machine import Machine, NetworkFacts, Rendezvous, Unknown

# Variables that make a process believe it is one of several.
# torch 2.13.0: distributed/rendezvous.py _env_rendezvous_handler (RANK, WORLD_SIZE, MASTER_*),
# distributed/elastic/agent/server/local_elastic_agent.py (the others of torchrun).
# accelerate 1.15.0: state.py _prepare_backend (LOCAL_RANK starts a process group),
# utils/environment.py get_cpu_distributed_information (PMI_*, OMPI_COMM_WORLD_*, MV2_*).
_IDENTITY = re.compile(
    r"RANK|LOCAL_RANK|WORLD_SIZE|LOCAL_WORLD_SIZE|(GROUP|ROLE)_(RANK|WORLD_SIZE|NAME)|"
    r"PMI_(RANK|SIZE)|OMPI_COMM_WORLD_\w+|MV2_COMM_WORLD_\w+|TORCHELASTIC_\w+"
)

# Variables with which accelerate's launcher configures its workers (utils/launch.py): they turn
# FSDP, DeepSpeed or the CPU on in a plain run. ACCELERATE_BYPASS_DEVICE_MAP has its own check.
_SETTINGS = re.compile(r"(ACCELERATE|FSDP|MEGATRON_LM|PARALLELISM_CONFIG)_\w+")
_MEANT_FOR_USERS = frozenset(
    {
        "ACCELERATE_BYPASS_DEVICE_MAP",
        "ACCELERATE_LOG_LEVEL",
        "ACCELERATE_DISABLE_RICH",
        "ACCELERATE_TORCH_DEVICE",
    }
)


def leftovers(machine: Machine) -> Iterator[Result]:
    """Variables of a launcher where no launcher is."""
    environ = machine.environ
    identity = sorted(name for name in environ if _IDENTITY.fullmatch(name))
    settings = sorted(
        name for name in environ if _SETTINGS.fullmatch(name) and name not in _MEANT_FOR_USERS
    )
    if isinstance(machine.host, Unknown):
        launcher = None
    else:
        launcher = machine.host.launcher
    if identity and launcher:
        yield ok(f"{_shown(environ, identity)}: set by {launcher}, which runs this")
    elif identity:
        yield error(
            f"{_shown(environ, identity)} set, and no launcher runs this shell",
            _consequence(environ),
            f"unset {' '.join([*identity, *_rendezvous(environ)])}",
        )
    if settings and not launcher:
        yield warning(
            f"{_shown(environ, settings)} set",
            "a plain python run takes them for its launcher's orders: FSDP, DeepSpeed or the CPU "
            "are switched on, and accelerate launch overrides only some of them.",
            f"unset {' '.join(settings)}; put what you want into the configuration.",
        )
    if not identity and not settings:
        yield ok("no variables of an earlier launcher")


def _shown(environ: Mapping[str, str], names: list[str]) -> str:
    shown = [f"{name}={environ[name]}" for name in names[:6]]
    if len(names) > 6:
        shown.append(f"and {len(names) - 6} more")
    return " ".join(shown)


def _rendezvous(environ: Mapping[str, str]) -> list[str]:
    return [name for name in ("MASTER_ADDR", "MASTER_PORT") if name in environ]


def _consequence(environ: Mapping[str, str]) -> str:
    size = environ.get("WORLD_SIZE", "")
    if size.isdecimal() and int(size) > 1:
        rank = environ.get("RANK", "0")
        return (
            f"a script started with plain python joins as rank {rank} of {size} and waits in "
            "init_process_group for ranks that nobody starts."
        )
    if "LOCAL_RANK" in environ or "RANK" in environ:
        return (
            "a script started with plain python believes it is one rank of a job: it initialises "
            "a process group, picks a GPU by LOCAL_RANK, and skips what only rank 0 does."
        )
    return "libraries that look for a launcher take a plain run for one of its workers."


def device_map(machine: Machine) -> Iterator[Result]:
    """device_map="auto" and several processes: what the environment can say about it."""
    bypass = machine.environ.get("ACCELERATE_BYPASS_DEVICE_MAP", "").lower() == "true"
    processes = machine.processes or 1
    # accelerate 1.15.0 accelerator.py, prepare: it refuses a model with a device map of more than
    # one entry in any distributed mode, unless ACCELERATE_BYPASS_DEVICE_MAP is "true".
    if bypass and processes > 1:
        yield error(
            f"ACCELERATE_BYPASS_DEVICE_MAP=true with {processes} processes",
            "each process spreads a whole model over all GPUs, so every GPU holds a part of each "
            "of them; accelerate's refusal is switched off.",
            "unset it; load with device_map=None, or with device_map={'': local_rank}.",
        )
    elif bypass:
        yield warning(
            "ACCELERATE_BYPASS_DEVICE_MAP=true",
            "accelerate no longer refuses a model spread by device_map='auto' in a job of several "
            "processes.",
            "unset it unless one process uses all GPUs.",
        )
    elif processes > 1 and machine.options.model_parallel == "yes":
        yield error(
            f"--model-parallel yes with {processes} processes",
            "device_map='auto' spreads one model over all GPUs for ONE process; with a launcher "
            "each process does so, and accelerate refuses to prepare it.",
            "start one process for device_map, or shard with FSDP or ZeRO-3 instead.",
        )
    else:
        yield ok("device_map='auto' is not let through for several processes")


def master_port(machine: Machine) -> Iterator[Result]:
    """Can rank 0 listen on the rendezvous port."""
    facts = machine.network
    if isinstance(facts, Unknown):
        yield _unknown(facts)
        return
    text = machine.environ.get("MASTER_PORT")
    named = f"MASTER_PORT={text}" if text is not None else f"port {facts.port} (the default)"
    if facts.port <= 0 or facts.port >= 65536:
        yield error(
            f"{named} is not a port",
            "init_process_group raises on every rank.",
            "set it to a number from 1024 to 65535.",
        )
    elif not facts.master_is_here:
        yield ok(f"{named}; another machine listens there")
    elif facts.port_error and _under_launcher(machine):
        yield ok(f"{named} is in use, by the launcher that runs this")
    elif facts.port_error and text is not None:
        yield error(
            f"{named}: {facts.port_error}{_by(facts.holder)}",
            "rank 0 cannot listen, or the ranks join another job's rendezvous and hang with it.",
            _end_it(facts.holder),
        )
    elif facts.port_error:
        yield warning(
            f"{named}: {facts.port_error}{_by(facts.holder)}",
            "torchrun and accelerate launch want it for the first job of a machine: a second "
            "torchrun fails; accelerate 1.15 picks another port.",
            "start the second job with --master-port (torchrun) or --main_process_port 0 "
            "(accelerate).",
        )
    else:
        yield ok(f"{named} is free")


def _by(holder: str) -> str:
    return f", by {holder}" if holder else ""


def _end_it(holder: str) -> str:
    found = (
        f"end {holder} if it is left over" if holder else "end the process that has it (ss -ltnp)"
    )
    return f"{found}, or choose another port."


def configured_port(machine: Machine) -> Iterator[Result]:
    """main_process_ip and main_process_port of accelerate's configuration."""
    facts = machine.network
    if isinstance(facts, Unknown):
        yield _unknown(facts)
        return
    if facts.configured is None:
        yield skipped("no configuration names main_process_ip or main_process_port")
        return
    yield from _rendezvous_problems(machine, facts.configured) or [
        ok(f"the configuration's rendezvous: {_place(facts.configured)}")
    ]


def _place(meeting: Rendezvous) -> str:
    return f"{meeting.host or 'this machine'}, port {meeting.port}"


def _rendezvous_problems(machine: Machine, meeting: Rendezvous) -> list[Result]:
    several, rank = machine.machines > 1, machine.accelerate.get("machine_rank", 0)
    if several and meeting.error:
        return [
            error(
                f"main_process_ip: {meeting.host} does not resolve: {meeting.error}",
                "every rank waits for rank 0 at a name that leads nowhere, until its timeout.",
                "main_process_ip: the address of rank 0's machine.",
            )
        ]
    if several and rank == 0 and not meeting.is_here:
        return [
            error(
                f"machine_rank is 0, and main_process_ip {meeting.host} is not this machine",
                "rank 0 listens here and the others look for it there.",
                "main_process_ip: this machine's address, or the right machine_rank.",
            )
        ]
    if several and rank != 0 and meeting.is_here:
        return [
            warning(
                f"machine_rank is {rank}, and main_process_ip {meeting.host} is this machine",
                "the rank that listens there runs on another machine: nobody answers.",
                "main_process_ip: the address of the machine of machine_rank 0.",
            )
        ]
    if not meeting.port_error or _under_launcher(machine):
        return []
    saw = f"main_process_port {meeting.port}: {meeting.port_error}{_by(meeting.holder)}"
    # utils/launch.py, prepare_multi_gpu_env: is_port_in_use
    if several:
        return [
            error(
                saw,
                "accelerate launch raises ConnectionError on this machine, and the others wait.",
                _end_it(meeting.holder),
            )
        ]
    return [
        warning(
            saw,
            "accelerate 1.15 takes another port with a warning; what expects this one waits.",
            _end_it(meeting.holder),
        )
    ]


def names_resolve(machine: Machine) -> Iterator[Result]:
    """Do MASTER_ADDR and this machine's own name resolve."""
    facts = machine.network
    if isinstance(facts, Unknown):
        yield _unknown(facts)
        return
    problems = list(_name_problems(machine, facts))
    yield from problems or [ok(_resolving(machine))]


def _name_problems(machine: Machine, facts: NetworkFacts) -> Iterator[Result]:
    address = machine.environ.get("MASTER_ADDR")
    if facts.own_error:
        # gloo 2.13 binds to the address of the host's name unless GLOO_SOCKET_IFNAME is set:
        # torch 2.13.0, ProcessGroupGloo createDefaultDevice.
        yield warning(
            f"this machine's own name does not resolve: {facts.own_error}",
            "gloo picks its interface by that name and falls back to loopback, which other "
            "machines cannot reach.",
            "add the name to /etc/hosts, or set GLOO_SOCKET_IFNAME.",
        )
    if facts.master_error:
        yield error(
            f"MASTER_ADDR={address} does not resolve: {facts.master_error}",
            "every rank waits for rank 0 at a name that leads nowhere, until its timeout.",
            "set MASTER_ADDR to rank 0's address, or 127.0.0.1 on one machine.",
        )


def _resolving(machine: Machine) -> str:
    if "MASTER_ADDR" in machine.environ:
        return "this machine's name and MASTER_ADDR resolve"
    return "this machine's name resolves"


def _under_launcher(machine: Machine) -> bool:
    return not isinstance(machine.host, Unknown) and machine.host.launcher is not None


def _unknown(facts: Unknown) -> Result:
    if not facts.failed:
        return skipped(facts.reason)
    return error(
        facts.reason,
        "the ranks resolve the same names when they start and wait as long.",
        "look at /etc/resolv.conf and /etc/hosts; use addresses instead of names.",
    )


CHECKS = (
    Check("launcher-variables", "launcher", leftovers),
    Check("device-map", "launcher", device_map),
    Check("master-port", "launcher", master_port),
    Check("config-rendezvous", "launcher", configured_port),
    Check("host-names", "launcher", names_resolve),
)
