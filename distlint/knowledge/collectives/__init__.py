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
    mpi,
    pytorch,
    runtime,
    transformers,
)
from distlint.knowledge.schema import CallRow

ROWS: tuple[CallRow, ...] = (
    *pytorch.ROWS,
    *accelerate.ROWS,
    *transformers.ROWS,
    *deepspeed.ROWS,
    *lightning.ROWS,
    *megatron.ROWS,
    *frameworks.ROWS,
    *mpi.ROWS,
    *runtime.ROWS,
)

CALLS: dict[str, CallRow] = {row.name: row for row in ROWS}
"""Row by canonical qualified name; a method is "library.Class.method"."""

_DISTINCTIVE = (
    # Counted over 24 packages of the field (12,151 files): each of these names is defined as a
    # function or method by its own library only, or means the same collective wherever it is
    # defined. `all_reduce`, `gather`, `reduce`, `prepare`, `save_state` and the like are not: other
    # receivers communicate in a group of their own, or not at all.
    "accelerate.Accelerator.wait_for_everyone",
    "accelerate.Accelerator.gather_for_metrics",
    "accelerate.Accelerator.pad_across_processes",
    "accelerate.Accelerator.split_between_processes",
    "accelerate.Accelerator.join_uneven_inputs",
    "accelerate.Accelerator.main_process_first",
    "accelerate.Accelerator.local_main_process_first",
    "torch.distributed.barrier",
    "torch.distributed.all_gather_object",
    "torch.distributed.broadcast_object_list",
    "torch.distributed.tensor.DTensor.full_tensor",
    "torch.distributed.fsdp.FullyShardedDataParallel.summon_full_params",
    "torch.distributed.fsdp.FullyShardedDataParallel.full_optim_state_dict",
    "torch.distributed.fsdp.FullyShardedDataParallel.sharded_optim_state_dict",
    "torch.distributed.fsdp.FullyShardedDataParallel.scatter_full_optim_state_dict",
    "torch.distributed.optim.ZeroRedundancyOptimizer.consolidate_state_dict",
    "transformers.Trainer._nested_gather",
    "transformers.Trainer.store_flos",
    "deepspeed.zero.GatheredParameters",
    "deepspeed.DeepSpeedEngine.save_16bit_model",
    "deepspeed.DeepSpeedEngine._zero3_consolidated_16bit_state_dict",
    "deepspeed.DeepSpeedEngine._consolidated_16bit_state_dict",
    "deepspeed.DeepSpeedEngine.allreduce_gradients",
    "lightning.fabric.Fabric.rank_zero_first",
    "lightning.fabric.strategies.Strategy.reduce_boolean_decision",
    "composer.utils.dist.get_node_signal_file_name",
    "composer.utils.dist.run_local_rank_zero_first",
    "composer.utils.dist.busy_wait_for_local_rank_zero",
    "composer.utils.dist.local_rank_zero_download_and_wait",
    "colossalai.cluster.DistCoordinator.block_all",
    "colossalai.cluster.DistCoordinator.priority_execution",
)

METHODS: dict[str, CallRow] = {name.rpartition(".")[2]: CALLS[name] for name in _DISTINCTIVE}
"""Row by method name alone, for receivers of unknown type: names that nobody else uses."""
