"""Which style fixes are written in: with the bundled runtime where it is there when the code runs."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from distlint.launch.kinds import Kind, kind_of
from distlint.patterns import pattern
from distlint.project.settings import Settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_DECLARED = pattern(r"\s*distlint\s*(?:$|[\[<>=!~;@, #])", re.IGNORECASE | re.MULTILINE)
_FOR_DEVELOPERS = pattern(r"dev|lint|test|doc|check|style|ci\b", re.IGNORECASE)
"""Names of groups and files of what is installed beside an editor, and not where the code runs."""

_OF_FILE = pattern(r"\s*3\.(?P<minor>\d+)")
_PINS = ("README*", "*.y*ml", "requirements*.txt", "pyproject.toml")
_FIRST = {"python": (3, 10), "torch": (1, 11)}
"""The first Python that the runtime runs on (`requires-python` in pyproject.toml), and the first torch with wheels for it."""


def style_of(settings: Settings) -> str:
    """`runtime` or `native`: as the setting says, for `auto` as the runtime can run.

    It can where the project declares distlint, has a copy of the runtime, or where distlint itself
    runs in an environment with torch: the training environment, unless the project pins a Python that is too old for
    the runtime. Nothing is imported for the answer.
    """
    if settings.fix_style != "auto":
        return settings.fix_style
    root = settings.root
    here = (
        is_vendored(settings)
        or is_declared(root)
        or (_installed("torch") and not _pins_older_python(root))
    )
    return "runtime" if here else "native"


def is_vendored(settings: Settings) -> bool:
    """Whether the module that fixed code imports is one of the project's, and is there."""
    if settings.runtime_module == Settings().runtime_module:
        return False
    parts = settings.runtime_module.split(".")
    origin = settings.root_of("runtime-module")
    bases = (origin, origin / "src", settings.root, settings.root / "src")
    if any(base.joinpath(*parts, "__init__.py").is_file() for base in bases):
        return True
    return _installed(parts[0])


def is_declared(root: Path) -> bool:
    """Whether the project at `root` needs distlint where it runs, by its pyproject.toml or requirements."""
    return any(_DECLARED.match(each) for each in _requirements(root))


def _pins_older_python(root: Path) -> bool:
    """Whether the project's environment is of a Python before the runtime's, by what its files at the top and pages ask for.

    Vislocas 6af48c8 environment.yml: `python=3.8.15`.
    """
    pinned = _OF_FILE.match(_text(root / ".python-version"))
    if pinned is not None and (3, int(pinned["minor"])) < _FIRST["python"]:
        return True
    return any(
        _asks_for_older(kind, path.name, _text(path))
        for pattern in _PINS
        for path in sorted(root.glob(pattern))
        if (kind := kind_of(path.name)) is not None
    )


@lru_cache(maxsize=64)
def _asks_for_older(kind: Kind, name: str, text: str) -> bool:
    """Whether a file pins an older release; kept for all checks of a process, as a page takes longer to read than a script."""
    # A check from the cache needs it for nothing else.
    from distlint.launch.versions import required

    return any(
        not each.implied and each.newest and each.newest < _FIRST.get(each.name, ())
        for each in required(kind, name, text)
    )


def _requirements(root: Path) -> Iterator[str]:
    for path in sorted(root.glob("requirements*.txt")):
        if not _FOR_DEVELOPERS.search(path.stem):
            yield from _text(path).splitlines()
    yield from _dependencies(_text(root / "pyproject.toml"))


@lru_cache(maxsize=64)
def _dependencies(text: str) -> tuple[str, ...]:
    """What a pyproject.toml needs where it runs."""
    return tuple(_dependencies_in(text))


def _dependencies_in(text: str) -> Iterator[str]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return  # told where the settings are read
    project = _table(document, "project")
    yield from _strings(project.get("dependencies"))
    for name, group in _table(project, "optional-dependencies").items():
        if not _FOR_DEVELOPERS.search(name):
            yield from _strings(group)
    yield from _table(_table(_table(document, "tool"), "poetry"), "dependencies")


def _table(table: dict[str, Any], name: str) -> dict[str, Any]:
    found = table.get(name)
    return found if isinstance(found, dict) else {}


def _strings(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ValueError:  # a module without a spec stands in its place
        return False
