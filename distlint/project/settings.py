"""Settings: `[tool.distlint]` of pyproject.toml, or distlint.toml, the nearest upwards."""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import field, fields, replace
from pathlib import Path
from typing import Any

from distlint.columns import byte_column, split_lines
from distlint.project.naming import escaped
from distlint.project.toml_places import KEY, Key, offset_of
from distlint.records import dataclass

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

RANK_KINDS = ("rank", "local_rank", "is_main", "is_local_main", "is_last", "world_size")
"""What a rank test of a project's own may tell (kinds of `distlint.knowledge.ranks`)."""
OUTPUT_FORMATS = ("text", "concise", "json", "sarif", "github", "gitlab", "junit")


@dataclass(frozen=True, slots=True)
class Fault:
    """A setting that distlint cannot follow: where it stands, what to do instead.

    `line` counts from 1, `column` from 0 in UTF-8 bytes.
    """

    source: Path
    line: int
    column: int
    reason: str


class SettingsError(Exception):
    """All the faults of a file of settings, in the order in which they stand there.

    `rest` are its settings without those at fault, where that much can be read.
    """

    def __init__(self, faults: Iterable[Fault], rest: Settings | None = None) -> None:
        self.faults = tuple(faults)
        self.rest = rest
        super().__init__("; ".join(f"{f.source}:{f.line}: {f.reason}" for f in self.faults))


@dataclass(frozen=True, slots=True)
class Settings:
    """What a project asks for. Field names are the keys, with `-` for `_`.

    `source` is the file the settings came from, None for the defaults, and `root` its directory.
    `origins` tells for each key the file where it is set: that, or one it extends.
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
    fix_style: str = "auto"
    """How fixes are written: `runtime` with the bundled functions, `native` with what is in scope.

    `auto`: `runtime` where they are there when the code runs (`distlint.project.styles`).
    """
    collectives: tuple[str, ...] = ()
    """The project's own collectives: dotted names, or `.method` for a method of any object."""
    rank_predicates: Mapping[str, str] = field(default_factory=dict)
    """The project's own rank tests: dotted name or `.attribute` to its kind (RANK_KINDS)."""
    output_format: str = "text"
    unsafe_fixes: bool = False
    """Whether `distlint fix` applies unsafe fixes too."""
    extend: str | None = None
    """A file of settings that apply where these say nothing."""
    root: Path = field(default_factory=Path)
    source: Path | None = None
    origins: Mapping[str, Path] = field(default_factory=dict)

    def overridden(self, **values: Any) -> Settings:
        """These settings with the `values` that are not None."""
        return replace(self, **{key: value for key, value in values.items() if value is not None})

    def root_of(self, key: str) -> Path:
        """The directory that paths and patterns in the value of `key` are relative to."""
        origin = self.origins.get(key)
        return self.root if origin is None else origin.parent

    def fault(self, at: Key, reason: str) -> Fault:
        """What is wrong with the setting at `at` (a key, and where in its value)."""
        source = self.origins[str(at[0])]
        return _fault(source, source.read_text(encoding="utf-8"), at, reason)

    def items(self) -> Iterator[tuple[str, Any]]:
        """Keys and values, as they are written in a file."""
        for key in _KEYS:
            yield key, getattr(self, key.replace("-", "_"))


_KEYS = tuple(
    entry.name.replace("_", "-")
    for entry in fields(Settings)
    if entry.name not in ("root", "source", "origins")
)

FIX_STYLES = ("auto", "runtime", "native")
"""The values of `fix-style`."""

NAMES = ("distlint.toml", "pyproject.toml")
"""Where settings are looked for in a directory, the first that has any."""


