"""Tensors on one device: moved only where they are not there yet, never cast."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import torch
    from torch import nn

T = TypeVar("T")


def to_device_of(x: T, ref: torch.Tensor | nn.Module | torch.device | str) -> T:
    """`x` on the device of `ref`, with its own dtype (``x.to(ref)`` would take ref's dtype too).

    Not collective.

    Args:
        x: a tensor, or a nest of dicts, lists, tuples, named tuples and dataclasses with tensors;
            anything else stays as it is.
        ref: a tensor; a module, all of whose parameters and buffers are on one device; a device
            or its name.

    Returns:
        The same object where everything is there already; else a new tensor or nest.

    Raises:
        ValueError: `ref` or a tensor of `x` that would have to move is on the meta device, which
            holds no data; a module without tensors, or with tensors on several devices.
        TypeError: `ref` is none of these.
    """
    return _moved(x, _device_of(ref))  # type: ignore[no-any-return]


def same_device(
    *tensors: Any, device: torch.Tensor | nn.Module | torch.device | str | None = None
) -> tuple[Any, ...]:
    """All of `tensors` on one device: `device`, or that of the first tensor. Not collective.

    Args:
        tensors: tensors or nests of them, as `to_device_of` takes.
        device: as `ref` of `to_device_of`; None means the first tensor found.

    Returns:
        A tuple as long as `tensors`; members that are there already are the same objects.

    Raises:
        ValueError: no tensor and no device is given; a tensor on the meta device would have to move.
    """
    if device is None:
        device = _first_tensor(tensors)
        if device is None:
            raise ValueError("same_device() got no tensor and no device to go by")
    target = _device_of(device)
    return tuple(_moved(item, target) for item in tensors)


def _device_of(ref: Any) -> torch.device:
    import torch

    if isinstance(ref, torch.Tensor):
        device = ref.device
    elif isinstance(ref, torch.nn.Module):
        device = _device_of_module(ref)
    elif isinstance(ref, (str, torch.device)):
        device = torch.device(ref)
    else:
        raise TypeError(
            f"to_device_of() takes a tensor, module or device to go by, not {type(ref).__name__}"
        )
    if device.type not in ("cpu", "meta") and device.index is None:
        # "cuda" means the current device, which tensors name with its number.
        return torch.empty(0, device=device).device
    return device


def _device_of_module(module: nn.Module) -> torch.device:
    devices = {tensor.device for tensor in (*module.parameters(), *module.buffers())}
    if len(devices) != 1:
        where = ", ".join(sorted(map(str, devices)))
        raise ValueError(
            f"{type(module).__name__} has "
            + (f"tensors on several devices ({where})" if devices else "no tensors")
            + ": name the device, or a tensor or submodule that is on it"
        )
    return devices.pop()


def _moved(x: Any, device: torch.device) -> Any:
    import torch

    if isinstance(x, torch.Tensor):
        if x.device == device:
            return x
        if "meta" in (x.device.type, device.type):
            raise ValueError(
                f"a tensor on {x.device} cannot go to {device}: the meta device holds no data"
            )
        return x.to(device)
    if isinstance(x, torch.nn.utils.rnn.PackedSequence):
        return x if x.data.device == device else x.to(device)  # type: ignore[arg-type]
    if isinstance(x, Mapping):
        items = {key: _moved(value, device) for key, value in x.items()}
        if all(items[key] is x[key] for key in items):
            return x
        return _rebuilt(x, items)
    if isinstance(x, (list, tuple)):
        new = [_moved(value, device) for value in x]
        if all(one is other for one, other in zip(new, x, strict=True)):
            return x
        return type(x)(*new) if hasattr(x, "_fields") else type(x)(new)
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        fields = {f.name: getattr(x, f.name) for f in dataclasses.fields(x) if f.init}
        changed = {name: _moved(value, device) for name, value in fields.items()}
        changed = {name: value for name, value in changed.items() if value is not fields[name]}
        return dataclasses.replace(x, **changed) if changed else x
    return x


def _rebuilt(x: Mapping[Any, Any], items: dict[Any, Any]) -> Any:
    """A mapping like `x` (a defaultdict, a BatchEncoding, a ModelOutput) with other values."""
    if type(x) is dict:
        return items
    import copy

    new: Any = copy.copy(x)
    if getattr(new, "data", None) is getattr(x, "data", new):
        # UserDict (transformers' BatchEncoding): copy.copy shares the dict inside.
        new.data = dict(x)
    for key, value in items.items():
        new[key] = value
    return new


def _first_tensor(x: Any) -> torch.Tensor | None:
    import torch

    if isinstance(x, torch.Tensor):
        return x
    if isinstance(x, Mapping):
        x = list(x.values())
    if isinstance(x, (list, tuple)):
        return next((found for item in x if (found := _first_tensor(item)) is not None), None)
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        return _first_tensor([getattr(x, field.name) for field in dataclasses.fields(x)])
    return None
