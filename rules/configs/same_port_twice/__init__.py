"""Two launches of one script run at the same time on one machine, and meet at the same port.

## What it does
Finds, in shell scripts, a launch that goes into the background (`&`) and, before the next `wait`, another on the
same machine with the same port: given to both, or left out of both, which is 29500. Also a launch in a loop
that goes into the background, whose port does not change from round to round, and a job array of Slurm
(`#SBATCH --array`) whose tasks ask for one or two GPUs of a machine and all name one port. In Python files, a port
that is written there (`init_method="tcp://127.0.0.1:23456"`, the default of an option) where a script starts the
file twice at the same time.

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
two scripts are not compared, nor those of an array that asks for whole machines (`--exclusive`, more than two GPUs)
or runs one task at a time (`%1`); `distlint doctor` looks whether a port is taken.

Not proven: the operating system refuses the second listener, on one process as well.

## References
- torch 2.13.0 distributed/run.py: the default of `--master-port` is 29500
- accelerate issue 74, detectron2 issue 91, XLM issue 53, pytorch issue 126510
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of
from distlint.analysis.program.options import options_of
from distlint.analysis.program.syntax import own_nodes
from distlint.findings import Applicability, Finding, Fix, Place, Related, Severity
from distlint.knowledge.configuration.launchers import PORT_VARIABLES, PORTS
from distlint.launch.commands import Launch, Plain
from distlint.launch.project import LaunchFiles, Script
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL809"
NAME = "same-port-twice"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_DEFAULT = "29500"
_ADDRESS = r"tcp://[\w.]+:[1-9]\d*"
_GPUS = ("gres", "gpus", "gpus_per_node", "G")
_OF_A_MACHINE = 2
"""So many GPUs are surely a part of a machine only: there are some with four."""
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
            if _shares_machines(script):
                yield from _in_array(script)


def check(model: Model) -> Iterator[Finding]:
    """Ports that a Python file names, which is started again while it runs."""
    for module in model.modules:
        ports = list(_written(model, module))
        for script, first, second in _together(model, module) if ports else ():
            for node, option in ports:
                if option in first.arguments or option in second.arguments or not first.complete:
                    continue
                advice = "Let each start name a port of its own, or none"
                places = (
                    Related(first.place, "one"),
                    Related(second.place, "another, or the next round"),
                )
                text = (
                    f"{script.path.rpartition('/')[2]} starts this file twice at the same time: rank 0 of the second "
                    f"cannot listen at this port, or joins the other job. {advice}."
                )
                fix = Fix(Applicability.DISPLAY, advice)
                place = place_of(module, node)
                yield Finding(CODE, NAME, SEVERITY, text, place, places, fix)


def _written(model: Model, module: Module) -> Iterator[tuple[ast.expr, str]]:
    """The addresses with a port that a file meets at, each with the option that names another; "" for none."""
    if "tcp://" not in module.source.text:
        return
    for option in options_of(module):
        if option.default is not None and _is_address(option.default):
            yield option.default, option.name
    for function in module.all_functions:
        for node in own_nodes(function):
            if not isinstance(node, ast.Call):
                continue
            method = next((k.value for k in node.keywords if k.arg == "init_method"), None)
            if (
                method is not None
                and _is_address(method)
                and (model.resolve(module, node.func) == "torch.distributed.init_process_group")
            ):
                yield method, ""


def _is_address(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and bool(re.fullmatch(_ADDRESS, str(node.value)))


def _together(model: Model, module: Module) -> Iterator[tuple[Script, Plain, Plain]]:
    """Two starts of a file of which the first still runs when the second begins."""
    starts = model.launch.alone(module.path)
    for script in {id(s): s for s, _ in starts}.values():
        waits = [c.line for c in script.commands if c.words and c.words[0].text == "wait"]
        own = [each for s, each in starts if s is script and _several_gpus(each)]
        for at, first in enumerate(own):
            line = first.command.line
            until = min((w for w in waits if w >= line), default=None)
            later = [e for e in own[at + 1 :] if until is None or e.command.line < until]
            if first.command.background and (later or first.command.repeated):
                yield script, first, (later or [first])[0]
                break


def _several_gpus(start: Plain) -> bool:
    """Whether a start is given several GPUs: with one, such scripts often make no process group."""
    given = start.command.environment.get("CUDA_VISIBLE_DEVICES")
    return given is not None and "," in (given.text or "")


def _shares_machines(script: Script) -> bool:
    """Whether Slurm may run several tasks of the script's array on one machine, at the same time."""
    asked = {name: word.text or "" for name, word in script.scheduler.items()}
    array = asked.get("array", asked.get("a", ""))
    gpus = next((asked[name] for name in _GPUS if name in asked), "")
    number = re.search(r"(?:^|:)(\d+)$", gpus)
    return (
        bool(re.search(r"\d[-,]\d", array))
        and not array.endswith("%1")
        and "exclusive" not in asked
        and asked.get("nodes", asked.get("N", "1")) == "1"
        and number is not None
        and int(number[1]) <= _OF_A_MACHINE
    )


def _in_array(script: Script) -> Iterator[Finding]:
    for launch in script.launches:
        port = _port(launch, _ELSEWHERE - {"srun"})
        if port is not None and not launch.background:
            advice = "Add `SLURM_ARRAY_TASK_ID` to the port, or let `torchrun --standalone` choose"
            array = script.scheduler.get("array") or script.scheduler["a"]
            places = (Related(array.place, "several tasks, which may share a machine"),)
            text = (
                f"every task of the array meets at port {port}: where two run on one machine, rank 0 of the second "
                f"cannot listen there, or joins the other job. {advice}."
            )
            fix = Fix(Applicability.DISPLAY, advice)
            yield Finding(CODE, NAME, Severity.WARNING, text, launch.place, places, fix)


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


def _port(launch: Launch, elsewhere: frozenset[str] = _ELSEWHERE) -> str | None:
    """The port at which the ranks of a launch meet; None where it is not known, or is another machine's."""
    if (_CHOOSES | _MACHINES) & launch.options.keys() or not launch.options_known:
        return None
    if any(word.text is None or word.text in elsewhere for word in launch.before):
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
