"""The net inside its wrappers: DDP (apex's too), DataParallel, FSDP1, torch.compile, DeepSpeed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

WRAPPERS = (
    # module, class, attribute that holds what is wrapped
    ("torch.nn.parallel.distributed", "DistributedDataParallel", "module"),  # torch 2.13.0
    ("torch.nn.parallel.data_parallel", "DataParallel", "module"),  # torch 2.13.0
    (
        "torch.distributed.fsdp.fully_sharded_data_parallel",
        "FullyShardedDataParallel",
        "_fsdp_wrapped_module",  # not `module`, which also strips a checkpoint wrapper; 2.13.0
    ),
    ("torch._dynamo.eval_frame", "OptimizedModule", "_orig_mod"),  # torch 2.13.0
    ("deepspeed.runtime.engine", "DeepSpeedEngine", "module"),  # deepspeed 0.19.8
    ("apex.parallel.distributed", "DistributedDataParallel", "module"),  # apex 0.1
)
"""Classes that hold a net; looked up only where their module is loaded, as no object of them can
exist otherwise."""


def wrapped(module: nn.Module) -> tuple[str, nn.Module] | None:
    """The attribute's name and what it holds, where `module` is a wrapper; else None."""
    for source, class_name, attribute in WRAPPERS:
        loaded = sys.modules.get(source)
        if loaded is not None and isinstance(module, getattr(loaded, class_name)):
            return attribute, getattr(module, attribute)
    return None


def is_instance_of(module: nn.Module, class_name: str) -> bool:
    """Whether `module` is an object of the class of `WRAPPERS` with this name."""
    return any(
        name == class_name
        and source in sys.modules
        and isinstance(module, getattr(sys.modules[source], name))
        for source, name, _ in WRAPPERS
    )


def unwrap(model: nn.Module, *, keep_compile: bool = False) -> Any:
    """The net inside DDP (apex's too), DataParallel, FSDP1, ``torch.compile`` and DeepSpeed, in any nesting.

    For attributes and methods of the net (``config``, ``generate``, ``save_pretrained``). Not for
    forward passes, which must go through the wrapper to synchronise gradients and gather shards;
    nor for ``state_dict()``, which FSDP1 answers with ``_flat_param`` and ZeRO-3 with empty
    shapes: use `full_state_dict` or `save`.

    Not collective; changes nothing; ``unwrap(unwrap(m)) is unwrap(m)``. Decides by class, never by
    an attribute's name, so that a net with a ``.module`` or ``.model`` of its own stays whole.
    FSDP2, PEFT, Hugging Face models and modules compiled in place (``model.compile()``) come back
    as they are: they are the net.

    Args:
        model: a module.
        keep_compile: where the model was compiled, return the net compiled: the compiled module
            itself where it holds the net directly, else a new one around the net with the same
            compile settings, which shares the net's parameters.

    Returns:
        The net. Typed Any, as the wrapped class is unknown to type checkers.

    Raises:
        TypeError: `model` is not a torch.nn.Module.
    """
    # Without torch there is no module.
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        raise TypeError(f"unwrap() takes a torch.nn.Module, not {type(model).__name__}")
    compiled: Any = None
    while (inner := wrapped(model)) is not None:
        if is_instance_of(model, "OptimizedModule"):
            compiled = model
        model = inner[1]
    if not keep_compile or compiled is None:
        return model
    if compiled._orig_mod is model:
        return compiled
    return type(compiled)(model, compiled.dynamo_ctx)