class SettingsTree:
    """The settings of each directory: those nearest upwards, each file read once.

    `default` is for directories without any, `fixed` for all. `override` puts in what the command
    line says. `exclude` are patterns of the command line, relative to the working directory.
    """

    def __init__(
        self,
        default: Settings,
        *,
        fixed: Settings | None = None,
        override: Callable[[Settings], Settings] = lambda settings: settings,
        exclude: tuple[str, ...] = (),
    ) -> None:
        self.default = override(default)
        self.here = Path.cwd()
        self.exclude = exclude
        self.faults: list[Fault] = []
        self.read: list[Settings] = [] if fixed is None else [fixed]
        """What was found so far."""
        self._fixed = None if fixed is None else override(fixed)
        self._override = override
        self._known: dict[str, Settings] = {}

    def of(self, directory: str) -> Settings:
        """The settings for what lies in the absolute `directory`."""
        return self._look(directory, None)

    def enter(self, directory: str, names: Container[str]) -> Settings:
        """The same, where the `names` in it are at hand."""
        return self._look(directory, names)

    def outermost_root(self, directory: str) -> str:
        """The highest root of settings above the absolute `directory`."""
        root = self.of(directory).root
        for above in Path(directory).parents:
            settings = self.of(str(above))
            if settings.source is not None:
                root = settings.root
        return os.path.abspath(root)

    def _look(self, directory: str, names: Container[str] | None) -> Settings:
        if self._fixed is not None:
            return self._fixed
        found = self._known.get(directory)
        if found is None:
            own = self._own(directory, names)
            parent = os.path.dirname(directory)
            if own is not None:
                found = own
            else:
                found = self.default if parent == directory else self._look(parent, None)
            self._known[directory] = found
        return found

    def _own(self, directory: str, names: Container[str] | None) -> Settings | None:
        for name in NAMES:
            path = Path(directory, name)
            if (name in names) if names is not None else path.is_file():
                try:
                    settings = read_settings(path) if path.is_file() else None
                except SettingsError as error:
                    self.faults += error.faults
                    self.read += [] if error.rest is None else [error.rest]
                    return self.default
                if settings is not None:
                    self.read.append(settings)
                    return self._override(settings)
        return None


def read_settings(path: Path, extended_by: tuple[Path, ...] = ()) -> Settings | None:
    """The settings in one file; None for a pyproject.toml without them.

    `extended_by` are the files on the way here. Raises SettingsError.
    """
    try:
        data = path.read_bytes()
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = (
            data.count(b"\n", 0, error.start),
            error.start - data.rfind(b"\n", 0, error.start) - 1,
        )
        reason = "the file is not UTF-8, which TOML requires"
        raise SettingsError([Fault(path, line + 1, column, reason)]) from None
    except OSError as error:
        raise SettingsError([Fault(path, 1, 0, f"cannot be read: {error.strerror}")]) from None
    own_file = path.name != "pyproject.toml"
    if not own_file and "distlint" not in text:
        return None
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError([_not_toml(path, text, str(error))]) from None
    table = document
    if not own_file:
        tool = document.get("tool", {})
        table = tool.get("distlint") if isinstance(tool, dict) else None
        if table is None:
            return None
        if not isinstance(table, dict):
            reason = "`tool.distlint` must be a table"
            raise SettingsError([_fault(path, text, (), reason)])
    problems = list(_problems(table))
    faults = [_fault(path, text, at, reason) for at, reason in problems]
    base = Settings()
    extend = table.get("extend")
    if isinstance(extend, str) and extend:
        try:
            base = _extended(path, text, extend, extended_by)
        except SettingsError as error:
            faults += error.faults
    right = _without(table, [at for at, _ in problems])
    settings = replace(
        base,
        **{key.replace("-", "_"): _converted(key, value) for key, value in right.items()},
        root=path.parent,
        source=path,
        origins={**base.origins, **dict.fromkeys(right, path)},
    )
    if faults:
        faults.sort(key=lambda fault: (fault.source != path, fault.line, fault.column))
        raise SettingsError(faults, settings)
    return settings


def _without(table: Mapping[str, Any], wrong: Iterable[Key]) -> dict[str, Any]:
    """`table` without what is at the places `wrong`: single rows of tables, else whole settings."""
    right = dict(table)
    for key, *rest in wrong:
        value = right.get(str(key))
        if isinstance(value, dict) and rest:
            right[str(key)] = {name: row for name, row in value.items() if name != rest[0]}
        else:
            right.pop(str(key), None)
    return right


def _extended(path: Path, text: str, extend: str, extended_by: tuple[Path, ...]) -> Settings:
    """The settings that those in the file at `path` extend. Raises SettingsError."""
    target = Path(os.path.normpath(path.parent / extend))
    chain = (*extended_by, path)

    def refused(reason: str) -> SettingsError:
        return SettingsError([_fault(path, text, ("extend",), f"`extend`: {reason}")])

    if target in chain:
        raise refused(f"{shown_path(target)} leads back to this file")
    if not target.is_file():
        raise refused(f"{shown_path(target)} is not a file")
    try:
        settings = read_settings(target, chain)
    except SettingsError as error:
        if target.name in NAMES:
            raise
        # It may be any file of the user's that a checkout points to: its lines are not shown.
        first = error.faults[0]
        where = f"{shown_path(first.source)}:{first.line}:{first.column + 1}"
        raise refused(f"{where}: {first.reason}") from None
    if settings is None:
        raise refused(f"{shown_path(target)} has no [tool.distlint] table")
    return settings


