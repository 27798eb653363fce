"""A model that device_map="auto" spreads over all GPUs is trained by several processes.

## What it does
Finds models loaded with `device_map="auto"` (`"balanced"`, `"sequential"` …) that are then prepared by
accelerate, wrapped in DDP or FSDP, or handed to a Trainer in a file that otherwise knows of ranks, or that a
launch script or accelerate's configuration starts on several processes.

## Why it is bad
The map spreads one model over all GPUs that the process sees. Under a launcher every rank does so: eight
copies on the same eight GPUs, which run out of memory, or each rank finds the map of another's leftovers.
Where the model did fit, `prepare()` refuses it: "You can't train a model that has been loaded with
`device_map='auto'` in any distributed mode". With enough free memory everything lands on `cuda:0`.

## Errors you may see
- `You can't train a model that has been loaded with `device_map='auto'` in any distributed mode`

## Example
```python
model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
model, optimizer = accelerator.prepare(model, optimizer)
```

## Use instead
```python
model = AutoModelForCausalLM.from_pretrained(name, device_map={"": accelerator.local_process_index})
model, optimizer = accelerator.prepare(model, optimizer)
```
or no `device_map` at all, where the model is not quantised.

## Fix safety
Unsafe: on one process the model no longer spreads over several GPUs. Where the function makes an `Accelerator`, or asks where
the parts of the model are (`hf_device_map`), one process keeps the map.

## Known limits
The model has to be loaded in the function, or at the top level of the file, where it is prepared; a Trainer's
(`model`, `teacher_model`, `ref_model` …), in what a helper gives back, where the launch shows several processes; the
map may then be the default of an option. A map that the program chooses by the launch (`{"": local_rank}` where `LOCAL_RANK` is set) is not reported.

## References
- accelerate 1.15.0 accelerate/accelerator.py, `prepare_model`: the ValueError
- trl, commit f2cd5771, examples/scripts/bco.py
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.origins import origins
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.knowledge import devices, facts
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.rule import Status

from .maps import asks_to_spread

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.program.definitions import Module

CODE = "DL507"
NAME = "device-map-under-launcher"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = ()

_DISTRIBUTES = frozenset({"ddp", "fsdp1", "fsdp2", "accelerate", "deepspeed", "fabric"})
_TRAINER = "transformers.Trainer"
_ACCELERATOR = "accelerate.Accelerator"
_COUNTS = pattern(r"(num_processes|world_size|get_world_size\(\)) > 1")


def check(model: Model) -> Iterator[Finding]:
    """Each spread model that several processes train."""
    for module in model.modules:
        if "device_map" not in module.source.text:
            continue
        calls = list(model.calls(module=module))
        found: set[int] = set()
        for call in calls:
            site = call.site
            if not _spreads(site) or any(len(c.args) and not _spreads(c) for _, c in call.sites):
                continue
            for other in calls:
                what = _trains(model, other.site, module)
                if what and other.site.node.lineno > site.node.lineno and _same(site, other.site):
                    places = (related(module, other.site.node, "several ranks train it"),)
                    found.add(id(site.node))
                    fix = _fix(site, [c.site for c in calls])
                    yield _finding(module, site.node, places, what, fix)
                    break

        if model.launch.on_several(module.source.path):
            yield from _by_helpers(model, module, found)


def _by_helpers(model: Model, module: Module, found: set[int]) -> Iterator[Finding]:
    """Trainers of a file that is started on several processes, whose model another function loads."""
    for function in module.all_functions:
        for node in own_nodes(function):
            if not isinstance(node, ast.Call):
                continue
            meaning = model.resolve(module, node.func)
            if not isinstance(meaning, str) or _TRAINER not in set(facts.with_bases([meaning])):
                continue
            given = [k.value for k in node.keywords if k.arg in devices.TRAINER_MODELS]
            for each in [*given, *node.args[:1]]:
                made = origins(model, function, each)
                loads = [o for o in made if o is not None and asks_to_spread(model, module, o)]
                if loads and len(loads) == len(made) and id(loads[0].call) not in found:
                    load = loads[0]
                    found.add(id(load.call))
                    asked = next(k.value for k in load.call.keywords if k.arg == "device_map")
                    places = (
                        related(load.function.module, asked, "all GPUs, for each rank"),
                        related(module, node, "several ranks train with it"),
                    )
                    yield _finding(
                        load.function.module, load.call, places, "train", _fix_of(load.call)
                    )


def _spreads(site: CallSite) -> bool:
    value = site.keywords.get("device_map")
    return value is not None and value.known and value.const in devices.SPREADING_MAPS


def _trains(model: Model, site: CallSite, module: Module) -> str:
    """What trains a model on several processes; "" where a call does not."""
    fact = facts.wrapper(site.name)
    if fact is not None and fact.kinds[0] in _DISTRIBUTES:
        return "prepare" if fact.each_argument else "wrap"
    type_ = site.result.type if site.result is not None else None
    if type_ and _TRAINER in set(facts.with_bases([type_])):
        return "train" if model.starts_several(module) else ""
    return ""


def _same(load: CallSite, use: CallSite) -> bool:
    """Whether the loaded model is an argument of the call."""
    names = {
        name
        for name, values in assignments(load.function).items()
        if any(load.node in walk(v) for v in values)
        and all(load.node in walk(v) or v.lineno > load.node.lineno for v in values)
    }
    if not (use.function is load.function or load.function.is_module_body):
        return False
    return any(
        isinstance(a, ast.Name) and a.id in names
        for a in (*use.node.args, *(k.value for k in use.node.keywords))
    )


def _finding(
    module: Module, load: ast.Call, places: tuple[Related, ...], what: str, fix: Fix
) -> Finding:
    end = {
        "prepare": "and `prepare()` refuses a model in several parts",
        "wrap": "and the wrapper wants the model on one device",
        "train": "and the Trainer then runs one copy for each of them",
    }[what]
    return Finding(
        CODE,
        NAME,
        SEVERITY if what != "train" else Severity.WARNING,
        f"every rank spreads its copy of the model over all GPUs of the machine, {end}. "
        f"{fix.message}.",
        place_of(module, load),
        places,
        fix,
    )


def _fix(site: CallSite, calls: list[CallSite]) -> Fix:
    accelerators = [
        name
        for name, values in assignments(site.function).items()
        if len(values) == 1
        and values[0].lineno < site.node.lineno
        and all(
            any(arm is made.node for made in calls if made.name == _ACCELERATOR)
            for arm in _arms(values[0])
        )
    ]
    several = _as_elsewhere(site)
    if accelerators and not several:
        name = accelerators[0]
        # Otter 1e7eb9a pipeline/train/pretraining_cc3m.py:339: one process keeps the model on all of its GPUs.
        several = f'{{"": {name}.local_process_index}} if {name}.num_processes > 1'
    if not several and _takes_parts(site):
        several = '{"": $rank_info().local_rank} if $rank_info().world_size > 1'
    return _fix_of(site.node, several)


def _arms(value: ast.expr) -> list[ast.expr]:
    """What an expression may give: `Accelerator(log_with="wandb") if tracked else Accelerator()`."""
    return [*_arms(value.body), *_arms(value.orelse)] if isinstance(value, ast.IfExp) else [value]


def _takes_parts(site: CallSite) -> bool:
    """Whether a function also works on one process that has spread the model: it asks where the parts are.

    Alpaca-CoT bd46c44 peft/examples/int8_training/peft_adalora_whisper_large_training.py:548:
    `if len(set(model.hf_device_map.values())) > 1:`, in front of `prepare()`.
    """
    return any(
        node.attr in devices.SPREAD_MODELS for node in own_nodes(site.function, ast.Attribute)
    )


def _as_elsewhere(site: CallSite) -> str:
    """What the function gives for another model, where it asks for the number of processes.

    Otter 1e7eb9a pipeline/train/pretraining.py:443: `if accelerator.num_processes > 1`, and else `"auto"`.
    """
    for node in own_nodes(site.function):
        if not isinstance(node, ast.If):
            continue
        own, spread = (
            [
                keyword.value
                for statement in block
                for call in walk(statement, ast.Call)
                for keyword in call.keywords
                if keyword.arg == "device_map"
            ]
            for block in (node.body, node.orelse)
        )
        match own, spread:
            case [ast.Dict(keys=[ast.Constant(value="")])], [ast.Constant(value=str() as kept)] if (
                kept in devices.SPREADING_MAPS and _COUNTS.search(ast.unparse(node.test))
            ):
                made = {name: v for name, v in assignments(site.function).items() if len(v) == 1}
                names = {n.id for n in (*walk(own[0]), *walk(node.test)) if isinstance(n, ast.Name)}
                if all(n in made and made[n][0].lineno < site.node.lineno for n in names):
                    asked = source_of(site.module, node.test)
                    return f"{source_of(site.module, own[0])} if {asked}"
    return ""


def _fix_of(load: ast.Call, several: str = "") -> Fix:
    advice = "Put each rank's copy on its own device"
    node = next((k.value for k in load.keywords if k.arg == "device_map"), None)
    if not isinstance(node, ast.Constant):
        return Fix(Applicability.DISPLAY, advice)
    text = '{"": $rank_info().local_rank}'
    if several:
        text = f'{several} else "{node.value!s}"'
    return Fix(Applicability.UNSAFE, advice, (Replace(span_of(node), text),))
