"""Modules that a package does not have, and that no build, no submodule and no ignored file will give it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from distlint.patterns import pattern
from distlint.project.files import matches_patterns
from distlint.project.modules import is_package

_MADE: Final = pattern(
    r"_.*|.*_pb2(?:_grpc)?|.*(?:version|generated|cuda|cpp|kernels?|ops|ext|extensions?|native|bindings?)_?"
)
"""Names of what builds make."""
_BUILDS: Final = (
    ".gitignore", ".gitmodules", "CMakeLists.txt", "Dockerfile", "MANIFEST.in", "Makefile", "pyproject.toml", "setup.cfg",
    "setup.py",
)  # fmt: skip
"""What says what else will be in a folder."""
_ADDS: Final = pattern(r"__path__|sys\.(?:modules|path|meta_path)|extend_path|_LazyModule")
"""What gives a package modules that are not in its folder."""


def is_missing(root: str, dotted: str, top: str) -> bool:
    """Whether the module `dotted` is not below `root`, where the packages around it have their own folders alone.

    Args:
        root: the folder that holds the outermost package.
        dotted: the full name of the module.
        top: where to stop looking for what says what else will be in a folder.
    """
    package, *inside = dotted.split(".")
    here = Path(root) / package
    for part in inside:
        if not is_package(str(here)) or _ADDS.search(_text(here / "__init__.py")):
            return False
        below = here / part
        if not is_package(str(below)):
            return (
                _MADE.fullmatch(part) is None
                and part not in _stems(here)
                and not _is_announced(below, Path(top))
            )
        here = below
    return False


def _stems(folder: Path) -> set[str]:
    """The names of what lies in a folder, up to the first dot: `fused.cpython-312.so`, `fused.pyx`."""
    try:
        return {each.name.partition(".")[0] for each in folder.iterdir()}
    except OSError:
        return set()


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", errors="replace") if file.is_file() else ""
    except OSError:
        return ""


def _is_announced(module: Path, top: Path) -> bool:
    """Whether what builds a project around names a module, or leaves its file out of the repository."""
    word = re.compile(rf"\b{re.escape(module.name)}\b")
    for folder in module.parents:
        if any(word.search(_text(folder / each)) for each in _BUILDS):
            return True
        ignored = _text(folder / ".gitignore").splitlines()
        if ignored and any(
            matches_patterns(ignored, str(folder), str(file))
            for file in (module.with_name(f"{module.name}.py"), module / "__init__.py")
        ):
            return True
        if folder == top:
            break
    return False
