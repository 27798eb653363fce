"""DeepSpeed's JSON says nothing of clipping, and the Trainer's `max_grad_norm` does nothing.

## What it does
Finds launches of transformers' Trainer, files that hold its arguments, and scripts with `TrainingArguments`, that name a JSON of DeepSpeed without
`gradient_clipping`: where they ask for a norm (`--max_grad_norm 0.5`), where another JSON beside it has the key, and, as
information, where nobody speaks of it; and `accelerator.clip_grad_norm_()` in a script that is started with such a JSON, or hands it to a `DeepSpeedPlugin`.

## Why it is bad
Under DeepSpeed the engine clips, by its own JSON: the Trainer hands `max_grad_norm` on where the JSON says `"auto"`, and
nowhere else, and says nothing. Up to DeepSpeed 0.19.2 gradients are not clipped at all then, though the Trainer's own
default is 1.0; later versions clip at 1.0, whatever is asked for. With ZeRO-2 and ZeRO-3 of the same project a run is
clipped or not by which of the files it names.

## Errors you may see
None: no library says a word. A loss that jumps, or becomes `nan`, in one of two runs with the same arguments.

## Example
```bash
# zero3.json: {"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"}
deepspeed train.py --deepspeed zero3.json --per_device_train_batch_size 4 --max_grad_norm 0.5
```

## Use instead
```bash
# zero3.json: {"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto", "gradient_clipping": "auto"}
deepspeed train.py --deepspeed zero3.json --per_device_train_batch_size 4 --max_grad_norm 0.5
```

## Fix safety
Shown only: the model learns otherwise once it is clipped.

## Known limits
Launches count that a page tells, and those of scripts, with arguments of the Trainer (`--per_device_train_batch_size`,
with the name of a section before it or not). One finding for each JSON. A norm of 1.0, asked for or left to the Trainer,
counts where the project pins a DeepSpeed below 0.19.3. Silent where the norm is 0, and where a Python file of the project
names `gradient_clipping`: it may fill it in. What a YAML of the project hands to the Trainer is not read.

Not proven: DeepSpeed needs GPUs.

## References
- accelerate 1.15.0 accelerator.py: `clip_grad_norm_` under DeepSpeed gives back the engine's norm, and clips nothing
- transformers 5.23.0 integrations/deepspeed.py: `fill_match("gradient_clipping", …)` replaces "auto" alone
- deepspeed 0.19.5 runtime/constants.py: GRADIENT_CLIPPING_DEFAULT, 0 up to 0.19.2 (pull request 8068)
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator

from distlint.analysis.model import Model, place_of
from distlint.analysis.questions.named_jsons import trainer_arguments
from distlint.findings import Applicability, Finding, Fix, Place, Related, Severity
from distlint.launch.absent import jsons_named
from distlint.launch.commands import Option
from distlint.launch.project import Configuration, Format, LaunchFiles
from distlint.records import dataclass
from distlint.rule import Status

from .by_accelerate import CLIPS_SINCE, KEY, clipped

CODE = "DL815"
NAME = "clipping-left-to-the-json"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = (b"max_grad_norm",)

_DEFAULT = 1.0
"""Of the Trainer, too: transformers 5.23.0 training_args.py, `max_grad_norm`."""
_SHOWN = 3
_ADVICE = 'Write `"gradient_clipping": "auto"` into it'


@dataclass(frozen=True, slots=True)
class _Asked:
    """The norm that a launch or a call asks for, as it is written; None where it leaves that to the Trainer."""

    norm: float | None
    written: str
    place: Place


def check_launch(files: LaunchFiles) -> Iterator[Finding]:
    """JSON files without the key, each with the launches that name it."""
    if files.clips:
        return
    asking: dict[str, list[_Asked]] = {}
    by_path: dict[str, Configuration] = {}
    for script, launch in files.launches(told=True):
        given = {name.rpartition(".")[2]: each for name, each in launch.arguments.items()}
        named = given.get("deepspeed")
        if named is None or "per_device_train_batch_size" not in given:
            continue
        asked = _norm(given.get("max_grad_norm"))
        if asked is None:
            continue
        for found in jsons_named(files, named, script):
            if KEY not in found.values:
                by_path[found.path] = found
                asking.setdefault(found.path, []).append(
                    _Asked(*asked, (given.get("max_grad_norm") or named).place)
                )
    for arguments, json in files.trained():
        norm = arguments.values.get("max_grad_norm")
        if KEY not in json.values and isinstance(norm, int | float) and norm > 0:
            by_path[json.path] = json
            place = arguments.place(("max_grad_norm",))
            asked_for = _Asked(norm, f"max_grad_norm: {norm}", place)
            asking.setdefault(json.path, []).append(asked_for)
    for path, places in asking.items():
        yield from _finding(files, by_path[path], sorted(places, key=lambda e: e.norm is None))


def _norm(option: Option | None) -> tuple[float | None, str] | None:
    """What is asked for; None where it is nothing, or not known."""
    if option is None:
        return None, ""
    try:
        norm = float(option.value or "") if option.sure else 0
    except ValueError:
        return None
    return (norm, f"--max_grad_norm {option.value}") if norm > 0 else None


def check(model: Model) -> Iterator[Finding]:
    """Scripts that name both in the arguments of a Trainer, and those that clip through an Accelerator."""
    if any(KEY in module.source.text for module in model.modules):
        return
    for place, places in clipped(model):
        text = (
            "Under DeepSpeed the Accelerator clips nothing, and DeepSpeed by its JSON, which says nothing of it: gradients "
            f"are not clipped. {_ADVICE}."
        )
        fix = Fix(Applicability.DISPLAY, _ADVICE)
        yield Finding(CODE, NAME, SEVERITY, text, place, places, fix)
    for module in model.modules:
        for name, given in trainer_arguments(module):
            match given.get("max_grad_norm"):
                case ast.Constant(value=int() | float() as norm) as said if norm > 0:
                    found = model.launch.named(name, module.path, Format.DEEPSPEED)
                    if found is not None and KEY not in found.values:
                        asked = _Asked(norm, f"max_grad_norm={norm}", place_of(module, said))
                        yield from _finding(model.launch, found, [asked], at=asked.place)


def _finding(
    files: LaunchFiles, json: Configuration, asked: list[_Asked], *, at: Place | None = None
) -> Iterator[Finding]:
    """What becomes of the norm, where that is another one."""
    first = asked[0]
    unclipped = files.older_than("deepspeed", CLIPS_SINCE, json.path)
    if first.norm in (None, _DEFAULT) and not unclipped:
        return
    beside = next(
        (
            each
            for each in files.of(Format.DEEPSPEED)
            if _is_beside(each, json) and each.values[KEY]
        ),
        None,
    )
    severity = SEVERITY if first.norm is not None or beside is not None else Severity.INFO
    asks = f"`{first.written}`" if first.norm is not None else "the Trainer's `max_grad_norm`, 1.0,"
    becomes = (
        "gradients are not clipped"
        if unclipped
        else "gradients are not clipped up to DeepSpeed 0.19.2, and at 1.0 with later ones"
    )
    text = f"DeepSpeed clips by this JSON, which says nothing of it, and {asks} does nothing: {becomes}. {_ADVICE}."
    places = [Related(json.place(()), "the JSON")] if at else []
    places += [Related(each.place, "names it") for each in asked[:_SHOWN] if each.place != at]
    if beside is not None:
        places.append(Related(beside.place((KEY,)), "this one has it"))
    fix = Fix(Applicability.DISPLAY, _ADVICE)
    yield Finding(CODE, NAME, severity, text, at or json.place(()), tuple(places), fix)


def _is_beside(other: Configuration, json: Configuration) -> bool:
    """Whether another JSON of the same folder has the key.

    VITA 360de22 script/deepspeed: zero3.json has none, ds_config_zero3.json says "auto".
    """
    return posixpath.dirname(other.path) == posixpath.dirname(json.path) and KEY in other.values
