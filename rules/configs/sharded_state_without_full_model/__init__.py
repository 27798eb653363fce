"""`trainer.save_model()` under an FSDP configuration with which it writes no model.

## What it does
Follows `accelerate launch --config_file FILE train.py` from scripts and READMEs to the script, and reports
`trainer.save_model()` there where the file says FSDP with `SHARDED_STATE_DICT`: in so many words, or by saying nothing
under FSDP's version 2.

## Why it is bad
transformers' `Trainer.save_model()` gathers and writes the weights only under `FULL_STATE_DICT`. Under
`SHARDED_STATE_DICT` it returns without a word: training ends, and the folder holds a tokenizer and no model.

## Errors you may see
- `Error no file named ... found in directory`
- `does not appear to have a file named pytorch_model.bin`
- `does not appear to have a file named model.safetensors`

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
Only launches that stand in a script or README are followed. Silent where the program names `FULL_STATE_DICT`.

Not proven: FSDP under the Trainer needs an accelerator.

## References
- transformers 5.23.0, `trainer.py`: `save_model`
- accelerate 1.15.0, `utils/dataclasses.py`: FullyShardedDataParallelPlugin, `state_dict_type`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distlint.analysis.model import Model, place_of, source_of, span_of
from distlint.analysis.program.syntax import own_nodes
from distlint.edits import Insert
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.knowledge.configuration.launchers import Launcher
from distlint.knowledge.configuration.values import fsdp_version, section_of
from distlint.launch.commands import Launch
from distlint.launch.project import Configuration, Format
from distlint.rule import Status

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
        if started is None or any("FULL_STATE_DICT" in m.source.text for m in model.modules):
            continue
        launch, configuration = started
        for function in module.all_functions:
            for node in own_nodes(function, ast.Expr):
                match node:
                    case ast.Expr(
                        value=ast.Call(
                            func=ast.Attribute(attr="save_model", value=receiver)
                        ) as call
                    ) if "trainer" in (trainer := source_of(module, receiver)).lower():
                        places = (
                            Related(configuration.place(_SETTING), "FSDP with sharded states"),
                            Related(launch.place, "started here"),
                        )
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
