"""Each machine of a job meets at a place of its own, and none finds the others.

## What it does
Finds, in shell scripts, a launch on several machines that is numbered by the machine it runs on
(`--node_rank=$SLURM_NODEID`), with a port that the script draws at random: `$RANDOM`, `shuf`, the process's number `$$`;
a launch by `torchrun --nnodes=2` that is told no address to meet at, this machine's own, or not which of the machines it
is on, be it that the script has that number from outside and keeps it (`RANK=${RANK:-0}`); a number of the machine that the batch script puts into the command of `srun` (`srun … --node_rank=$SLURM_NODEID`),
which is 0 there, for all machines; one by `srun torchrun` in a job of several machines that is told no number of machines, or `--standalone`, be it in a
script that `srun` starts; a script that
is started with a number of machines that it does not read (`NNODES=8 bash train.sh`), and launches for one; a program that counts
its machines itself (`--num_shards 2`, `--num-machines 2`) and is told to meet at `tcp://localhost`; and an
`init_process_group(init_method="tcp://…", rank=…)` at a host of the code's own that `torchrun --rdzv_backend c10d` starts on several.

## Why it is bad
The script runs on each machine, and each draws another port. Rank 0 listens at its own, and the ranks of the other
machines ask at theirs, until they time out. Without an address, each machine meets at its own `127.0.0.1`; without a
number, each is the first one. A `c10d` rendezvous makes any machine the first: rank 0 listens there, and the ranks ask
at the host that the code names. `torchrun` reads neither MASTER_ADDR nor NODE_RANK from the environment, and takes one
machine where nobody gives `--nnodes`: those of the job train apart, or the first alone.

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
(`srun`, `ssh`), which draws once then, or says that there is one. Of addresses: silent where an option is not known, where the number of machines may
come from outside, and where the script sets a `PET_` variable, by which `torchrun` takes its options. What a page tells
people to type leaves the addresses to them.

Not proven: needs two machines, or two network names of one.

## References
- torch 2.13.0 torch/distributed/run.py: `--master-port`, "the port on rank 0 to be used for communication";
  `get_rdzv_endpoint`, and the defaults of `--nnodes`, `--master-addr`, `--node-rank` and `--rdzv-endpoint`
- mlperf-common issue 9
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from distlint.analysis.model import Model, place_of
from distlint.findings import Applicability, Finding, Fix, Place, Related, Severity
from distlint.launch.commands import Launch
from distlint.launch.project import LaunchFiles, Script
from distlint.patterns import pattern
from distlint.rule import Status

from .expanded import expanded_once
from .numbered_freely import numbered_freely
from .places import ITSELF, Why, has_no_place, meets_itself, put_in_once
from .unread import told_in_vain

CODE = "DL810"
NAME = "rendezvous-of-each-machine"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_DRAWN = r"\bRANDOM\b|\bshuf\b|\$\$"
_ASSIGNED = pattern(rf"^\s*(?:export\s+|local\s+)?(\w+)=(?!.*:-)(.*(?:{_DRAWN}).*)$", re.MULTILINE)
_OF_MACHINE = pattern(r"--(?:node|machine)[-_]rank[= \t]+[\"']?\$")
_PORT = pattern(r"--(?:master|main_process)[-_]port[= \t]+(\$\([^)]*\)+|\S+)")
_SHOWN = 3
_ELSEWHERE = frozenset({"srun", "ssh", "mpirun", "pdsh", "kubectl", "docker"})


def check_launch(files: LaunchFiles) -> Iterator[Finding]:
    """Launches of a machine among several that are told no common place, or draw the port themselves."""
    yield from _at_themselves(files)
    for name, started, place, launch in told_in_vain(files):
        unread = Why(
            f"`{started}` does not read `{name}`, and launches for one machine: each trains a model of its own",
            f"Hand it on: `--nnodes=${name}`, with `--node_rank` and an address that all have",
        )
        yield _nowhere(unread, place, [Related(launch.place, "launched here")])
    for script in files.scripts:
        if script.told:
            continue
        for number, place in expanded_once(script):
            yield _nowhere(put_in_once(number), place)
        for launch in script.launches:
            if (why := has_no_place(files, script, launch)) is not None:
                yield _nowhere(why, launch.place)
        if not re.search(_DRAWN, script.text):
            continue
        drawn = _drawn(script)
        for launch in script.launches:
            elsewhere = any(w.text is None or w.text in _ELSEWHERE for w in launch.before)
            command = script.command_at(launch.place.line)
            machines = launch.number("nnodes", "num_machines")
            if machines is not None and machines[0] == 1:
                continue  # mPLUG-2 a46aa97 scripts/inference_videocaption.sh:4: `WORLD_SIZE=1`
            if not elsewhere and _OF_MACHINE.search(command):
                yield from _of_port(launch, command, drawn)


def check(model: Model) -> Iterator[Finding]:
    """Groups that meet at a host of the code's own, where the launcher says which machine has rank 0."""
    for call, address, launch in numbered_freely(model):
        advice = (
            "Leave `init_method`, `rank` and `world_size` out: torchrun has set where rank 0 is"
        )
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            "torchrun makes any of these machines the first, and all ranks wait at the one that is named here, where "
            f"rank 0 may not listen. {advice}.",
            place_of(call.site.module, address),
            (Related(launch.place, "no machine is told its number"),),
            Fix(Applicability.DISPLAY, advice),
        )


def _at_themselves(files: LaunchFiles) -> Iterator[Finding]:
    """Programs that count the machines themselves, and meet at `localhost`: one finding for each."""
    by_program: dict[str, list[Place]] = {}
    for script in files.scripts:
        if not script.told:
            for started, place in meets_itself(script):
                by_program.setdefault(started, []).append(place)
    for first, *more in by_program.values():
        yield _nowhere(ITSELF, first, [Related(each, "and here") for each in more[:_SHOWN]])


def _nowhere(why: Why, place: Place, places: Iterable[Related] = ()) -> Finding:
    fix = Fix(Applicability.DISPLAY, why.advice)
    text = f"{why.says}. {why.advice}."
    return Finding(CODE, NAME, SEVERITY, text, place, tuple(places), fix)


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
