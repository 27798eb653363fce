"""Each machine of a job draws its own port to meet at, and none finds the others.

## What it does
Finds, in shell scripts, a launch on several machines that is numbered by the machine it runs on
(`--node_rank=$SLURM_NODEID`), with a port that the script draws at random: `$RANDOM`, `shuf`, the process's number `$$`.

## Why it is bad
The script runs on each machine, and each draws another port. Rank 0 listens at its own, and the ranks of the other
machines ask at theirs, until they time out.

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
Silent where the port may come from outside (`${MASTER_PORT:-…}`), and where the script itself starts the machines
(`srun`, `ssh`): it draws once then.

Not proven: needs two machines, or two network names of one.

## References
- torch 2.13.0 torch/distributed/run.py: `--master-port`, "the port on rank 0 to be used for communication"
- mlperf-common issue 9
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from distlint.columns import split_lines
from distlint.findings import Applicability, Finding, Fix, Place, Related, Severity
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
        if script.told or not re.search(_DRAWN, script.text):
            continue
        drawn = _drawn(script)
        for launch in script.launches:
            elsewhere = any(w.text is None or w.text in _ELSEWHERE for w in launch.before)
            command = _command(script, launch.place.line)
            if not elsewhere and _OF_MACHINE.search(command):
                yield from _of_port(launch, command, drawn)


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
