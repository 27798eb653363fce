"""Waits until a process joins its process group, whatever has started it, and watches it from then on."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from distlint.hardware.sanitizer.startup import SOCKET, VARIABLE

_MODULE = "torch.distributed.distributed_c10d"


def when_joined() -> None:
    """Watch this process once it has joined a process group. Imports no torch by itself."""
    sys.meta_path.insert(0, _AfterImport())


class _AfterImport(MetaPathFinder):
    """Wraps `init_process_group` as soon as its module has run, before others take it from there."""

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        if fullname != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Wrapping(spec.loader)
        return spec


class _Wrapping(Loader):
    """Loads a module as its own loader does, and wraps its `init_process_group` then."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        setattr(module, "init_process_group", _watched(module.init_process_group))  # noqa: B010


def _watched(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def init_process_group(*args: Any, **kwargs: Any) -> None:
        original(*args, **kwargs)
        options = os.environ.pop(VARIABLE, None)
        os.environ.pop(SOCKET, None)
        if options is not None:
            from distlint.hardware.sanitizer import job_rank

            try:
                job_rank.join(options)
            except (OSError, RuntimeError, ValueError) as error:
                sys.stderr.write(f"distlint run: not attached: {error}\n")

    return init_process_group
