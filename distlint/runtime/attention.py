"""The attention implementation of a Hugging Face model, switched for a while."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .wrapping import unwrap

if TYPE_CHECKING:
    from torch import nn

# What `_attn_implementation` is a property over; transformers 4.51.3, 4.57.1 and 5.23.0,
# configuration_utils.py. The property has no deleter, and its setter validates nothing and, in 5.x,
# overwrites the nested configs too.
_INTERNAL = "_attn_implementation_internal"


@contextmanager
def attn_implementation(
    model: nn.Module, impl: str | Mapping[str, Any], /, *, strict: bool = False
) -> Iterator[None]:
    """Runs the body with another attention implementation, and restores every config exactly.

    A multi-modal model may mix implementations; each config of each submodule, nested ones too,
    comes back as it was, also after an error. The config object is shared by all models built from
    it: they switch as well. Not collective, but enter it on all ranks: implementations differ in
    their numbers.

    Args:
        model: a transformers model, wrapped or not (DDP, FSDP, DeepSpeed, compile, PEFT).
        impl: a name (``eager``, ``sdpa``, ``flash_attention_2``, ...), or a dict of sub-config name
            to name, ``""`` for the model itself, as ``set_attn_implementation`` takes it.
        strict: raise, instead of warning, where the model cannot switch after it was built.

    Raises:
        ValueError: an unknown name, or one that the model does not support, and with `strict` a
            model that cannot switch; nothing is changed.
        ImportError: the implementation needs a package that is not installed; nothing is changed.
        TypeError: `model` has no transformers config.
    """
    net = unwrap(model)
    configs = _configs(net)
    if not configs:
        raise TypeError(
            f"attn_implementation() needs a transformers model, and {type(net).__name__} has no "
            "config with an attention implementation"
        )
    before = [(config, getattr(config, _INTERNAL)) for config in configs]
    try:
        _switch(net, impl, strict)
        yield
    finally:
        for config, value in before:
            setattr(config, _INTERNAL, value)


def _switch(net: Any, impl: str | Mapping[str, Any], strict: bool) -> None:
    model = _transformers_model(net)
    _check_names(model, impl)
    _check_parts(model.config, impl)
    if not _can_switch(model):
        text = (
            f"{type(model).__name__} chooses its attention when it is built and cannot switch to "
            f"{impl!r}: pass attn_implementation to from_pretrained instead"
        )
        if strict:
            raise ValueError(text)
        warnings.warn(text, UserWarning, stacklevel=5)
        return
    if hasattr(model, "set_attn_implementation"):
        model.set_attn_implementation(impl if isinstance(impl, str) else dict(impl))
    elif isinstance(impl, str):
        # transformers 4.51.3 has neither the method nor a setter that reaches nested configs.
        for config in _configs(net):
            setattr(config, _INTERNAL, impl)
    else:
        _write_internals(model.config, impl)


def _write_internals(config: Any, impl: Mapping[str, Any]) -> None:
    for key, value in impl.items():
        if key == "":
            setattr(config, _INTERNAL, value)
        elif isinstance(value, str):
            for nested in _with_nested([getattr(config, key)]):
                setattr(nested, _INTERNAL, value)
        else:
            _write_internals(getattr(config, key), value)


def _check_parts(config: Any, impl: str | Mapping[str, Any]) -> None:
    """transformers 5.23.0 passes over keys that name no sub-config, so that a slip does nothing."""
    if not isinstance(impl, Mapping):
        return
    for key, value in impl.items():
        part = config if key == "" else getattr(config, key, None)
        if not hasattr(part, _INTERNAL):
            parts = [name for name, one in vars(config).items() if hasattr(one, _INTERNAL)]
            raise ValueError(
                f"{type(config).__name__} has no sub-config {key!r}: "
                f"use one of {', '.join(sorted(parts)) or 'none, but a plain name'}"
            )
        _check_parts(part, value)


def _check_names(model: Any, impl: str | Mapping[str, Any]) -> None:
    known = _known_implementations()
    for name in _names(impl):
        # A repository of kernels ("kernels-community/...") is checked where it is loaded.
        plain = name.removeprefix("paged|")
        if plain not in known and "/" not in plain:
            raise ValueError(
                f"{name!r} is not an attention implementation of {type(model).__name__}: "
                f"use one of {', '.join(sorted(known))}"
            )


def _names(impl: str | Mapping[str, Any]) -> Iterator[str]:
    if isinstance(impl, str):
        yield impl
        return
    for value in impl.values():
        if value is not None:
            yield from _names(value)


def _known_implementations() -> frozenset[str]:
    modeling = sys.modules["transformers.modeling_utils"]
    registered = getattr(modeling, "ALL_ATTENTION_FUNCTIONS", {})
    return frozenset({"eager", "sdpa", "flash_attention_2", *registered})


def _can_switch(model: Any) -> bool:
    """Whether the model reads the config at each forward pass.

    transformers 5.23.0 and 4.57.1 answer themselves, for a whole class. Before that a model that
    picked attention classes when it was built names them in a table of its module.
    """
    answer = getattr(model, "_can_set_attn_implementation", None)
    if answer is not None:
        return bool(answer())
    module = sys.modules[type(model).__module__]
    return not any(name.endswith("_ATTENTION_CLASSES") for name in vars(module))


def _transformers_model(net: Any) -> Any:
    """The outermost transformers model in `net`: inside PEFT's wrapper it is not the root."""
    base = sys.modules["transformers.modeling_utils"].PreTrainedModel
    return next(module for module in net.modules() if isinstance(module, base))


def _configs(net: Any) -> list[Any]:
    """Every distinct config of `net`'s submodules, with the configs nested in them."""
    modeling = sys.modules.get("transformers.modeling_utils")
    if modeling is None:
        return []
    models = (module for module in net.modules() if isinstance(module, modeling.PreTrainedModel))
    return _with_nested([model.config for model in models])


def _with_nested(configs: list[Any]) -> list[Any]:
    """`configs` and the configs in them, at any depth, each once."""
    found: dict[int, Any] = {}
    pending = list(configs)
    while pending:
        config = pending.pop()
        if id(config) not in found and hasattr(config, _INTERNAL):
            found[id(config)] = config
            pending += [value for value in vars(config).values() if hasattr(value, _INTERNAL)]
    return list(found.values())
