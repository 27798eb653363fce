"""A model is trained under DDP that one GPU cannot hold with its optimizer.

## What it does
Reads the size of the model from its name on a training command line (`--model_name_or_path meta-llama/Llama-2-70b-hf`)
that `torchrun` or `accelerate launch` starts without FSDP and DeepSpeed, and reports it where weights, gradients and
Adam's state of every GPU come to more than 80 GiB. Advice: shown with `--select DL807` only.

## Why it is bad
DDP keeps a whole copy on every GPU: 16 bytes for each parameter, under mixed precision as well (8 where the weights
themselves are bf16). More GPUs do not help.

## Errors you may see
- `CUDA out of memory`

## Example
```bash
torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Llama-3.1-70B --learning_rate 1e-5
```

## Use instead
```bash
accelerate launch --config_file fsdp.yaml train.py --model_name_or_path meta-llama/Llama-3.1-70B --learning_rate 1e-5
```

## Fix safety
No fix: `distlint plan MODEL` shows what each strategy takes, and `distlint config` writes the file.

## Known limits
Only the name tells the size. Silent where an argument speaks of LoRA, quantization or frozen weights, and where words of
the command line are not known. Another optimizer than Adam takes less.

Not proven: needs a model of that size.

## References
- `distlint plan`: the arithmetic, checked against real bytes
"""

from __future__ import annotations

from collections.abc import Iterator

from distlint.findings import Finding, Related, Severity
from distlint.knowledge.configuration.launchers import DDP_BYTES, Launcher
from distlint.launch.commands import Launch, Option
from distlint.launch.project import Format, LaunchFiles, Script
from distlint.patterns import pattern
from distlint.rule import Status

CODE = "DL807"
NAME = "model-too-large-for-ddp"
SEVERITY = Severity.INFO
STATUS = Status.PREVIEW
LITERALS = ()

_MODEL = ("model_name_or_path", "model_name", "model", "pretrained_model_name_or_path", "model_id")
_TRAINS = ("learning_rate", "per_device_train_batch_size", "num_train_epochs", "lr")
_LESS = pattern(
    r"lora|peft|adapter|4bit|8bit|quant|freeze|fsdp|deepspeed|zero|galore|tensor_parallel"
)
_SIZE = pattern(r"(?<![\w.])(\d+(?:\.\d+)?)[bB](?![A-Za-z])")
_LARGEST = 80 * 2**30
"""Bytes of the GPU that most of such jobs run on (A100 and H100)."""


def check_launch(files: LaunchFiles) -> Iterator[Finding]:
    """Launches under DDP of models that are too large for it."""
    for script, launch in files.launches():
        found = _size(launch)
        if found is None or not _is_ddp(files, script, launch):
            continue
        size, option = found
        needed = size * (DDP_BYTES / 2 if _in_half(launch) else DDP_BYTES)
        if needed > _LARGEST:
            text = (
                f"Every GPU would hold {needed / 2**30:,.0f} GiB of weights, gradients and optimizer state: "
                f"DDP divides nothing. Shard with FSDP or ZeRO-3; `distlint plan` shows what fits."
            )
            places = (Related(launch.place, "started here"),)
            yield Finding(CODE, NAME, SEVERITY, text, option.place, places)


def _size(launch: Launch) -> tuple[float, Option] | None:
    """How many parameters the model has that a training is given, by its name."""
    if not launch.complete or not any(name in launch.arguments for name in _TRAINS):
        return None
    for name in _MODEL:
        option = launch.arguments.get(name)
        if option is not None and option.value and (found := _SIZE.search(option.value)):
            return float(found[1]) * 1e9, option
    return None


def _in_half(launch: Launch) -> bool:
    """Whether the weights themselves are bf16 or fp16, and with them gradients and optimizer state."""
    given = (launch.arguments.get(name) for name in ("torch_dtype", "dtype"))
    return any(option is not None and "16" in (option.value or "") for option in given)


def _is_ddp(files: LaunchFiles, script: Script, launch: Launch) -> bool:
    """Whether nothing on the command line, nor in accelerate's file, shards or trains less."""
    said = [*launch.arguments, *launch.options, *(o.value or "" for o in launch.arguments.values())]
    if any(_LESS.search(text.lower()) for text in said):
        return False
    if launch.launcher is not Launcher.ACCELERATE:
        return launch.launcher is Launcher.TORCHRUN
    option = launch.options.get("config_file")
    if option is None or option.value is None:
        return "multi_gpu" in launch.options
    found = files.named(option.value, script.path, Format.ACCELERATE)
    return found is not None and found.values.get("distributed_type") == "MULTI_GPU"
