"""DeepSpeed's JSON brings its own learning rate schedule, and the Trainer's `lr_scheduler_type` does nothing.

## What it does
Finds launches of transformers' Trainer, files that hold its arguments, and scripts with `TrainingArguments`, that name a schedule (`--lr_scheduler_type
cosine`) and a JSON of DeepSpeed whose section `scheduler` is of another one.

## Why it is bad
Where the JSON has a `scheduler`, transformers makes none of its own, and says nothing. With `WarmupLR` the learning rate
stays at its highest value to the end, where a decay was asked for: the run trains, and ends worse.

## Errors you may see
None: no library says a word.

## Example
```bash
# zero3.json: "scheduler": {"type": "WarmupLR", "params": {"warmup_max_lr": "auto", "warmup_num_steps": "auto"}}
deepspeed train.py --deepspeed zero3.json --per_device_train_batch_size 4 --lr_scheduler_type cosine
```

## Use instead
```bash
# zero3.json: no "scheduler"
deepspeed train.py --deepspeed zero3.json --per_device_train_batch_size 4 --lr_scheduler_type cosine
```

## Fix safety
Shown only: which of the two schedules is meant, a person has to say.

## Known limits
Launches count that a page tells, and those of scripts, with arguments of the Trainer (`--per_device_train_batch_size`).
One finding for each JSON. A program that makes its own arguments of these names may hand the schedule on: silent where
the JSON cannot be found.

Not proven: DeepSpeed needs GPUs.

## References
- transformers 5.23.0 integrations/deepspeed.py: `deepspeed_optim_sched`
- deepspeed 0.19.8 runtime/lr_schedules.py
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distlint.analysis.model import Model, place_of
from distlint.analysis.questions.named_jsons import trainer_arguments
from distlint.findings import Applicability, Finding, Fix, Place, Related, Severity
from distlint.knowledge.configuration.deepspeed_keys import SCHEDULES, TRAINER_SCHEDULES
from distlint.launch.absent import jsons_named
from distlint.launch.deepspeed import value_at
from distlint.launch.project import Configuration, Format, LaunchFiles
from distlint.rule import Status

CODE = "DL813"
NAME = "schedule-of-the-json"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = (b"lr_scheduler_type",)

_TYPE = ("scheduler", "type")
_DOES = {
    "WarmupLR": "stays at its highest once it is warm",
    "WarmupDecayLR": "falls in a line to zero",
    "WarmupCosineLR": "falls as a cosine",
}
_SHOWN = 3


def check_launch(files: LaunchFiles) -> Iterator[Finding]:
    """JSON files with a schedule, each with the launches that ask for another one."""
    asking: dict[str, list[tuple[str, Place]]] = {}
    by_path: dict[str, Configuration] = {}
    for script, launch in files.launches(told=True):
        given = launch.arguments.get("lr_scheduler_type")
        named = launch.arguments.get("deepspeed")
        if (
            given is None
            or not given.sure
            or named is None
            or "per_device_train_batch_size" not in launch.arguments
        ):
            continue
        for found in jsons_named(files, named, script):
            if _is_another(found, given.value):
                by_path[found.path] = found
                asking.setdefault(found.path, []).append(
                    (f"--lr_scheduler_type {given.value}", given.place)
                )
    for arguments, json in files.trained():
        given = arguments.values.get("lr_scheduler_type")
        if isinstance(given, str) and _is_another(json, given):
            by_path[json.path] = json
            place = arguments.place(("lr_scheduler_type",))
            asking.setdefault(json.path, []).append((f"lr_scheduler_type: {given}", place))
    for path, places in asking.items():
        wanted, first = places[0]
        yield _finding(by_path[path], wanted, first, places[1:])


def check(model: Model) -> Iterator[Finding]:
    """Scripts that name both in the arguments of a Trainer."""
    for module in model.modules:
        for name, given in trainer_arguments(module):
            match given.get("lr_scheduler_type"):
                case ast.Constant(value=str(wanted)) as said:
                    found = model.launch.named(name, module.path, Format.DEEPSPEED)
                    if found is not None and _is_another(found, wanted):
                        place = place_of(module, said)
                        yield _finding(found, f'lr_scheduler_type="{wanted}"', place, at=place)


def _is_another(configuration: Configuration, wanted: str | None) -> bool:
    """Whether a JSON has a schedule that is not the one which the Trainer is asked for."""
    written = value_at(configuration.values, _TYPE)
    same = SCHEDULES.get(written) if isinstance(written, str) else None
    return same is not None and wanted in TRAINER_SCHEDULES and wanted not in same


def _finding(
    configuration: Configuration,
    asked: str,
    place: Place,
    more: list[tuple[str, Place]] | None = None,
    *,
    at: Place | None = None,
) -> Finding:
    written = value_at(configuration.values, _TYPE)
    here = configuration.place(_TYPE)
    advice = "Take the section `scheduler` out of the JSON"
    text = (
        f"the Trainer takes the schedule of this JSON, and `{asked}` does nothing: under `{written}` the learning rate "
        f"{_DOES[written]}. {advice}."
    )
    places = [Related(here, "the schedule") if at else Related(place, "asks for another")]
    places += [Related(each, "asks for another") for _, each in (more or [])[:_SHOWN]]
    fix = Fix(Applicability.DISPLAY, advice)
    return Finding(CODE, NAME, SEVERITY, text, at or here, tuple(places), fix)
