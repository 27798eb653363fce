"""The plan as JSON: every number in bytes, the same names as in the code."""

from __future__ import annotations

from typing import Any

from distlint.hardware.memory.limits import Largest
from distlint.hardware.memory.plan import Change, Plan, Usage
from distlint.hardware.memory.sizes import ModelSize


def as_json(plan: Plan, model: ModelSize, largest: Largest | None) -> dict[str, Any]:
    """The plan as an object of plain values; all sizes in bytes."""
    request = plan.request
    return {
        "model": {
            "name": model.name,
            "parameters": request.parameters,
            "layers": request.shape.layers,
            "hidden": request.shape.hidden,
            "heads": request.shape.heads,
            "vocabulary": request.shape.vocabulary,
            "block_parameters": request.shape.block_parameters,
            "root_parameters": request.shape.root_parameters,
            "shape_assumed": request.shape.assumed,
            "trained": model.units.total.trained,
            "frozen": model.units.total.frozen,
            "quantized": model.units.total.quantized,
            "quantized_bytes": model.units.total.quantized_bytes,
            "notes": list(model.notes),
        },
        "gpus": request.gpus,
        "memory": request.memory,
        "precision": request.precision.value,
        "offload": request.offload,
        "activation_checkpointing": request.checkpointing,
        "batch": request.batch,
        "sequence": request.sequence,
        "optimizer": request.optimizer.key,
        "tensor_parallel": request.tensor_parallel,
        "shard_group": request.shard_group,
        "strategies": [
            {
                "strategy": row.strategy.key,
                "title": row.strategy.title,
                "setting": row.strategy.setting,
                "fits": row.fits,
                "usage": _usage(row.usage),
                "change": _change(row.change),
            }
            for row in plan.rows
        ],
        "fitting": plan.fitting.strategy.key if plan.fitting else None,
        "change": _change(plan.change),
        "largest": _largest(largest),
    }


def _largest(largest: Largest | None) -> dict[str, Any] | None:
    if largest is None:
        return None
    return {
        "strategy": largest.row.strategy.key,
        "batch": largest.batch,
        "sequence": largest.sequence,
        "sequence_ends_at_positions": largest.ends,
    }


def _usage(usage: Usage) -> dict[str, int]:
    return {
        "weights": usage.weights,
        "gradients": usage.gradients,
        "optimizer": usage.optimizer,
        "buckets": usage.buckets,
        "unsharded": usage.unsharded,
        "states": usage.states,
        "activations_estimate": usage.activations,
        "communication_estimate": usage.communication,
        "reserve": usage.reserve,
        "total": usage.total,
        "host": usage.host,
    }


def _change(change: Change | None) -> dict[str, Any] | None:
    if change is None:
        return None
    return {
        "change": change.words,
        "strategy": change.strategy.key,
        "total": change.usage.total,
        "gpus": change.request.gpus,
        "offload": change.request.offload,
        "activation_checkpointing": change.request.checkpointing,
        "batch": change.request.batch,
    }
