"""What a scheduler or a launcher said about ranks, against each other and the configuration.

Sources. srun(1), "OUTPUT ENVIRONMENT VARIABLES": SLURM_*. torch 2.13.0 distributed/rendezvous.py
(RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT must all be there). accelerate 1.15.0 reads NODE_RANK in
PrepareForLaunch (utils/launch.py, notebooks) only: accelerate launch takes machine_rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from distlint.hardware.doctor.check import Check, Result, error, ok, skipped, warning
from distlint.hardware.doctor.machine import Machine, Unknown


@dataclass(frozen=True, slots=True)
class Place:
    """A row: a variable that counts from 0, how many there are, and what a wrong one does."""

    name: str
    count: str
    why: str


PLACES: tuple[Place, ...] = (
    Place("RANK", "WORLD_SIZE", "the rendezvous never completes: each rank waits for another."),
    Place(
        "LOCAL_RANK", "LOCAL_WORLD_SIZE", "the rank takes a GPU that is not there, or another's."
    ),
    Place("GROUP_RANK", "GROUP_WORLD_SIZE", "the machine takes another's ranks."),
    Place("SLURM_PROCID", "SLURM_NTASKS", "the task takes a rank that does not exist."),
    Place("SLURM_NODEID", "SLURM_NNODES", "the machine takes another's ranks."),
)


def _number(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name, "").strip()
    return int(text) if text.isdecimal() else None


def rank_variables(machine: Machine) -> Iterator[Result]:
    """Ranks that are no numbers, out of range, or incomplete."""
    environ = machine.environ
    found = [*_ranges(environ)]
    launched = not isinstance(machine.host, Unknown) and machine.host.launcher is not None
    if launched or "SLURM_PROCID" in environ:  # else they are left over: launcher-variables
        found += _incomplete(environ)
    yield from found or [ok("no rank is out of its range")]


def _ranges(environ: Mapping[str, str]) -> Iterator[Result]:
    for row in PLACES:
        for name, least in ((row.name, 0), (row.count, 1)):
            number = _number(environ, name)
            if name in environ and (number is None or number < least):
                yield error(
                    f"{name}={environ[name]}",
                    "libraries read it as a number and fail, or start another job than you meant.",
                    f"set it to a whole number from {least} on, or unset it.",
                )
        place, count = _number(environ, row.name), _number(environ, row.count)
        if place is not None and count and place >= count:
            yield error(
                f"{row.name}={place} with {row.count}={count}",
                row.why,
                f"{row.name} is 0 to {count - 1}.",
            )


def _incomplete(environ: Mapping[str, str]) -> Iterator[Result]:
    size = _number(environ, "WORLD_SIZE")
    if size is None or size < 2 or "RANK" not in environ:
        return
    missing = [name for name in ("MASTER_ADDR", "MASTER_PORT") if name not in environ]
    if missing:
        yield error(
            f"RANK={environ['RANK']} WORLD_SIZE={size}, and no {' and no '.join(missing)}",
            "init_process_group raises ValueError on every rank.",
            "set what is missing, or start the ranks with torchrun.",
        )


def node_rank(machine: Machine) -> Iterator[Result]:
    """NODE_RANK against the configuration, which is what accelerate launch reads."""
    text = machine.environ.get("NODE_RANK")
    if text is None:
        yield skipped("NODE_RANK is not set")
        return
    number, machines = _number(machine.environ, "NODE_RANK"), machine.machines
    rank = machine.accelerate.get("machine_rank", 0)
    if number is None:
        yield error(
            f"NODE_RANK={text}",
            "scripts that hand it to a launcher fail.",
            "set it to this machine's number, from 0 on.",
        )
    elif machines > 1 and number >= machines:
        yield error(
            f"NODE_RANK={number} of {machines} machines (num_machines)",
            "the rendezvous waits for a machine that does not exist.",
            f"NODE_RANK is 0 to {machines - 1}.",
        )
    elif machines > 1 and number != rank:
        yield error(
            f"NODE_RANK={number}, machine_rank is {rank} in the configuration",
            "accelerate launch does not read NODE_RANK: two machines take the same ranks and the "
            "job waits for the others.",
            "accelerate launch --machine_rank $NODE_RANK",
        )
    elif machines == 1 and number > 0 and machine.accelerate:
        yield warning(
            f"NODE_RANK={number}, and num_machines is 1",
            "accelerate launch does not read NODE_RANK: this machine trains alone, as rank 0.",
            "num_machines and machine_rank, or unset NODE_RANK.",
        )
    else:
        yield ok(f"NODE_RANK={number}")


def slurm(machine: Machine) -> Iterator[Result]:
    """What SLURM starts against what the launcher will start."""
    environ = machine.environ
    if not any(name.startswith("SLURM_JOB") for name in environ) and "SLURM_NTASKS" not in environ:
        yield skipped("not in a SLURM job")
        return
    found = [*_tasks(machine), *_nodes(machine), *_identities(machine), *_gpus(machine)]
    shown = [f"{n}={environ[n]}" for n in ("SLURM_NNODES", "SLURM_NTASKS") if n in environ]
    yield from found or [ok(" ".join(shown) or "in a SLURM job")]


def _node_count(environ: Mapping[str, str]) -> int | None:
    return _number(environ, "SLURM_JOB_NUM_NODES") or _number(environ, "SLURM_NNODES")


def _tasks(machine: Machine) -> Iterator[Result]:
    """srun starts its command SLURM_NTASKS times; a launcher is to be started once a node."""
    environ, processes = machine.environ, machine.processes
    tasks, nodes = _number(environ, "SLURM_NTASKS"), _node_count(environ) or 1
    if tasks is None or processes is None or processes < 2 or _runs_under_torchrun(environ):
        return
    if tasks > nodes:
        # A configuration in the default place need not be what this job uses.
        asked = machine.options.num_processes is not None or machine.options.config_file is not None
        yield (error if asked else warning)(
            f"SLURM_NTASKS={tasks} on {nodes} node{'s' * (nodes != 1)}, and a launcher that starts "
            f"{processes} processes",
            f"srun starts the launcher {tasks} times: {tasks * processes} processes, several of "
            "each rank, on the same GPUs and the same port.",
            f"#SBATCH --ntasks-per-node=1 for a launcher; or srun python with {processes} tasks a "
            "node and no launcher.",
        )
    elif tasks < nodes:
        yield error(
            f"SLURM_NTASKS={tasks} on {nodes} nodes",
            "srun starts the launcher on some of the nodes only: the others' ranks are missing.",
            "#SBATCH --ntasks-per-node=1",
        )


def _nodes(machine: Machine) -> Iterator[Result]:
    nodes = _node_count(machine.environ)
    if nodes is None or not machine.accelerate:
        return
    if machine.machines > nodes:
        yield error(
            f"num_machines is {machine.machines}, SLURM gave {nodes} node{'s' * (nodes != 1)}",
            "the ranks wait for machines that the job does not have.",
            f"num_machines: {nodes}, or ask SLURM for {machine.machines} nodes.",
        )
    elif machine.machines < nodes:
        yield warning(
            f"num_machines is {machine.machines}, SLURM gave {nodes} nodes",
            "the other nodes stand idle, or train alone and write the same files.",
            f"num_machines: {nodes}, num_processes for all of them, and main_process_ip.",
        )
    node, rank = _number(machine.environ, "SLURM_NODEID"), machine.accelerate.get("machine_rank", 0)
    if machine.machines > 1 and node is not None and node != rank:
        yield error(
            f"SLURM_NODEID={node}, machine_rank is {rank} in the configuration",
            "all nodes read the same file: several take the same ranks, and the job waits for the "
            "others.",
            "srun bash -c 'accelerate launch --machine_rank $SLURM_NODEID ...'",
        )


# What a script without a launcher copies from SLURM, by the variable that torch reads.
_COPIES = (
    ("RANK", "SLURM_PROCID"),
    ("LOCAL_RANK", "SLURM_LOCALID"),
    ("WORLD_SIZE", "SLURM_NTASKS"),
)


def _identities(machine: Machine) -> Iterator[Result]:
    environ = machine.environ
    # torchrun in one task of each node numbers its workers by itself.
    if _runs_under_torchrun(environ) or "SLURM_PROCID" not in environ:
        return
    for name, theirs in _COPIES:
        mine, given = _number(environ, name), _number(environ, theirs)
        if mine is not None and given is not None and mine != given:
            yield error(
                f"{name}={mine}, {theirs}={given}",
                "the tasks do not agree with SLURM on who they are: ranks are doubled or missing, "
                "and the rendezvous never completes.",
                f"export {name}=${theirs} inside srun, not before it; or unset {name}.",
            )


def _gpus(machine: Machine) -> Iterator[Result]:
    gpus, processes = _number(machine.environ, "SLURM_GPUS_ON_NODE"), machine.processes
    if gpus and processes is not None and processes > gpus:
        yield error(
            f"SLURM_GPUS_ON_NODE={gpus}, {processes} processes on this machine",
            f"rank {gpus} shares a GPU with rank 0, or finds none.",
            f"start {gpus}, or ask for more: --gpus-per-node={processes}",
        )


def _runs_under_torchrun(environ: Mapping[str, str]) -> bool:
    return "TORCHELASTIC_RUN_ID" in environ


CHECKS = (
    Check("rank-variables", "launcher", rank_variables),
    Check("node-rank", "launcher", node_rank),
    Check("slurm", "launcher", slurm),
)
