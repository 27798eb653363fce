"""Settings: `[tool.distlint]` of pyproject.toml, or distlint.toml, the nearest upwards."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RANK_KINDS = ("rank", "local_rank", "is_main", "is_local_main", "is_last", "world_size")
"""What a rank test of a project's own may tell (kinds of `distlint.knowledge.ranks`)."""
OUTPUT_FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")


class SettingsError(Exception):
    """A setting that distlint cannot follow: where it stands (line from 1), what to do instead."""

    def __init__(self, path: str, line: int, reason: str) -> None:
        super().__init__(f"{path}:{line}: {reason}")
        self.path = path
        self.line = line
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Settings:
    """What a project asks for. Field names are the keys, with `-` for `_`.

    `source` is the file the settings came from, None for the defaults; `root` is the directory that
    `exclude`, `per-file-ignores` and `baseline` are relative to.
    """

    select: tuple[str, ...] = ()
    """Codes, prefixes or names of rules to run; empty: all stable rules above INFO."""
    ignore: tuple[str, ...] = ()
    """Codes, prefixes or names of rules not to run."""
    preview: bool = False
    """Run preview rules too."""
    exclude: tuple[str, ...] = ()
    """Patterns, as in .gitignore, of what is left out in addition to the usual folders."""
    force_exclude: bool = False
    """Leave excluded files out even when they are named one by one, as pre-commit does."""
    respect_gitignore: bool = True
    """Leave out what .gitignore files leave out."""
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Pattern to codes: rules whose findings are dropped in the files that match."""
    baseline: str | None = None
    """A file with the fingerprints of findings that are accepted."""
    runtime_module: str = "distlint.runtime"
    """The module that fixed code imports; another one after `distlint vendor`."""
    collectives: tuple[str, ...] = ()
    """The project's own collectives: dotted names, or `.method` for a method of any object."""
    rank_predicates: Mapping[str, str] = field(default_factory=dict)
    """The project's own rank tests: dotted name or `.attribute` to its kind (RANK_KINDS)."""
    output_format: str = "text"
    unsafe_fixes: bool = False
    """Whether `distlint fix` applies unsafe fixes too."""
    root: Path = field(default_factory=Path)
    source: Path | None = None

    def overridden(self, **values: Any) -> Settings:
        """These settings with the `values` that are not None."""
        return replace(self, **{key: value for key, value in values.items() if value is not None})

    def error(self, key: str, reason: str) -> SettingsError:
        """The error that says what is wrong with the value of `key` in the file of these settings."""
        assert self.source is not None
        text = self.source.read_text(encoding="utf-8")
        return SettingsError(shown_path(self.source), _line_of(key, text), reason)


_KEYS = tuple(
    entry.name.replace("_", "-")
    for entry in fields(Settings)
    if entry.name not in ("root", "source")
)


def find_settings(start: Path, *, root: Path) -> Settings:
    """The settings for what lies in the directory `start`; `root` is their root where there are none.

    The nearest distlint.toml, or pyproject.toml with a `[tool.distlint]` table, upwards.
    Raises SettingsError.
    """
    for directory in (start, *start.parents):
        for name in ("distlint.toml", "pyproject.toml"):
            path = directory / name
            if not path.is_file():
                continue
            settings = read_settings(path)
            if settings is not None:
                return settings
    return Settings(root=root)


def read_settings(path: Path) -> Settings | None:
    """The settings in one file; None for a pyproject.toml without them. Raises SettingsError."""
    shown = shown_path(path)
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise SettingsError(shown, 1, "the file is not UTF-8, which TOML requires") from None
    except OSError as error:
        raise SettingsError(shown, 1, f"cannot be read: {error.strerror}") from None
    own_file = path.name != "pyproject.toml"
    if not own_file and "distlint" not in text:
        return None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+)", str(error))
        line = int(found.group(1)) if found else text.count("\n") + 1
        raise SettingsError(shown, line, f"not valid TOML: {error}") from None
    tool = document if own_file else document.get("tool", {})
    table = tool if own_file else tool.get("distlint")
    if table is None:
        return None
    if not isinstance(table, dict):
        line = _line_of("distlint", text)
        raise SettingsError(shown, line, "`tool.distlint` must be a table")
    return _from_table(table, text, shown, path)


def _from_table(table: dict[str, Any], text: str, shown: str, path: Path) -> Settings:
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _KEYS:
            raise SettingsError(
                shown, _line_of(key, text), f"unknown key `{key}`{_nearest(key, _KEYS)}"
            )
        try:
            values[key.replace("-", "_")] = _checked(key, value)
        except ValueError as error:
            raise SettingsError(shown, _line_of(key, text), f"`{key}` {error}") from None
    return Settings(**values, root=path.parent, source=path)


def _checked(key: str, value: Any) -> Any:
    match key:
        case "select" | "ignore" | "exclude":
            return _strings(value)
        case "collectives":
            return tuple(_row_name(name) for name in _strings(value))
        case "rank-predicates":
            if not isinstance(value, dict):
                raise ValueError('must be a table, as in { "mylib.is_chief" = "is_main" }')
            for kind in value.values():
                if kind not in RANK_KINDS:
                    hint = _nearest(str(kind), RANK_KINDS)
                    raise ValueError(f"has the kind {kind!r}{hint}")
            return {_row_name(name): kind for name, kind in value.items()}
        case "per-file-ignores":
            if not isinstance(value, dict):
                raise ValueError('must be a table of patterns, as in { "tests/*" = ["DL301"] }')
            return {pattern: _strings(codes, f'["{pattern}"] ') for pattern, codes in value.items()}
        case "output-format":
            if value not in OUTPUT_FORMATS:
                hint = _nearest(str(value), OUTPUT_FORMATS)
                raise ValueError(f"must be one of {', '.join(OUTPUT_FORMATS)}{hint}")
            return value
        case "baseline" | "runtime-module":
            if not isinstance(value, str) or not value:
                raise ValueError("must be a string")
            if key == "runtime-module" and not all(p.isidentifier() for p in value.split(".")):
                raise ValueError(f"must be the dotted name of a module, not {value!r}")
            return value
        case _:
            if not isinstance(value, bool):
                raise ValueError("must be true or false")
            return value


def _strings(value: Any, where: str = "") -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"{where}must be a list of strings")
    return tuple(value)


def _row_name(name: str) -> str:
    if not all(part.isidentifier() for part in name.removeprefix(".").split(".")):
        raise ValueError(f'must name a function ("mylib.sync") or method (".sync"), not {name!r}')
    return name


def _nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?`, or the list of what is known."""
    candidates = list(known)
    folded = word.replace("_", "-").lower()
    close = difflib.get_close_matches(folded, candidates, n=1, cutoff=0.5)
    if close:
        return f"; did you mean `{close[0]}`?"
    return f"; known are {', '.join(f'`{name}`' for name in candidates)}"


def _line_of(key: str, text: str) -> int:
    """The line on which `key` is set: the first one after the distlint table opens, from 1."""
    pattern = re.compile(rf"""^\s*(?:\[.*\b)?["']?{re.escape(key)}["']?\s*[\].=]""")
    inside = False
    fallback = 1
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r"\s*\[\s*tool\s*\.\s*distlint\b", line):
            inside = True
            fallback = number
        if pattern.match(line) and (inside or "tool" not in text):
            return number
    return fallback


def shown_path(path: Path) -> str:
    """`path` relative to the working directory where it lies below it, else as it is."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()
