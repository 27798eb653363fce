"""More processes are started than the same script or configuration gives GPUs or machines to.

## What it does
Compares the number of processes and machines that a launch or a configuration fixes with what stands beside it:
`CUDA_VISIBLE_DEVICES` and `gpu_ids`, `#SBATCH --gres=gpu:N`, `--gpus-per-node` and `--nodes`, the replicas and GPUs of
Kubernetes' pods, the `srun` in front
of the launcher, or of a script that starts a process for each GPU (`mp.spawn`), the `distributed_type`; of a launch on a page, what stands on its line. Also a launch by torch that names several GPUs, or is all that a job of Slurm with several starts,
and no number of processes, of which it starts one, and a Trainer of Lightning that is told the devices of all machines (`--gpus 16 --num_nodes 2`) where each
has fewer; and a script that takes a number of GPUs and a port, uses neither, and starts Python alone. What the machine at hand has is for `distlint doctor`. With
`--select DL801`, also a number in accelerate's file that the command line overrides.

## Why it is bad
A process without a GPU of its own ends with "invalid device ordinal", or shares a GPU with another one. A
launcher that waits for more machines than the job was given waits until its timeout, then the job ends. A launcher
that `srun` starts eight times on each machine, for eight processes each time, starts 64.

## Errors you may see
- `invalid device ordinal`
- `Duplicate GPU detected : rank 1 and rank 0 both on CUDA device`
- `The client socket has timed out after`

## Example
```bash
#SBATCH --gres=gpu:4
CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node=8 train.py
```

## Use instead
```bash
#SBATCH --gres=gpu:4
torchrun --nproc_per_node=gpu train.py
```

## Fix safety
No fix: which of the two numbers is right, a person has to say.

## Known limits
Only numbers that stand in the script: `$1`, `$SLURM_NNODES` and a default that the caller may replace
(`${GPUS:-8}`) are not judged.

Not proven: needs GPUs, or a scheduler.

## References
- accelerate 1.15.0, `commands/launch.py`, `utils/launch.py`
- torch 2.13.0, `distributed/run.py`
- Slurm 24.05, `sbatch`: `--gres`, `--gpus-per-node`, `--ntasks-per-node`
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from distlint.findings import Finding, Place, Related, Severity
from distlint.knowledge.configuration.launchers import Launcher
from distlint.launch import accelerate
from distlint.launch.commands import Launch, plain, starts_ranks
from distlint.launch.defects import sentence_of
from distlint.launch.places import Lines
from distlint.launch.project import Configuration, Format, LaunchFiles, Script
from distlint.patterns import pattern
from distlint.rule import Status

from .idle import numbers_idle

CODE = "DL801"
NAME = "hard-coded-num-processes"
SEVERITY = Severity.WARNING
STATUS = Status.PREVIEW
LITERALS = ()

_GRES = pattern(r"(?:gres/)?gpus?(?::[A-Za-z]\w*)?[:=](\d+)")
_DEVICES = pattern(r"\d+(?:,\d+)*")
_LIGHTNING = pattern(r"^[^#\n]*--(?:trainer\.)?(?:strategy|accelerator)[= \t]", re.MULTILINE)
_FOR_EACH = pattern(
    r"^[^#\n]*?(?P<option>--(?:trainer\.)?(?:gpus|devices)[= \t]+(?P<number>\d+))(?![\w.,])",
    re.MULTILINE,
)
_MACHINES = pattern(r"^[^#\n]*?--(?:trainer\.)?num_nodes[= \t]+(\d+)\b", re.MULTILINE)
_RUNS_ONCE = pattern(r"--(?:ntasks|ntasks-per-node)(?:=|$)|-n\d*$")
"""What `srun` is told of its tasks, whatever the script asked for: zwd-into-aurora 06e19fd scripts/training/train_zwd.sh:84,
`--ntasks=$nnodes`."""
_GPUS_TOLD = pattern(r"(?:num_|n_|n)gpus?")


def check_launch(files: LaunchFiles) -> Iterator[Finding]:
    """Numbers of processes and machines that what stands beside them contradicts."""
    for configuration in files.of(Format.ACCELERATE):
        yield from _configuration(files, configuration)
    for script, launch in files.launches():
        yield from _launch(files, script, launch)
    for script, launch in files.launches(told=True):
        yield from _one_by_default(script, launch)
        if script.told:
            yield from _on_its_line(files, script, launch)
    for script in files.scripts:
        yield from _of_lightning(script)
    for given, name, place, at in numbers_idle(files):
        text = (
            f"This script is given {given} GPUs, hands the number to nobody, and starts `{name}` as one process: the others stay "
            "idle. Start it with `torchrun --nproc_per_node`."
        )
        yield _finding(text, place, (at, "the GPUs"))
    for count, name, place in files.spawned_by_tasks():
        text = (
            f"Slurm starts `{name}` {count} times on this machine, and each starts a process for every GPU: {count} share each, "
            "and ranks are there twice. Ask for one task."
        )
        yield _finding(text, place)


def _configuration(files: LaunchFiles, configuration: Configuration) -> Iterator[Finding]:
    values = configuration.values
    for defect in (*accelerate.numbers(values), *accelerate.started(values)):
        if defect.severe:  # what is left out, the command line may say
            place = configuration.place(defect.keys)
            left_open = values.get("num_processes") == 0 and not _is_taken(files, configuration)
            severity = Severity.INFO if left_open else SEVERITY
            yield _finding(sentence_of(defect), place, severity=severity)
    ids, total = values.get("gpu_ids"), values.get("num_processes")
    machines = values.get("num_machines", 1)
    if isinstance(ids, str) and isinstance(total, int) and isinstance(machines, int):
        gpus, each = _devices(ids), total // max(machines, 1)
        if gpus is not None and gpus < each:
            text = _too_few(each, gpus, "`gpu_ids` names")
            at = configuration.place(("gpu_ids",))
            yield _finding(text, configuration.place(("num_processes",)), (at, "the GPUs"))


def _is_taken(files: LaunchFiles, configuration: Configuration) -> bool:
    """Whether a launch takes the number of processes from a configuration. None is left to the command line where it is 0.

    Marg-Li-CoT 8e6898f accelerate_configs/accelerate_ds.yaml:18, whose launcher (with_trl/launch.py:196) puts
    `--num_processes` before `--config_file`.
    """
    return any(
        files.configured(script, launch) is configuration and "num_processes" not in launch.options
        for script, launch in files.launches(told=True)
    )


def _on_its_line(files: LaunchFiles, script: Script, launch: Launch) -> Iterator[Finding]:
    """A launch of a page that names too few GPUs on its own line: what stands elsewhere there is told of other commands.

    LAVENDER 139860e README.md:212: `CUDA_VISIBLE_DEVICES='0,1,2,3,5,6,7' … --nproc_per_node=8`.
    """
    visible = launch.environment.get("CUDA_VISIBLE_DEVICES")
    if visible is not None and visible.place.line == launch.place.line:
        yield from _beyond(files, script, launch, _visible(launch))


def _launch(files: LaunchFiles, script: Script, launch: Launch) -> Iterator[Finding]:
    yield from _beyond(files, script, launch, (*_visible(launch), *_of_slurm(script)))
    yield from _machines(script, launch)
    yield from _launchers(script, launch)
    yield from _overridden(files, script, launch)


def _beyond(
    files: LaunchFiles, script: Script, launch: Launch, given: Iterable[tuple[int, str, Place]]
) -> Iterator[Finding]:
    """More processes than there are GPUs, by the first of what is said of these."""
    counted = _processes(files, script, launch)
    if counted is not None:
        each, where = counted
        for gpus, saw, place in given:
            if gpus < each:
                if each == gpus + 1 and _is_told(launch, gpus):
                    break
                yield _finding(_too_few(each, gpus, saw), where, (place, "the GPUs"))
                break


def _is_told(launch: Launch, gpus: int) -> bool:
    """Whether the program itself is told how many GPUs there are: the process that is left over goes without.

    tgl 99ee829 scripts/slurm-run-dist-launch.sh:32: `--nproc_per_node=5 train_dist.py --num_gpus 4`, where the last rank serves
    the others.
    """
    return any(
        _GPUS_TOLD.fullmatch(name) and option.value == str(gpus)
        for name, option in launch.arguments.items()
    )


def _processes(files: LaunchFiles, script: Script, launch: Launch) -> tuple[int, Place] | None:
    """How many processes a launch starts on each machine, and where that is said."""
    given = launch.number(*launch.row.processes)
    machines = launch.number(launch.row.machines)
    several = machines[0] if machines else 1
    if given is not None:
        total, option = given
        return (total // several if launch.launcher is Launcher.ACCELERATE else total), option.place
    if any(name in launch.options for name in launch.row.processes) or not launch.complete:
        return None
    configuration = files.configured(script, launch)
    if configuration is not None and launch.launcher is Launcher.ACCELERATE:
        number = configuration.values.get("num_processes")
        machines_there = configuration.values.get("num_machines", 1)
        if isinstance(number, int) and isinstance(machines_there, int) and machines_there > 0:
            return number // machines_there, configuration.place(("num_processes",))
    return None


def _visible(launch: Launch) -> Iterator[tuple[int, str, Place]]:
    """How many GPUs of a machine the launch is shown, in which words, and where."""
    visible = launch.environment.get("CUDA_VISIBLE_DEVICES")
    # SLAM-LLM a68e78f examples/slam_aac/scripts/pretrain.sh:79: `if [[ $CUDA_VISIBLE_DEVICES != *","* ]]` starts one
    # process, and whoever gets to the launch in its `else` has named several GPUs.
    chosen = "CUDA_VISIBLE_DEVICES" in launch.tested
    if visible is not None and visible.sure and visible.text and not chosen:
        count = _devices(visible.text)
        if count is not None:
            yield count, "`CUDA_VISIBLE_DEVICES` names", visible.place


def _of_slurm(script: Script) -> Iterator[tuple[int, str, Place]]:
    """How many GPUs of a machine the scheduler is asked for.

    Who asks for none does without: carla_garage 1448bed team_code/slurm_relabel_dataset.sh:8, `--gres=gpu:0` for 72 processes
    whose `device` is "cpu".
    """
    for name in ("gres", "gpus_per_node"):
        word = script.scheduler.get(name)
        if word is None or not word.text:
            continue
        found = _GRES.search(word.text) or re.search(r"(?:^|:)(\d+)$", word.text)
        if found is not None and int(found[1]) and (name != "gres" or "gpu" in word.text):
            yield int(found[1]), f"{script.gives} gives", word.place


def _of_lightning(script: Script) -> Iterator[Finding]:
    """Devices of all machines where a Trainer of Lightning is told those of each, beside the number of machines.

    Fengshenbang-LM c8fb7b8 fengshen/examples/wenzhong_qa/finetune_GPT2_medicalQA.sh:76: `--gpus 16 --num_nodes 2`, with
    `--gres=gpu:8`. Lightning 1.9 then refuses devices 8 to 15, which no machine has.
    """
    told, machines = list(_FOR_EACH.finditer(script.text)), _MACHINES.findall(script.text)
    if len(told) != 1 or len(machines) != 1 or not _LIGHTNING.search(script.text):
        return
    number, given = int(told[0]["number"]), next(_of_slurm(script), None)
    if int(machines[0]) > 1 and given is not None and number > given[0]:
        text = (
            f"A Trainer is told the devices of each machine, here {number}, and Slurm gives {given[0]} on each: it ends on "
            f"every rank as it starts. Say {given[0]}."
        )
        place = Lines(script.path, script.text).place(*told[0].span("option"))
        yield _finding(text, place, (given[2], "the GPUs"))


def _devices(text: str) -> int | None:
    return text.count(",") + 1 if _DEVICES.fullmatch(text) else None


def _too_few(processes: int, gpus: int, saw: str) -> str:
    return (
        f"{processes} processes are started on each machine, and {saw} {gpus} "
        f"{'GPU' if gpus == 1 else 'GPUs'}: local rank {gpus} finds no device of its own. "
        f"Start {gpus}, or give {processes} GPUs."
    )


def _one_by_default(script: Script, launch: Launch) -> Iterator[Finding]:
    """A launch by torch that is given several GPUs, and starts the one process that nobody asked for otherwise.

    CVPR2022-DaGAN 052ad35 README.md:97: eight GPUs in `CUDA_VISIBLE_DEVICES`, and no `--nproc_per_node`.
    """
    if (
        launch.launcher not in (Launcher.TORCHRUN, Launcher.TORCH_LAUNCH)
        or any(name in launch.options for name in launch.row.processes)
        or launch.row.machines in launch.options
        or not launch.options_known
        or launch.script is None
        or "PET_NPROC_PER_NODE" in launch.environment
        or "CUDA_VISIBLE_DEVICES" in launch.tested
    ):
        return
    for count, saw, place in _given_alone(script, launch):
        if count > 1:
            text = (
                f"This launch starts one process, as nothing says how many, and {saw} {count} GPUs: the "
                f"others stay idle. Say `--nproc_per_node={count}`."
            )
            yield _finding(text, launch.place, (place, "the GPUs"))


def _given_alone(script: Script, launch: Launch) -> Iterator[tuple[int, str, Place]]:
    """How many GPUs a launch is given for itself: on its own line, or of a job of Slurm that starts nothing else.

    vec2text e5022f1 experiment_scripts/train/run_ddp_slurm.sh:22: `--gres=gpu:a6000:4`, and `torchrun run.py`.
    """
    visible = launch.environment.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        count = _devices(visible.text or "")
        if count is not None and visible.sure and visible.place.line == launch.place.line:
            yield count, "`CUDA_VISIBLE_DEVICES` names", visible.place
    elif len(script.launches) == 1 and not any(
        starts_ranks(command) or command.background or plain(command) is not None
        for command in script.commands
    ):
        yield from islice(_of_slurm(script), 1)


def _machines(script: Script, launch: Launch) -> Iterator[Finding]:
    """More machines than the job was given."""
    wanted, nodes = launch.number(launch.row.machines), script.scheduler.get("nodes")
    nodes = nodes or script.scheduler.get("N")
    if wanted is None or nodes is None or not (nodes.text or "").isdecimal():
        return
    given = int(nodes.text or 0)
    if wanted[0] > given:
        text = (
            f"The ranks wait for {wanted[0]} machines, and {script.gives} gives {given}: no rank starts before "
            f"the timeout. Ask for as many as the launcher expects."
        )
        yield _finding(text, wanted[1].place, (nodes.place, "the machines"))


def _launchers(script: Script, launch: Launch) -> Iterator[Finding]:
    """`srun` starts the launcher once for each task, and each of them starts all processes."""
    names = [word.text or word.option for word in launch.before]
    if "srun" not in names or launch.launcher is Launcher.DEEPSPEED:
        return
    own = [name for name in names if _RUNS_ONCE.match(name)]
    tasks = script.scheduler.get("ntasks_per_node")
    given = launch.number(*launch.row.processes)
    if own or tasks is None or not (tasks.text or "").isdecimal() or given is None:
        return
    count = int(tasks.text or 0)
    if count > 1 and given[0] > 1 and launch.launcher is not Launcher.ACCELERATE:
        text = (
            f"`srun` starts the launcher {count} times on each machine, and each starts {given[0]} "
            f"processes: {count * given[0]} share its GPUs. Use `--ntasks-per-node=1`."
        )
        yield _finding(text, given[1].place, (tasks.place, "the tasks"))


def _overridden(files: LaunchFiles, script: Script, launch: Launch) -> Iterator[Finding]:
    """A number in accelerate's file that this launch does not use."""
    configuration = files.configured(script, launch)
    given = launch.number("num_processes")
    if configuration is None or given is None:
        return
    written = configuration.values.get("num_processes")
    if isinstance(written, int) and written != given[0]:
        text = (
            f"This launch starts {given[0]} processes, and its file says {written}: another launch with "
            f"the file starts {written}. Leave the number out of the file."
        )
        at = configuration.place(("num_processes",))
        yield _finding(text, given[1].place, (at, "the file's number"), Severity.INFO)


def _finding(
    text: str,
    place: Place,
    other: tuple[Place, str] | None = None,
    severity: Severity = SEVERITY,
) -> Finding:
    places = () if other is None else (Related(*other),)
    return Finding(CODE, NAME, severity, text, place, places)
