"""Every call that ranks have to make together, by qualified name and by telling method name.

A library's rows are in the module of its name; all of them have been read in its source.
"""

from __future__ import annotations

from distlint.knowledge.collectives import (
    accelerate,
    deepspeed,
    frameworks,
    lightning,
    megatron,
    pytorch,
    transformers,
)
from distlint.knowledge.schema import Call

ROWS: tuple[Call, ...] = (
    *pytorch.ROWS,
    *accelerate.ROWS,
    *transformers.ROWS,
    *deepspeed.ROWS,
    *lightning.ROWS,
    *megatron.ROWS,
    *frameworks.ROWS,
)

CALLS: dict[str, Call] = {row.name: row for row in ROWS}
"""Row by canonical qualified name; a method is "library.Class.method"."""

_DISTINCTIVE = (
    "accelerate.Accelerator.wait_for_everyone",
    "accelerate.Accelerator.gather_for_metrics",
    "accelerate.Accelerator.pad_across_processes",
    "torch.distributed.fsdp.FullyShardedDataParallel.summon_full_params",
    "deepspeed.DeepSpeedEngine.save_16bit_model",
)

METHODS: dict[str, Call] = {name.rpartition(".")[2]: CALLS[name] for name in _DISTINCTIVE}
"""Row by method name alone, for receivers of unknown type: names that nobody else uses."""
