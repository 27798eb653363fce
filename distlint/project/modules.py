"""Dotted module names, and the root of the project that a file belongs to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import cache
from pathlib import Path

from distlint.records import dataclass

ROOT_MARKERS = ("pyproject.toml", "distlint.toml", "setup.py", "setup.cfg", ".git", ".hg")

TOP_FILES = (
    ".gitignore", ".github", ".pre-commit-config.yaml", "LICENSE", "README.md", "README.rst", "environment.yaml",
    "environment.yml", "requirements.txt",
)  # fmt: skip
"""What lies at the top of a published project that nobody installs, once it is unpacked without its history."""

_INSTALLED = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True)
class View:
    """Files by absolute path as a check sees them.

    `overlays` are contents that count instead of what is on disk, where nothing need be; files that
    `hides` are not there.
    """

    overlays: Mapping[str, bytes] = field(default_factory=dict)
    hides: Callable[[str], bool] = lambda _: False


_view = View()


@cache
def is_package(directory: str) -> bool:
    """Whether `directory` is a regular package."""
    init = os.path.join(directory, "__init__.py")
    return init in _view.overlays or (os.path.isfile(init) and not _view.hides(init))


def is_shadowed(path: str) -> bool:
    """Whether a module of a package cannot be imported: Python takes the package of the same name beside it."""
    name, extension = os.path.splitext(path)
    return extension == ".py" and is_package(name) and is_package(os.path.dirname(path))


@cache
def package_root(directory: str) -> str:
    """The directory that imports of what lies in `directory` start from.

    The first one upwards without an `__init__.py`: src layouts fall out of this. Or the first whose name no import can
    say: NeuralSpeech 8cf4fbc PriorGrad-vocoder, with an `__init__.py`, has `from dataset import from_path` in a module.
    """
    while is_package(directory) and os.path.basename(directory).isidentifier():
        parent = os.path.dirname(directory)
        if parent == directory:
            break
        directory = parent
    return directory


def forget_packages(view: View | None = None) -> None:
    """Look at the disk anew: a process that checks several times sees packages come and go."""
    global _view
    _view = view or View()
    is_package.cache_clear()
    package_root.cache_clear()


def module_name(path: str) -> tuple[str, bool]:
    """The dotted name of the file at the absolute `path`, and whether it is a package's `__init__`.

    A script outside of any package has its bare name: that is how its neighbours import it.
    """
    directory, filename = os.path.split(path)
    stem = filename.rpartition(".")[0] or filename
    root = package_root(directory)
    parts = [part for part in os.path.relpath(directory, root).split(os.sep) if part != "."]
    if stem == "__init__":
        return ".".join(parts) or os.path.basename(directory), True
    return ".".join([*parts, stem]), False


def project_root(path: Path) -> Path | None:
    """The root of the project around the absolute `path` (a file or a directory), if there is one.

    The nearest directory upwards with a project marker. The home directory and what lies above it
    are nobody's project.
    """
    return _nearest(path, ROOT_MARKERS)


def _nearest(path: Path, names: Iterable[str]) -> Path | None:
    """The nearest directory upwards that holds one of `names`, short of the home directory.

    Installed packages leave all sorts of files beside them.
    """
    start = path if path.is_dir() else path.parent
    home = Path.home()
    for directory in (start, *start.parents):
        if directory in (home, directory.parent) or directory.name in _INSTALLED:
            return None
        if any((directory / name).exists() for name in names):
            return directory
    return None


def repository_root(directory: Path) -> Path:
    """The nearest directory upwards that is under version control; `directory` itself where none is.

    What code hosts call a path is relative to it.
    """
    for each in (directory, *directory.parents):
        if (each / ".git").exists() or (each / ".hg").exists():
            return each
    return directory


def neighbourhood(path: Path) -> list[Path]:
    """What else has to be known to understand the file or directory at the absolute `path`.

    The project it belongs to, or the folder around it that looks like one; without one, its top package; for
    a script, the scripts beside it. Never a whole directory of which nothing says that it belongs together: that may be a home
    directory, or site-packages.
    """
    root = project_root(path) or _nearest(path, TOP_FILES)
    if root is not None:
        return [root]
    directory = path if path.is_dir() else path.parent
    if not is_package(str(directory)):
        return sorted(each for each in directory.glob("*.py") if each.is_file())
    while is_package(str(directory.parent)):
        directory = directory.parent
    return [directory]
