"""DeepSpeed's batch sizes do not multiply, or say something else than the command line.

## What it does
Multiplies `train_micro_batch_size_per_gpu`, `gradient_accumulation_steps` and the number of processes, where a
launch or accelerate's file says it, or `CUDA_VISIBLE_DEVICES` in front of DeepSpeed's launcher, and compares the product with `train_batch_size`. Compares the JSON with
the arguments of transformers' Trainer that the same command line gives (`--per_device_train_batch_size`,
`--gradient_accumulation_steps`, `--learning_rate` …) or the script's `TrainingArguments`, and `gradient_accumulation_steps` of accelerate's file with
the argument of the script (`--gradient_accumulation_steps 4`, or the name and the number alone), where that goes to an `Accelerator` or a Trainer. `python train.py` without a launcher is one process, whatever
the number of GPUs: a file for several, which the script names (`deepspeed="zero.json"`), does not come out then. A file that
a script writes by a here-document counts as one that is there.

## Why it is bad
DeepSpeed asserts that `train_batch_size` is the product of all three, and transformers raises ValueError where a
number of the JSON is another one than its own: every rank ends before the first step. The same file works on
eight GPUs and fails on four.

## Errors you may see
- `Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size`
- `Please correct the following DeepSpeed config values that mismatch TrainingArguments values`

## Example
```json
{"train_batch_size": 100, "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 4,
 "zero_optimization": {"stage": 2}}
```

## Use instead
```json
{"train_batch_size": "auto", "train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": 4,
 "zero_optimization": {"stage": 2}}
```

## Fix safety
No fix: which of the numbers is meant, a person has to say. `"auto"` is filled in by accelerate and transformers,
not by DeepSpeed itself.

## Known limits
A program that changes the values before it hands them on is not followed. Without a known number of processes,
only what no number of processes can repair is reported.

Not proven: DeepSpeed has to be installed; the assertion is `_batch_assertion` in the file below.

## References
- deepspeed 0.19.8, `runtime/config.py`: `_batch_assertion`
- DeepSpeed issue 6914: `python finetune.py` with four visible GPUs
- accelerate 1.15.0, `utils/launch.py`: `ACCELERATE_GRADIENT_ACCUMULATION_STEPS`, which `Accelerator` prefers to its
  argument
- transformers 5.23.0, `integrations/deepspeed.py`: `trainer_config_process`, `trainer_config_finalize`
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of
from distlint.analysis.questions.named_jsons import named_jsons
from distlint.findings import Applicability, Finding, Fix, Place, Related, Severity
from distlint.knowledge.configuration.launchers import Launcher
from distlint.launch import deepspeed
from distlint.launch.commands import Launch
from distlint.launch.defects import sentence_of
from distlint.launch.project import Configuration, Format, LaunchFiles, Script
from distlint.records import dataclass
from distlint.rule import Status

from .accumulation import STEPS, accumulating, contradiction
from .arguments import Difference, differing_arguments, differing_options

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL803"
NAME = "deepspeed-batch-mismatch"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_FILE_OPTIONS = ("deepspeed", "deepspeed_config", "deepspeed_config_file", "ds_config")
_STARTS_OTHERS = ("spawn", "subprocess", "os.system", "launcher(", "Popen", "import ray")
"""Words of scripts that start processes themselves."""
_OF_TRAINER = ("deepspeed", "deepspeed_config_file")
"""The options of transformers' Trainer and of accelerate, which write the steps that a file leaves out, and compare the JSON
with the Trainer's arguments. What a program reads by an option of its own, it may change first: VLM_Embed 294342e
train_distillation.py:161 writes `--per_device_train_batch_size` over what `--deepspeed_config` names."""


_CHOOSES = frozenset(
    {"include", "i", "exclude", "e", "num_gpus", "num_nodes", "hostfile", "H", "launcher"}
)
"""Options of DeepSpeed's launcher that choose GPUs or machines."""


@dataclass(frozen=True, slots=True)
class _Start:
    """How many processes are started with a file, where that is said, and who reads it."""

    world: int
    place: Place
    steps_left_out: int | None


def check_launch(files: LaunchFiles) -> Iterator[Finding]:
    """JSON files whose numbers do not multiply, and those that a command line contradicts."""
    starts: dict[str, list[_Start]] = {}
    for script, launch in files.launches():
        option, configuration = _file_of(files, script, launch)
        if configuration is None:
            continue
        world = _world(launch)
        if world is not None:
            filled = option in _OF_TRAINER or launch.launcher is Launcher.ACCELERATE
            start = _Start(*world, 1 if filled else None)
            starts.setdefault(configuration.path, []).append(start)
        if option in _OF_TRAINER:
            yield from map(_differs, differing_options(configuration, launch))
    yield from _of_trainers(files)
    for accelerate in files.of(Format.ACCELERATE):
        found = files.json_of(accelerate)
        number = accelerate.values.get("num_processes")
        if found is not None and isinstance(number, int) and number > 0:
            start = _Start(number, accelerate.place(("num_processes",)), 1)
            starts.setdefault(found.path, []).append(start)
    for configuration in files.of(Format.DEEPSPEED):
        yield from _product(configuration, starts.get(configuration.path, []))


