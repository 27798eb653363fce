"""Attributes with other values for a while, of any object or of a model's configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .wrapping import unwrap

if TYPE_CHECKING:
    from torch import nn

_ABSENT = object()


@contextmanager
def temporary_attr(obj: Any, /, **values: Any) -> Iterator[None]:
    """Sets attributes of `obj` for the body, and puts each back as it was, also after an error.

    What was absent is deleted again; a value that the class provides comes back by deleting the
    instance's; properties, slots, parameters, submodules and aliases (``attribute_map`` of
    transformers' configs) are set back. Restored in reverse. Not collective. Where setting one
    fails, those already set are undone. Where the body raises, its exception is what one sees.

    Args:
        obj: any object.
        values: attribute names and their values inside the body.

    Raises:
        AttributeError, TypeError: an attribute cannot be set; nothing is changed.
    """
    undos: list[Callable[[], None]] = []
    try:
        for name, value in values.items():
            # Before setting: a setter that fails half way has changed something too.
            undos.append(_undo(obj, name))
            setattr(obj, name, value)
        yield
    except BaseException as error:
        for failure in _run_all(undos):
            if hasattr(error, "add_note"):  # Python 3.11
                error.add_note(f"restoring {type(obj).__name__} failed too: {failure!r}")
        raise
    failures = _run_all(undos)
    if failures:
        raise failures[0]


@contextmanager
def temporary_config(model: nn.Module, /, **values: Any) -> Iterator[None]:
    """`temporary_attr` on the model's ``config``, found through any wrapper.

    Names that ``generation_config`` has are set there too, as ``generate()`` reads that one.
    Models built from one config object share it, and see the values as well. Not collective, but
    ranks whose models compute something different do not belong in one collective: enter on all.

    Args:
        model: a module, wrapped or not, whose net has a ``config``.
        values: names and values, for instance ``use_cache=True``.

    Raises:
        TypeError: `model` is not a module, or its net has no config object.
        AttributeError: a value cannot be set; nothing is changed.
    """
    net = unwrap(model)
    config = getattr(net, "config", None)
    if config is None or isinstance(config, dict):
        raise TypeError(
            f"temporary_config() needs a model with a config object, and {type(net).__name__} has "
            f"{'none' if config is None else 'a dict'}: use temporary_attr() on what holds the value"
        )
    generation = getattr(net, "generation_config", None)
    for_generation = {name: value for name, value in values.items() if hasattr(generation, name)}
    with temporary_attr(config, **values), temporary_attr(generation, **for_generation):
        yield


def _run_all(undos: list[Callable[[], None]]) -> list[Exception]:
    """Calls all of `undos` in reverse; returns what they raised."""
    failures: list[Exception] = []
    for undo in reversed(undos):
        try:
            undo()
        except Exception as failure:
            failures.append(failure)
    return failures


def _undo(obj: Any, name: str) -> Callable[[], None]:
    """A function that makes ``obj.name`` what it is now."""
    before = getattr(obj, name, _ABSENT)

    def set_back() -> None:
        setattr(obj, name, before)

    def delete() -> None:
        # Setting may have failed, or the body may have deleted it.
        if name in _own(obj) or _has_setter(obj, name):
            delattr(obj, name)
        # A wrapper that forwards attributes (FSDP1, OptimizedModule) may have set it further in.
        if getattr(obj, name, _ABSENT) is not before:
            set_back() if before is not _ABSENT else delattr(obj, name)

    if before is not _ABSENT and (name in _own(obj) or _has_setter(obj, name)):
        return set_back
    return delete


def _own(obj: Any) -> set[str]:
    """Names that the object itself holds, as opposed to its class or what it forwards to."""
    own = set(getattr(obj, "__dict__", ()))
    for registry in ("_parameters", "_buffers", "_modules"):
        own |= set(obj.__dict__.get(registry) or ()) if hasattr(obj, "__dict__") else set()
    aliases = getattr(type(obj), "attribute_map", {})
    return own | {alias for alias, target in aliases.items() if target in own}


def _has_setter(obj: Any, name: str) -> bool:
    """Whether the class decides what setting this name means: a property or a slot."""
    return hasattr(getattr(type(obj), name, None), "__set__")
