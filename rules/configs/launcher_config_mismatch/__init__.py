"""A configuration of accelerate or DeepSpeed holds settings that are refused, or that nobody reads.

## What it does
Reads accelerate's YAML and DeepSpeed's JSON beside the code, such a JSON written as a dict in the code, and what
`FullyShardedDataParallelPlugin`, `DeepSpeedPlugin` and `TrainingArguments(fsdp=…, fsdp_config=…, deepspeed=…)` are given: unknown keys, values outside of what is taken,
sections that the `distributed_type` does not read, FSDP's settings of version 1 under version 2, offload
without the ZeRO stage that offloads, and what accelerate's file and the JSON it names say against each other; and launches
by `torchrun` that give transformers' Trainer an `--fsdp_config` and no `--fsdp`, or that name a JSON of DeepSpeed which the script
takes and hands to nobody.
`distlint doctor` judges by the same tables.

## Why it is bad
An unknown key of the top level, or of most sections of the JSON, ends every rank before it trains. A key that
nobody reads is worse: the run starts, without the sharding, offload or precision that the file asks for, and
needs more memory than was planned. What accelerate puts right itself, with a warning, is a note (`zero3_init_flag`
without stage 3).

## Errors you may see
- `The config file at ... had unknown keys`
- `Extra inputs are not permitted`
- `When using `deepspeed_config_file`, the following accelerate config variables will be ignored`
- `Only one of fp16 and bf16 can be enabled`
- `reshard_after_forward set to None. This is not supported with FSDP2`
- `forward_prefetch is not yet implemented in FSDP2`
- `Using --fsdp xxx together with --deepspeed is not possible`

## Example
```yaml
distributed_type: FSDP
fsdp_config:
  fsdp_version: 2
  fsdp_sharding_strategy: SHARD_GRAD_OP
num_processes: 8
```

## Use instead
```yaml
distributed_type: FSDP
fsdp_config:
  fsdp_version: 2
  fsdp_reshard_after_forward: false
num_processes: 8
```

## Fix safety
No fix: which of two settings is meant, a person has to say.

## Known limits
Templates (`{{ … }}`) are not read. Keys are those of accelerate 1.15.0 and deepspeed 0.19.8. A JSON is taken for
DeepSpeed's where it has `zero_optimization` or `train_micro_batch_size_per_gpu` and at least half of its keys are
known. Of a section of accelerate, an unread key whose value is what the one that is meant has without it is information; a section for a type that a comment beside `distributed_type` offers is kept on purpose. In a dict of the code, a key of the top level that the program itself reads is its own; and so may be each key
of one that an object of another library takes.

Of arguments, those count that are written out, in the call or in a dict of the same function. What a version of FSDP
refuses or drops is said where the call names the version: where it does not, accelerate asks `FSDP_VERSION`, and
transformers takes 1 (4.x) or 2 (5.x). Positional arguments, subclasses of `TrainingArguments` in the program, and
plugins that are changed after they are made are not judged.

Not proven: what the tables say is compared with the installed accelerate by the test suite.

## References
- accelerate 1.15.0, `commands/config/config_args.py`, `commands/launch.py`, `utils/dataclasses.py`
- deepspeed 0.19.8, `runtime/config.py`, `runtime/zero/config.py`
- transformers 5.23.0, `training_args.py`: `_process_fsdp_args`, `_apply_legacy_fsdp_to_config`; `trainer.py`
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from distlint.analysis.model import Model, place_of
from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.columns import split_lines
from distlint.findings import Finding, Related, Severity
from distlint.knowledge.configuration.keys import SECTIONS, is_one_of
from distlint.knowledge.configuration.launchers import Launcher
from distlint.launch import accelerate, deepspeed
from distlint.launch.defects import Defect, sentence_of
from distlint.launch.kinds import is_readme
from distlint.launch.project import Configuration, Format, LaunchFiles, is_deepspeed
from distlint.launch.tree import Keys
from distlint.nodes import walk
from distlint.rule import Status

from .calls import defects_of_calls, may_have_calls
from .unread import jsons_unread

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function

CODE = "DL802"
NAME = "launcher-config-mismatch"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = (
    b"zero_optimization",
    b"FullyShardedDataParallelPlugin",
    b"DeepSpeedPlugin",
    b"fsdp_config",
    b'fsdp="',
)

_HAND_ON = frozenset(
    {"deepspeed", "accelerate", "transformers", "trl", "lightning", "pytorch_lightning"}
    | {"json", "yaml", "copy", "pprint"}
)
"""Libraries that read nothing of DeepSpeed's configuration but what DeepSpeed has in it, or only write it down."""
_OF_ANOTHER_RULE = "main_process_port"
"""Ports are DL806's."""