def _not_toml(path: Path, text: str, message: str) -> Fault:
    found = re.search(r" \(at line (\d+), column (\d+)\)", message)
    lines = split_lines(text)
    if found is None:  # at the end of the document
        line, column = len(lines), len(lines[-1])
        message = message.removesuffix(" (at end of document)")
    else:
        line, column = int(found[1]), int(found[2]) - 1
        message = message.replace(found[0], "")
    at = byte_column(lines[line - 1], column) if line <= len(lines) else 0
    return Fault(path, line, at, f"not valid TOML: {message}")


def _fault(path: Path, text: str, at: Key, reason: str) -> Fault:
    """The fault at a key of the distlint table of `text`: at its value, or that of its nearest parent."""
    table: Key = ("tool", "distlint") if path.name == "pyproject.toml" else ()
    offset = offset_of((*table, *at), text)
    line = text.count("\n", 0, offset) + 1
    start = text.rfind("\n", 0, offset) + 1
    return Fault(path, line, len(text[start:offset].encode()), reason)


def _problems(table: Mapping[str, Any]) -> Iterator[tuple[Key, str]]:
    """What is wrong in a table of settings, and where."""
    for key, value in table.items():
        if key not in _KEYS:
            yield (key, KEY), f"unknown key `{key}`{_nearest(key, _KEYS)}"
            continue
        for at, reason in _problems_of(key, value):
            yield (key, *at), f"`{key}` {reason}"


def _problems_of(key: str, value: Any) -> Iterator[tuple[Key, str]]:
    match key:
        case "select" | "ignore" | "exclude":
            yield from _not_strings(value)
        case "collectives":
            yield from _not_strings(value)
            if isinstance(value, list):
                yield from (
                    ((index,), _NOT_A_ROW.format(name))
                    for index, name in enumerate(value)
                    if isinstance(name, str) and not _is_row(name)
                )
        case "rank-predicates":
            if not isinstance(value, dict):
                yield (), 'must be a table, as in { "mylib.is_chief" = "is_main" }'
                return
            for name, kind in value.items():
                if not _is_row(name):
                    yield (name, KEY), _NOT_A_ROW.format(name)
                if kind not in RANK_KINDS:
                    yield (name,), f"has the kind {kind!r}{_nearest(str(kind), RANK_KINDS)}"
        case "per-file-ignores":
            if not isinstance(value, dict):
                yield (), 'must be a table of patterns, as in { "tests/*" = ["DL301"] }'
                return
            for pattern, codes in value.items():
                for at, reason in _not_strings(codes):
                    yield (pattern, *at), f'["{pattern}"] {reason}'
        case "output-format" | "fix-style":
            known = OUTPUT_FORMATS if key == "output-format" else FIX_STYLES
            if value not in known:
                yield (), f"must be one of {', '.join(known)}{_nearest(str(value), known)}"
        case "baseline" | "runtime-module" | "extend":
            if not isinstance(value, str) or not value:
                yield (), "must be a string"
            elif key == "runtime-module" and not all(p.isidentifier() for p in value.split(".")):
                yield (), f"must be the dotted name of a module, not {value!r}"
        case _:
            if not isinstance(value, bool):
                yield (), "must be true or false"


def _not_strings(value: Any) -> Iterator[tuple[Key, str]]:
    if not isinstance(value, list):
        yield (), "must be a list of strings"
        return
    for index, item in enumerate(value):
        if not isinstance(item, str):
            yield (index,), f"must be a list of strings, and {item!r} is none"


_NOT_A_ROW = 'must name a function ("mylib.sync") or method (".sync"), not {!r}'


def _is_row(name: str) -> bool:
    return all(part.isidentifier() for part in name.removeprefix(".").split("."))


def _converted(key: str, value: Any) -> Any:
    """A value without problems as Settings holds it."""
    if isinstance(value, list):
        return tuple(value)
    if key == "per-file-ignores":
        return {pattern: tuple(codes) for pattern, codes in value.items()}
    return value


def _nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean …?`, or the list of what is known."""
    candidates = list(known)
    folded = word.replace("_", "-").lower()
    close = difflib.get_close_matches(folded, candidates, n=1, cutoff=0.5)
    if close:
        return f"; did you mean `{close[0]}`?"
    return f"; known are {', '.join(f'`{name}`' for name in candidates)}"


def shown_path(path: Path) -> str:
    """`path` relative to the working directory where it lies below it, else as it is."""
    try:
        return escaped(path.resolve().relative_to(Path.cwd()).as_posix())
    except ValueError:
        return escaped(path.as_posix())
