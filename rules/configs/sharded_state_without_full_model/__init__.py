"""`trainer.save_model()` under a configuration of FSDP or DeepSpeed with which it writes no model.

## What it does
Follows `accelerate launch --config_file FILE train.py` from scripts and READMEs to the script, and reports
`trainer.save_model()` there where the file says FSDP with `SHARDED_STATE_DICT`: in so many words, or by saying nothing
under FSDP's version 2. And the same under ZeRO-3, by accelerate's file or the JSON of `--deepspeed`, where nothing has the
weights gathered: no `zero3_save_16bit_model`, or no `stage3_gather_16bit_weights_on_model_save`.

## Why it is bad
transformers' `Trainer.save_model()` gathers and writes the weights only under `FULL_STATE_DICT`. Under
`SHARDED_STATE_DICT` it returns without a word: training ends, and the folder holds a tokenizer and no model. Under ZeRO-3
it warns, and writes DeepSpeed's checkpoint, of which `zero_to_fp32.py` makes a model.

## Errors you may see
- `Error no file named ... found in directory`
- `does not appear to have a file named pytorch_model.bin`
- `does not appear to have a file named model.safetensors`
- `stage3_gather_16bit_weights_on_model_save=false. Saving the full checkpoint instead`

## Example
```python
trainer.train()
trainer.save_model(output_dir)
```

## Use instead
```python
trainer.train()
if trainer.is_fsdp_enabled:
    trainer.accelerator.state.fsdp_plugin.set_state_dict_type("FULL_STATE_DICT")
trainer.save_model(output_dir)
```

## Fix safety
Unsafe: the whole model is gathered in the memory of rank 0's host. `accelerate merge-weights` makes a model of a
sharded checkpoint without that.

## Known limits
Only launches that stand in a script or README are followed. Silent where the program names `FULL_STATE_DICT`, or what
gathers or merges the shards.

Not proven: FSDP under the Trainer needs an accelerator.

## References
- transformers 5.23.0, `trainer.py`: `save_model`
- accelerate 1.15.0, `utils/dataclasses.py`: FullyShardedDataParallelPlugin, `state_dict_type`; `accelerator.py`: `get_state_dict`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, source_of, span_of
from distlint.analysis.program.syntax import own_nodes
from distlint.edits import Insert
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.knowledge.configuration.launchers import Launcher
from distlint.knowledge.configuration.values import fsdp_version, section_of
from distlint.launch.commands import Launch
from distlint.launch.project import Configuration, Format
from distlint.rule import Status

from .partitioned import is_gathered, partitioned

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

CODE = "DL808"
NAME = "sharded-state-without-full-model"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = (b".save_model(",)

_SHARDED = ("SHARDED_STATE_DICT", "3")
_SETTING = ("fsdp_config", "fsdp_state_dict_type")


def check(model: Model) -> Iterator[Finding]:
    """Models that are not written under the configuration with which their script is started."""
    for module in model.modules:
        if ".save_model(" not in module.source.text:
            continue
        started = _sharded(model, module.path)
        if started is not None and not any(
            "FULL_STATE_DICT" in m.source.text for m in model.modules
        ):
            launch, configuration = started
            places = (
                Related(configuration.place(_SETTING), "FSDP with sharded states"),
                Related(launch.place, "started here"),
            )
            for node, call, trainer in _saved(module):
                text = (
                    f"`{trainer}.save_model()` writes no weights under SHARDED_STATE_DICT, and says "
                    f"nothing. Set FULL_STATE_DICT before it."
                )
                code = (
                    f"if {trainer}.is_fsdp_enabled:\n    {trainer}.accelerator.state"
                    '.fsdp_plugin.set_state_dict_type("FULL_STATE_DICT")'
                )
                fix = Fix(
                    Applicability.UNSAFE,
                    "Gather the whole model before it is saved",
                    (Insert(span_of(node), code),),
                )
                place = place_of(module, call)
                yield Finding(CODE, NAME, SEVERITY, text, place, places, fix)
        divided = partitioned(model, module.path) if started is None else None
        if divided is not None and not is_gathered(model):
            launch, at, setting = divided
            places = (Related(at, "ZeRO-3"), Related(launch.place, "started here"))
            for _, call, trainer in _saved(module):
                text = (
                    f"`{trainer}.save_model()` writes no weights that `from_pretrained()` loads: under ZeRO-3 each rank saves its "
                    f"part, in a checkpoint of DeepSpeed's. Set `{setting}`."
                )
                place = place_of(module, call)
                yield Finding(CODE, NAME, Severity.WARNING, text, place, places)


def _saved(module: Module) -> Iterator[tuple[ast.Expr, ast.Call, str]]:
    """The statements in which a Trainer saves its model, each with the call and what the Trainer is called."""
    for function in module.all_functions:
        for node in own_nodes(function, ast.Expr):
            match node:
                case ast.Expr(
                    value=ast.Call(func=ast.Attribute(attr="save_model", value=receiver)) as call
                ) if "trainer" in (trainer := source_of(module, receiver)).lower():
                    yield node, call, trainer


def _sharded(model: Model, path: str) -> tuple[Launch, Configuration] | None:
    """A launch of the script under FSDP with sharded state dicts, and its file."""
    for script, launch in model.launch.starting(path):
        option = launch.options.get("config_file")
        if launch.launcher is not Launcher.ACCELERATE or option is None or option.value is None:
            continue
        if "fsdp_state_dict_type" in launch.options:
            continue
        found = model.launch.named(option.value, script.path, Format.ACCELERATE)
        if found is None or found.values.get("distributed_type") != "FSDP":
            continue
        written = section_of(found.values, "fsdp_config").get("fsdp_state_dict_type")
        default = "SHARDED_STATE_DICT" if fsdp_version(found.values) == 2 else "FULL_STATE_DICT"
        if str(written or default).upper() in _SHARDED:
            return launch, found
    return None