def check_launch(files: LaunchFiles) -> Iterator[Finding]:
    """What each configuration gets wrong, and where two of them disagree."""
    for configuration in files.of(Format.ACCELERATE):
        values = configuration.values
        is_older = partial(_is_older, files, "accelerate", configuration.path)
        for defect in (*accelerate.top_level(values), *accelerate.sections(values, is_older)):
            if defect.keys[-1:] != (_OF_ANOTHER_RULE,) and not _is_for_choice(
                configuration, defect
            ):
                yield _finding(configuration, defect)
        yield from _with_json(files, configuration)
    for configuration in files.of(Format.DEEPSPEED):
        values = configuration.values
        is_older = partial(_is_older, files, "deepspeed", configuration.path)
        defects = [
            *deepspeed.names(values, removed=False, is_older=is_older),
            *deepspeed.bounds(values),
        ]
        if "zero_optimization" in values:  # DeepSpeed itself needs none
            defects += deepspeed.alone(values)
        for defect in defects:
            yield _finding(configuration, defect)
    yield from _left_off(files)


def _is_for_choice(configuration: Configuration, defect: Defect) -> bool:
    """Whether a section is kept for a type that a comment beside the chosen one names.

    RuSigLIP 8ada620 configs/accelerate_config.yml:4: `distributed_type: DEEPSPEED # MULTI_GPU / DEEPSPEED / FSDP`.
    """
    types = next((each.types for each in SECTIONS if (each.key,) == defect.keys), frozenset())
    if is_one_of(configuration.values.get("distributed_type"), types):
        return False
    line = configuration.place(("distributed_type",)).line
    _, _, comment = split_lines(configuration.text)[line - 1].partition("#")
    return not types.isdisjoint(re.findall(r"\w+", comment))


def _left_off(files: LaunchFiles) -> Iterator[Finding]:
    """Launches of transformers' Trainer that configure FSDP and do not ask for it.

    pyreft dafd099 examples/alpaca/README.md:80. transformers 5.23.0 training_args.py, `_process_fsdp_args`; `accelerate launch`
    asks for it in the environment.
    """
    for script, launch in files.launches(told=True):
        option = launch.arguments.get("fsdp_config")
        if (
            option is not None
            and launch.launcher in (Launcher.TORCHRUN, Launcher.TORCH_LAUNCH)
            and "per_device_train_batch_size" in launch.arguments
            and launch.arguments.keys().isdisjoint({"fsdp", "deepspeed"})
            and launch.complete
            and (not script.told or is_readme(script.path))
        ):
            advice = "Add `--fsdp full_shard`"
            text = (
                "The Trainer reads `--fsdp_config` where `--fsdp` asks for FSDP, and nothing does: each rank holds the whole "
                f"model, in DDP. {advice}."
            )
            yield Finding(CODE, NAME, Severity.WARNING, text, option.place)


def _is_older(files: LaunchFiles, name: str, path: str, version: tuple[int, ...]) -> bool:
    return files.older_than(name, version, path)


def check(model: Model) -> Iterator[Finding]:
    """DeepSpeed configurations that are written as a dict, and what plugins and TrainingArguments are given."""
    for module in model.modules:
        for call, option in jsons_unread(model, module):
            text = (
                f"Nothing reads the JSON that `{option.written}` names, as these arguments get no `deepspeed`: each rank holds "
                "the whole model, in DDP. Pass it on, as `deepspeed=`."
            )
            named = (Related(option.place, "named here"),)
            yield Finding(CODE, NAME, Severity.WARNING, text, place_of(module, call), named)
        called = module.all_functions if may_have_calls(module.source.text) else ()
        for function in called:
            for defect, node in defects_of_calls(model, function, _literal):
                if not _is_own_key(model, defect):
                    place = place_of(module, node)
                    yield Finding(CODE, NAME, _severity(defect), sentence_of(defect), place)
        if "zero_optimization" not in module.source.text:
            continue
        for function in module.all_functions:
            for node in own_nodes(function, ast.Dict):
                yield from _in_code(model, function, node)


def _is_own_key(model: Model, defect: Defect) -> bool:
    """Whether a key of fsdp_config that transformers does not know is one that the program reads."""
    return len(defect.keys) > 1 and "unknown" in defect.saw and _is_read(model, defect.keys[-1])


