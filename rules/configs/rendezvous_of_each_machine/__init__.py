"""Each machine of a job meets at a place of its own, and none finds the others.

## What it does
Finds, in shell scripts, a launch on several machines that is numbered by the machine it runs on
(`--node_rank=$SLURM_NODEID`), with a port that the script draws at random: `$RANDOM`, `shuf`, the process's number `$$`;
and a launch by `torchrun --nnodes=2` that is told no address to meet at, or not which of the machines it is on.

## Why it is bad
The script runs on each machine, and each draws another port. Rank 0 listens at its own, and the ranks of the other
machines ask at theirs, until they time out. Without an address, each machine meets at its own `127.0.0.1`; without a
number, each is the first one. `torchrun` reads neither MASTER_ADDR nor NODE_RANK from the environment.

## Errors you may see
- `The client socket has timed out`
- `failed to recv, got 0 bytes`

## Example
```bash
export MASTER_PORT=$((20000 + RANDOM % 10000))
torchrun --nnodes=2 --node_rank=$SLURM_NODEID --master_addr=$HEAD --master_port=$MASTER_PORT train.py
```

## Use instead
```bash
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
torchrun --nnodes=2 --node_rank=$SLURM_NODEID --master_addr=$HEAD --master_port=$MASTER_PORT train.py
```

## Fix safety
Shown only: what is the same on all machines depends on how they are started.

## Known limits
Of ports: silent where one may come from outside (`${MASTER_PORT:-…}`), and where the script itself starts the machines
(`srun`, `ssh`): it draws once then. Of addresses: silent where an option is not known, where the number of machines may
come from outside, and where the script sets a `PET_` variable, by which `torchrun` takes its options. What a page tells
people to type leaves the addresses to them.

Not proven: needs two machines, or two network names of one.

## References
- torch 2.13.0 torch/distributed/run.py: `--master-port`, "the port on rank 0 to be used for communication";
  `get_rdzv_endpoint`, and the defaults of `--master-addr`, `--node-rank` and `--rdzv-endpoint`
- mlperf-common issue 9
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from distlint.columns import split_lines
from distlint.findings import Applicability, Finding, Fix, Place, Related, Severity
from distlint.knowledge.configuration.launchers import Launcher
from distlint.launch.commands import Launch
from distlint.launch.project import LaunchFiles, Script
from distlint.rule import Status

CODE = "DL810"
NAME = "rendezvous-of-each-machine"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_DRAWN = r"\bRANDOM\b|\bshuf\b|\$\$"
_ASSIGNED = re.compile(
    rf"^\s*(?:export\s+|local\s+)?(\w+)=(?!.*:-)(.*(?:{_DRAWN}).*)$", re.MULTILINE
)
_OF_MACHINE = re.compile(r"--(?:node|machine)[-_]rank[= \t]+[\"']?\$")
_PORT = re.compile(r"--(?:master|main_process)[-_]port[= \t]+(\$\([^)]*\)+|\S+)")
_ELSEWHERE = frozenset({"srun", "ssh", "mpirun", "pdsh", "kubectl", "docker"})


def check_launch(files: LaunchFiles) -> Iterator[Finding]:
    """Launches of a machine among several that draw the port themselves."""
    for script in files.scripts:
        if script.told:
            continue
        for launch in script.launches:
            if (why := _has_no_place(script, launch)) is not None:
                fix = Fix(Applicability.DISPLAY, why.advice)
                text = f"{why.says}. {why.advice}."
                yield Finding(CODE, NAME, SEVERITY, text, launch.place, (), fix)
        if not re.search(_DRAWN, script.text):
            continue
        drawn = _drawn(script)
        for launch in script.launches:
            elsewhere = any(w.text is None or w.text in _ELSEWHERE for w in launch.before)
            command = _command(script, launch.place.line)
            if not elsewhere and _OF_MACHINE.search(command):
                yield from _of_port(launch, command, drawn)


@dataclass(frozen=True, slots=True)
class _Place:
    says: str
    advice: str


_NOWHERE = _Place(
    "each machine waits at its own address for the others, as this launch is told no other",
    "Give all machines the address of the first: `--master_addr`, or `--rdzv_backend=c10d` with `--rdzv_endpoint`",
)
_ALL_FIRST = _Place(
    "each machine starts as the first one, and they wait for one another",
    "Number the machines: `--node_rank`, or `--rdzv_backend=c10d` with `--rdzv_endpoint`",
)


def _has_no_place(script: Script, launch: Launch) -> _Place | None:
    """Why the machines of a launch do not find one another; None where they may.

    LanguageBind 7070c53 scripts/audio_language/train.sh:6: `torchrun --nnodes=2 --nproc_per_node 8` and nothing else.
    """
    number = launch.number("nnodes")
    options = launch.options
    if (
        launch.launcher not in (Launcher.TORCHRUN, Launcher.TORCH_LAUNCH)
        or number is None
        or number[0] < 2
        or not launch.options_known
        or "standalone" in options
        or "PET_" in script.text
    ):
        return None
    backend = options.get("rdzv_backend")
    if backend is not None and backend.value != "static":
        met = "rdzv_endpoint" in options or backend.value != "c10d"
        return None if met else _NOWHERE
    if "master_addr" not in options and "rdzv_endpoint" not in options:
        return _NOWHERE
    return None if "node_rank" in options else _ALL_FIRST


def _command(script: Script, line: int) -> str:
    """The text of the command that begins in a line, with the lines that go on with it."""
    lines = split_lines(script.text)[line - 1 :]
    end = next((n for n, each in enumerate(lines) if not each.rstrip().endswith("\\")), len(lines))
    return "\n".join(lines[: end + 1])


def _drawn(script: Script) -> dict[str, Place]:
    """The variables that hold what a script draws, each set once, with their places."""
    found: dict[str, Place] = {}
    for match in _ASSIGNED.finditer(script.text):
        name = match[1]
        written = re.findall(rf"^\s*(?:export\s+|local\s+)?{name}=", script.text, re.MULTILINE)
        if len(written) == 1:
            line = script.text.count("\n", 0, match.start(1)) + 1
            found[name] = Place(script.path, line, 0, line, len(match[0].strip()))
    return found


def _of_port(launch: Launch, command: str, drawn: dict[str, Place]) -> Iterator[Finding]:
    given = _PORT.search(command)
    text = given[1] if given is not None else "$MASTER_PORT"
    names = [name for name in drawn if re.search(rf"\$\{{?{name}\b", text)]
    if names or (re.search(_DRAWN, text) and ":-" not in text):
        advice = "Take a number that all machines have, as the job's"
        places = tuple(Related(drawn[name], "drawn on each machine") for name in names)
        message = (
            "this script runs on each machine, and each draws another port: the ranks of the others wait where rank 0 "
            f"does not listen. {advice}."
        )
        fix = Fix(Applicability.DISPLAY, advice)
        yield Finding(CODE, NAME, SEVERITY, message, launch.place, places, fix)
