"""Two launches of one script run at the same time on one machine, and meet at the same port.

## What it does
Finds, in shell scripts, a launch that goes into the background (`&`) and, before the next `wait`, another on the
same machine with the same port: given to both, or left out of both, which is 29500. Also a launch in a loop
that goes into the background, whose port does not change from round to round.

## Why it is bad
Rank 0 of each job listens at its port. The second finds it taken and ends; or, where the first has not started
to listen, ranks of one job join the other's group, and both wait.

## Errors you may see
- `Address already in use`
- `EADDRINUSE`

## Example
```bash
CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node 2 train.py --task a &
CUDA_VISIBLE_DEVICES=2,3 torchrun --nproc_per_node 2 train.py --task b &
```

## Use instead
```bash
CUDA_VISIBLE_DEVICES=0,1 torchrun --standalone --nproc_per_node 2 train.py --task a &
CUDA_VISIBLE_DEVICES=2,3 torchrun --standalone --nproc_per_node 2 train.py --task b &
```
or `--master_port` (accelerate: `--main_process_port`), another for each.

## Fix safety
Shown only: which port is free a person knows.

## Known limits
Silent where a port comes from outside of the script, where the launcher chooses one (`--standalone`, `--rdzv_endpoint`),
behind `ssh` and `srun`, and where the launches are numbered as machines of one job (`--node_rank`). Jobs of
two scripts, or of an array of Slurm on one machine, are not compared; `distlint doctor` looks whether a port is taken.

Not proven: the operating system refuses the second listener, on one process as well.

## References
- torch 2.13.0 distributed/run.py: the default of `--master-port` is 29500
- accelerate issue 74, detectron2 issue 91, XLM issue 53
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.findings import Applicability, Finding, Fix, Place, Related, Severity
from distlint.knowledge.configuration.launchers import PORT_VARIABLES, PORTS
from distlint.launch.commands import Launch
from distlint.launch.project import LaunchFiles, Script
from distlint.rule import Status

CODE = "DL809"
NAME = "same-port-twice"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_DEFAULT = "29500"
_CHOOSES = frozenset(
    {"standalone", "rdzv_endpoint", "rdzv_backend", "rdzv_id", "config_file", "hostfile", "module", "m"}
)  # fmt: skip
"""Options with which the launcher, or a file, says where ranks meet."""
_MACHINES = frozenset({"node_rank", "machine_rank", "nnodes", "num_machines", "num_nodes"})
_ELSEWHERE = frozenset({"ssh", "srun", "mpirun", "docker", "kubectl", "pdsh"})


def check_launch(files: LaunchFiles) -> Iterator[Finding]:
    """Launches that meet where another of the script still does."""
    for script in files.scripts:
        if not script.told:
            yield from _in_script(script)


def _in_script(script: Script) -> Iterator[Finding]:
    waits = [c.line for c in script.commands if c.words and c.words[0].text == "wait"]
    running: list[tuple[str, Launch]] = []
    for launch in script.launches:
        line = launch.place.line
        running = [r for r in running if not any(r[1].place.line <= w <= line for w in waits)]
        port = _port(launch)
        if port is None:
            continue
        before = next((other for taken, other in running if taken == port), None)
        if before is not None:
            yield _finding(launch.place, port, (Related(before.place, "still runs"),))
        elif launch.repeated and launch.background:
            yield _finding(launch.place, port, ())
        elif launch.background:
            running.append((port, launch))


def _port(launch: Launch) -> str | None:
    """The port at which the ranks of a launch meet; None where it is not known, or is another machine's."""
    if (_CHOOSES | _MACHINES) & launch.options.keys() or not launch.options_known:
        return None
    if any(word.text is None or word.text in _ELSEWHERE for word in launch.before):
        return None
    for name in PORTS & launch.options.keys():
        option = launch.options[name]
        return option.value if option.sure else None
    for name in PORT_VARIABLES & launch.environment.keys():
        word = launch.environment[name]
        return word.text if word.sure else None
    return _DEFAULT


def _finding(place: Place, port: str, places: tuple[Related, ...]) -> Finding:
    advice = "Give each its own port, or let `torchrun --standalone` choose"
    other = "a launch above still runs" if places else "the round before still runs"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"{other} in the background and holds port {port}: rank 0 cannot listen there, or joins the other job. "
        f"{advice}.",
        place,
        places,
        Fix(Applicability.DISPLAY, advice),
    )