def _in_code(model: Model, function: Function, node: ast.Dict) -> Iterator[Finding]:
    module = function.module
    values, nodes = _literal(node)
    if not is_deepspeed(values) or not isinstance(values.get("zero_optimization"), dict):
        return
    others = _goes_to_another(model, function, node)
    is_older = partial(_is_older, model.launch, "deepspeed", module.path)
    defects = [
        *(
            each
            for each in deepspeed.names(values, removed=False, is_older=is_older)
            if len(each.keys) > 1 or not (others or _is_read(model, each.keys[0]))
        ),
        *deepspeed.bounds(values),
        *deepspeed.alone(values),
    ]
    for defect in defects:
        keys = defect.keys
        while keys and keys not in nodes:
            keys = keys[:-1]
        place = place_of(module, nodes.get(keys, node))
        yield Finding(CODE, NAME, _severity(defect), sentence_of(defect), place)


def _is_read(model: Model, key: str) -> bool:
    """Whether the program itself asks a mapping for a key that DeepSpeed does not know."""
    return any(
        isinstance(node, ast.Constant) and node.value == key
        for module in model.modules
        if key in module.source.text
        for asking in walk(module.source.tree)
        for node in _asked(asking)
    )


def _asked(node: ast.AST) -> list[ast.expr]:
    """What an expression asks a mapping for."""
    match node:
        case ast.Subscript(slice=key, ctx=ast.Load()):
            return [key]
        case ast.Call(func=ast.Attribute(attr="get" | "pop"), args=[key, *_]):
            return [key]
        case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()]):
            return [key]
    return []


def _goes_to_another(model: Model, function: Function, written: ast.Dict) -> bool:
    """Whether an object of another library takes a dict, which may read keys of its own before DeepSpeed gets it.

    LOMO 45d4bac adalomo/instruction-tuning/train.py:28: `config.ds_config = {…}`, where `config` is CoLLiE's, whose
    monitor reads `monitor_config`.
    """
    names = {
        name for name, values in assignments(function).items() for each in values if each is written
    }

    def is_it(node: ast.expr) -> bool:
        return node is written or (isinstance(node, ast.Name) and node.id in names)

    for node in own_nodes(function, ast.Assign, ast.Call):
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=holder))], value=given) if (
                is_it(given)
            ):
                made = assignments(function).get(holder, ())
                if any(
                    isinstance(e, ast.Call) and _is_anothers(model, function, e.func) for e in made
                ):
                    return True
            case ast.Call(func=func, args=args, keywords=keywords):
                given_all = (*args, *(keyword.value for keyword in keywords))
                if any(map(is_it, given_all)) and _is_anothers(model, function, func):
                    return True
    return False


def _is_anothers(model: Model, function: Function, func: ast.expr) -> bool:
    """Whether a call leads into a library that is none of those that hand all of it on to DeepSpeed."""
    meaning = model.program.resolve_dotted(function.module, dotted_name(func))
    return isinstance(meaning, str) and meaning.partition(".")[0] not in _HAND_ON


def _literal(node: ast.Dict) -> tuple[dict[str, Any], dict[Keys, ast.expr]]:
    """What a dict says, and where; what is computed is "auto", of which no rule knows anything."""
    values: dict[str, Any] = {}
    nodes: dict[Keys, ast.expr] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            continue
        name = key.value
        nodes[(name,)] = key
        match value:
            case ast.Constant(value=constant):
                values[name] = constant
            case ast.Dict():
                values[name], inner = _literal(value)
                if name == "zero_optimization" and None in value.keys:
                    values[name].setdefault("stage", "auto")  # what is spread may say it
                nodes |= {(name, *keys): each for keys, each in inner.items()}
            case _:
                values[name] = "auto"
    return values, nodes


def _with_json(files: LaunchFiles, configuration: Configuration) -> Iterator[Finding]:
    """The JSON that accelerate's configuration names, against it."""
    json = files.json_of(configuration)
    if json is None:
        return
    at = configuration.place(("deepspeed_config", "deepspeed_config_file"))
    for defect in deepspeed.against_accelerate(json.values, configuration.values):
        if defect.keys:
            yield _finding(json, defect, (Related(at, "named here"),))
        else:
            message = sentence_of(defect)
            yield Finding(CODE, NAME, Severity.ERROR, message, at)


def _finding(
    configuration: Configuration, defect: Defect, places: tuple[Related, ...] = ()
) -> Finding:
    place = configuration.place(defect.keys)
    return Finding(CODE, NAME, _severity(defect), sentence_of(defect), place, places)


def _severity(defect: Defect) -> Severity:
    if defect.mended:
        return Severity.INFO
    return Severity.ERROR if defect.severe else Severity.WARNING
