"""The full state of a model that may be sharded: gathered on all ranks, kept on rank 0."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .channel import forbid_ahead
from .identity import rank
from .wrapping import is_instance_of, wrapped

if TYPE_CHECKING:
    import torch
    from torch import nn

# What activation checkpointing puts between a module and its content
# (torch 2.13.0, algorithms/_checkpoint/checkpoint_wrapper.py).
_CHECKPOINT_WRAPPED = "_checkpoint_wrapped_module"
# Bytes of ZeRO-3 parameters gathered at a time, so that no rank holds the whole model on its GPU.
_GATHER_AT_ONCE = 1 << 30


def full_state_dict(model: nn.Module) -> dict[str, Any]:
    """The model's whole state, unsharded, under the net's own names; on rank 0.

    Collective: every rank must call it, with the same model. Holds for plain modules, DDP, FSDP1,
    FSDP2 and other DTensor models, DeepSpeed ZeRO-1/2/3, compiled in any nesting. Keys carry no
    ``module.``, ``_orig_mod.`` or other trace of a wrapper, so that the plain net loads them.
    Works uninitialised (then it is the module's state). ZeRO gives the parameters in the dtype of
    the forward pass, not the optimizer's fp32 copies.

    Returns:
        On rank 0 a dict of names to CPU tensors and whatever else ``state_dict()`` holds; tied
        weights stay tied; tensors that were whole and on the CPU already are the model's own, not
        copies. On the other ranks ``{}``.

    Raises:
        TypeError: `model` is not a module.
        RuntimeError: called where only one rank is (inside `run_on_main`). An error of one rank
            between collectives leaves the others in theirs, as with any collective.
    """
    check_is_module(model, "full_state_dict()")
    forbid_ahead("full_state_dict()")
    state = collect_state(model, keepers=(0,))
    return state if rank() == 0 else {}


def check_is_module(model: object, operation: str) -> None:
    """Raises TypeError where `model` is not a torch.nn.Module."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        raise TypeError(f"{operation} takes a torch.nn.Module, not {type(model).__name__}")


def collect_state(model: nn.Module, *, keepers: tuple[int, ...]) -> dict[str, Any]:
    """`full_state_dict` for the ranks in `keepers`; the dict of other ranks is without meaning.

    Collective.
    """
    keep = rank() in keepers
    with _whole_fsdp1_state(model, rank0_only=keepers == (0,)):
        state = model.state_dict()
    if any(hasattr(parameter, "ds_id") for parameter in model.parameters()):
        _fill_in_zero3(model, state, keep)
    aliases = _tied_names(model)
    kept: dict[str, Any] = {}
    for key, value in state.items():
        name = clean_key(model, key)
        first = aliases.get(name, name)
        if first in kept:
            # Not gathered again, and one tensor in the file as in the model. Decided by names,
            # which all ranks share: where a shard is empty, its address says nothing.
            kept[name] = kept[first]
        else:
            kept[name] = gather_tensors(value, keep=keep)
    return kept


def gather_tensors(value: Any, *, keep: bool) -> Any:
    """`value` with every DTensor made whole and every tensor on the CPU, where `keep` is true.

    Collective where `value` holds a DTensor: all ranks must hold the same nest of dicts, lists and
    tuples. Ranks that do not keep get None in place of the tensors, to save their memory. Tensors
    that share storage still do. Containers are copied only where something in them changed.

    Raises:
        ValueError: `value` holds a ShardedTensor, which no rank can make whole by itself.
    """
    return _gathered(value, keep, {})


def _tied_names(model: nn.Module) -> dict[str, str]:
    """For each clean name of a parameter or buffer the first name of the same tensor."""
    first: dict[int, str] = {}
    named = [
        *model.named_parameters(remove_duplicate=False),
        *model.named_buffers(remove_duplicate=False),
    ]
    tied = {}
    for key, tensor in named:
        name = clean_key(model, key)
        tied[name] = first.setdefault(id(tensor), name)
    for prefix, module in model.named_modules():
        # FSDP1 without use_orig_params knows of tied weights only in its flat parameter
        # (torch 2.13.0, _flat_param.py, SharedParamInfo).
        for info in getattr(getattr(module, "_flat_param", None), "_shared_param_infos", ()):
            shared = _join(prefix, info.module_name, info.param_name)
            primary = _join(prefix, info.prim_module_name, info.prim_param_name)
            tied[clean_key(model, shared)] = clean_key(model, primary)
    return tied


def _join(*names: str) -> str:
    return ".".join(name for name in names if name)


def clean_key(model: nn.Module, key: str) -> str:
    """A key of ``model.state_dict()`` as the net without its wrappers would name it.

    Follows the key through the modules and drops the steps into a wrapper, so that a net's own
    submodule named ``module`` keeps its name.
    """
    steps: list[str] = []
    here: nn.Module | None = model
    for name in key.split("."):
        while here is not None and (inner := _content(here)) is not None and inner[0] != name:
            # FSDP1 and activation checkpointing clean their own step out of the keys.
            here = inner[1]
        if here is not None and (inner := _content(here)) is not None:
            here = inner[1]
            continue
        steps.append(name)
        here = None if here is None else here._modules.get(name)
    return ".".join(steps)


def _content(module: nn.Module) -> tuple[str, nn.Module] | None:
    found = wrapped(module)
    if found is None and _CHECKPOINT_WRAPPED in module._modules:
        return _CHECKPOINT_WRAPPED, getattr(module, _CHECKPOINT_WRAPPED)
    return found


@contextlib.contextmanager
def _whole_fsdp1_state(model: nn.Module, *, rank0_only: bool) -> Iterator[None]:
    """Makes FSDP1 modules answer ``state_dict()`` with whole tensors; restores their settings."""
    roots = _fsdp1_roots(model)
    if not roots:
        yield
        return
    from torch.distributed.fsdp import FullStateDictConfig, StateDictType
    from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

    with contextlib.ExitStack() as stack:
        for root in roots:
            # Offloading what is on the CPU already breaks the module: "setStorage ... size 0"
            # (torch 2.13.0, measured).
            offload = any(parameter.device.type != "cpu" for parameter in root.parameters())
            config = FullStateDictConfig(offload_to_cpu=offload, rank0_only=rank0_only)
            stack.enter_context(FSDP.state_dict_type(root, StateDictType.FULL_STATE_DICT, config))
        yield


def _fsdp1_roots(model: nn.Module) -> list[nn.Module]:
    if is_instance_of(model, "FullyShardedDataParallel"):
        return [model]
    return [root for child in model.children() for root in _fsdp1_roots(child)]


def _fill_in_zero3(model: nn.Module, state: dict[str, Any], keep: bool) -> None:
    """Replaces the empty tensors of ZeRO-3 by whole ones where `keep` is true. Collective.

    Source: deepspeed 0.19.8, runtime/zero/partition_parameters.py, GatheredParameters.
    """
    batch: list[tuple[str, Any]] = []
    size = 0
    parameters: Iterator[tuple[str, Any]] = model.named_parameters()
    for name, parameter in parameters:
        if not hasattr(parameter, "ds_id"):
            continue
        batch.append((name, parameter))
        size += parameter.ds_numel * parameter.element_size()
        if size >= _GATHER_AT_ONCE:
            _fill_in_batch(batch, state, keep)
            batch, size = [], 0
    _fill_in_batch(batch, state, keep)


def _fill_in_batch(batch: list[tuple[str, Any]], state: dict[str, Any], keep: bool) -> None:
    zero = sys.modules["deepspeed"].zero
    with zero.GatheredParameters([parameter for _, parameter in batch], modifier_rank=None):
        if keep:
            for name, parameter in batch:
                state[name] = parameter.detach().cpu().clone()


def _gathered(value: Any, keep: bool, seen: dict[Any, Any]) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return _whole_on_cpu(value, keep, seen)
    if type(value).__name__ == "ShardedTensor":
        raise ValueError(
            "the state holds a ShardedTensor, a part that only its own ranks can put together: "
            "pass the model itself, or use torch.distributed.checkpoint"
        )
    if isinstance(value, Mapping):
        changed = {key: _gathered(item, keep, seen) for key, item in value.items()}
        return value if all(changed[key] is value[key] for key in changed) else changed
    if isinstance(value, (list, tuple)):
        items = [_gathered(item, keep, seen) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _whole_on_cpu(tensor: torch.Tensor, keep: bool, seen: dict[Any, Any]) -> Any:
    key: object
    if hasattr(tensor, "full_tensor"):
        # A DTensor; nothing else has this method (torch 2.13.0). The same object is the same on
        # every rank, so all ranks leave out the same gathers.
        key = id(tensor)
        if key not in seen:
            whole = tensor.full_tensor()
            # The original is kept beside its copy, so that its id is not given to another tensor.
            seen[key] = (tensor, whole.detach().cpu() if keep else None)
        return seen[key][1]
    if not keep:
        return None
    if tensor.device.type in ("cpu", "meta"):
        return tensor
    key = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype, tensor.device)
    if key not in seen:
        seen[key] = (tensor, tensor.detach().cpu())
    return seen[key][1]