def _of_trainers(files: LaunchFiles) -> Iterator[Finding]:
    """Steps of transformers' Trainer that are other ones in accelerate's file; of other programs `check` tells."""
    for script, launch in files.launches():
        found = contradiction(files, script, launch)
        if found is not None and "per_device_train_batch_size" in launch.arguments:
            text = (
                f"transformers raises ValueError on every rank: `--{STEPS}` is {found.said}, and DeepSpeed's settings "
                f"get the {found.written} of accelerate's file. Leave the number out of the file."
            )
            places = (Related(found.place, "the file's number"),)
            yield Finding(CODE, NAME, SEVERITY, text, found.given, places)


def check(model: Model) -> Iterator[Finding]:
    """Scripts that are started as one process, with a file for several, or with other steps than accelerate's file."""
    for module in model.modules:
        text = module.source.text
        if STEPS in text and "Accelerator(" in text:
            yield from _against_file(model, module)
        if "deepspeed" not in text:
            continue
        yield from map(_differs, differing_arguments(model, module))
        if any(word in text for word in _STARTS_OTHERS):
            continue
        for script, start in model.launch.alone(module.path):
            for node, name, _ in named_jsons(module):
                found = model.launch.named(name, script.path, Format.DEEPSPEED)
                if found is None:
                    continue
                for defect in deepspeed.batch(found.values, 1, steps_left_out=1):
                    fix = Fix(Applicability.DISPLAY, "Start it with a launcher, as `torchrun`")
                    message = f"{sentence_of(defect)} Python alone is one process. {fix.message}."
                    places = (
                        Related(found.place(("train_batch_size",)), "the batch of all"),
                        Related(start.place, "started without a launcher"),
                    )
                    place = place_of(module, node)
                    yield Finding(CODE, NAME, SEVERITY, message, place, places, fix)


def _against_file(model: Model, module: Module) -> Iterator[Finding]:
    """Accelerators that a launch's file tells another number of steps than the script does."""
    for call, found in accumulating(model, module):
        text = (
            f"`accelerate launch` has this Accelerator accumulate {found.written} batches, as its file says, and what "
            f"the script passes (`--{STEPS} {found.said}`) does not count. Leave the number out of the file."
        )
        places = (
            Related(found.given, "the script's number"),
            Related(found.place, "the file's number"),
        )
        fix = Fix(Applicability.DISPLAY, "Leave the number out of the file")
        yield Finding(CODE, NAME, Severity.WARNING, text, place_of(module, call), places, fix)


def _product(configuration: Configuration, starts: list[_Start]) -> Iterator[Finding]:
    """One finding for the number of processes with which the numbers do not multiply."""
    values = configuration.values
    steps = values.get("gradient_accumulation_steps")
    whole = isinstance(steps, int) and isinstance(values.get("train_micro_batch_size_per_gpu"), int)
    place = configuration.place(("train_batch_size",))
    if whole:
        for defect in deepspeed.batch(values, 1, steps_left_out=1):
            if values["train_batch_size"] % (steps * values["train_micro_batch_size_per_gpu"]):
                text = sentence_of(defect).replace(" x 1 processes", "")
                yield Finding(CODE, NAME, SEVERITY, text, place)
                return
    for start in starts:
        for defect in deepspeed.batch(values, start.world, steps_left_out=start.steps_left_out):
            places = (Related(start.place, "the processes"),)
            yield Finding(CODE, NAME, SEVERITY, sentence_of(defect), place, places)
            return


def _file_of(
    files: LaunchFiles, script: Script, launch: Launch
) -> tuple[str, Configuration | None]:
    """The JSON that a launch names, and by which option."""
    for name in _FILE_OPTIONS:
        option = launch.arguments.get(name) or launch.options.get(name)
        if option is not None and option.value and option.sure:
            found = files.named(option.value, script.path, Format.DEEPSPEED)
            if found is not None:
                return name, found
    return "", None


def _world(launch: Launch) -> tuple[int, Place] | None:
    """How many processes a launch starts on all machines, where the command says it."""
    given, machines = launch.number(*launch.row.processes), launch.number(launch.row.machines)
    if given is None and launch.launcher is Launcher.DEEPSPEED:
        return _visible(launch)
    if given is None or (machines is None and launch.row.machines in launch.options):
        return None
    several = 1 if machines is None or launch.launcher is Launcher.ACCELERATE else machines[0]
    return given[0] * several, given[1].place


def _visible(launch: Launch) -> tuple[int, Place] | None:
    """The GPUs of which DeepSpeed's launcher takes each, as it is told no others: those in `CUDA_VISIBLE_DEVICES`.

    deepspeed 0.19.8 launcher/runner.py, `main`.
    """
    visible = launch.environment.get("CUDA_VISIBLE_DEVICES")
    if (
        visible is None
        or not visible.sure
        or not launch.options_known
        or not _CHOOSES.isdisjoint(launch.options)
        or "CUDA_VISIBLE_DEVICES" in launch.tested
        or re.fullmatch(r"\d+(?:,\d+)*", visible.text or "") is None
    ):
        return None
    return (visible.text or "").count(",") + 1, visible.place


def _differs(found: Difference) -> Finding:
    text = (
        f"transformers raises ValueError on every rank: `{found.argument}` is {found.given}, and the JSON's "
        f'`{found.key}` is {found.written}. Write "auto" in the JSON.'
    )
    places = (Related(found.other, "the JSON's value"),)
    return Finding(CODE, NAME, SEVERITY, text, found.place, places)
