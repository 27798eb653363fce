"""Which files are checked: the named ones, and what lies in the named directories."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from distlint.launch.kinds import kind_of, may_be_of_launch
from distlint.project.modules import View
from distlint.project.naming import escaped, shown_as
from distlint.project.settings import Settings, SettingsTree
from distlint.records import dataclass

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

LEFT_OUT = frozenset(
    {
        ".bzr", ".direnv", ".distlint_cache", ".eggs", ".git", ".hg", ".hypothesis",
        ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pytest_cache", ".pytype", ".ruff_cache",
        ".svn", ".tox", ".venv", ".vscode", "__pycache__", "__pypackages__", "_build",
        "node_modules", "site-packages", "venv", "wandb",
    }
)  # fmt: skip
"""Folders that hold no code of the project. Naming one of them on the command line checks it."""

OUTPUT_FOLDERS = frozenset({"build", "dist"})
"""Left out like LEFT_OUT unless they are packages: some projects have a package of that name."""

PYTHON_SUFFIXES = (".py", ".pyw", ".ipynb")

_BESIDE = "._"
"""How the names of files begin in which macOS keeps what belongs to another file (AppleDouble: RFC 1740), on disks that
have no room for it: ReCo fc55760 ldm/data/._personalized.py."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Work that could not be done: where, why, what to do."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """A file to be checked: its absolute path, how findings name it, and its identity on disk.

    `stamp` is (mtime and ctime in ns, size in bytes, inode): while it is the same, so is the content.
    """

    path: str
    shown: str
    stamp: tuple[int, int, int, int]


@dataclass(slots=True)
class FileSet:
    """The files found, without duplicates and sorted, and what could not be looked at."""

    files: list[ProjectFile] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    known: list[ProjectFile] = field(default_factory=list)
    """Files that are part of what is analysed, and not reported: other names of files found."""
    launch: list[ProjectFile] = field(default_factory=list)
    """Scripts and configurations beside the code that say how it is launched."""
    incomplete: bool = False
    """Whether the search ended at its limit."""

    @property
    def reported(self) -> list[ProjectFile]:
        """What findings may be in: code, scripts and configurations."""
        return [*self.files, *self.launch]


def discover(
    paths: Sequence[str | Path],
    tree: SettingsTree,
    *,
    view: View | None = None,
    limit: int | None = None,
) -> FileSet:
    """The files that `paths` (files and directories) stand for: Python, and how it is launched.

    Files of which `view` has an overlay need not exist.
    With `limit`, the search ends after that many files, or folders: a tree may be large without
    any Python in it.
    """
    found: dict[str, ProjectFile] = {}
    result = FileSet()
    walker = _Walker(tree, result, limit)
    links = walker.links
    view = view or View()
    at_hand = view.overlays
    for named in paths:
        path = os.path.abspath(named)
        if path in at_hand:
            found[path] = ProjectFile(path, shown_as(path), (0, 0, 0, 0))
            continue
        try:
            status = os.stat(path)
        except OSError as error:
            result.problems.append(Problem(escaped(str(named)), _reason(error)))
            continue
        if stat.S_ISDIR(status.st_mode):
            before = len(found)
            for file in walker.walk(path):
                found.setdefault(file.path, file)
                if limit is not None and len(found) > limit:
                    result.incomplete = True
                    break
            nothing = len(found) == before and not walker.launch
            if nothing and not walker.left_out and limit is None:
                problem = Problem(escaped(str(named)), "there is no Python file in this folder")
                if problem not in result.problems:
                    result.problems.append(problem)
        elif tree.of(os.path.dirname(path)).force_exclude and walker.excludes_named(path):
            result.notes.append(f"{escaped(str(named))}: left out by the settings")
        elif not stat.S_ISREG(status.st_mode):
            result.problems.append(Problem(escaped(str(named)), "neither a file nor a folder"))
        elif kind_of(path) is not None:
            walker.launch.append(ProjectFile(path, shown_as(path), _stamp(status)))
        elif not path.endswith(PYTHON_SUFFIXES) and not _is_script(path):
            result.problems.append(
                Problem(escaped(str(named)), "not a Python file (its name does not end in .py)")
            )
        else:
            found[path] = ProjectFile(path, shown_as(path), _stamp(status))
            if os.path.islink(path):
                links.add(path)
    _see(view, [os.path.abspath(path) for path in paths], found, walker)
    result.known = _take_links(found, links, result.notes)
    result.files = sorted(found.values(), key=lambda file: file.shown)
    launch = {file.path: file for file in walker.launch if not view.hides(file.path)}
    result.launch = sorted(launch.values(), key=lambda file: file.shown)
    return result


@dataclass(frozen=True, slots=True)
class Part:
    """The files that follow the same settings, and the `paths` that they were found in."""

    paths: tuple[str, ...]
    files: FileSet
    settings: Settings


def parts_of(
    found: FileSet, paths: Sequence[str], tree: SettingsTree, default: Settings
) -> list[Part]:
    """`found` in the absolute `paths`, in parts of the same settings.

    A part of a monorepo with settings of its own is analysed as if it were named. What lies below it,
    under other settings, is known there. Without any file there is one part, under `default`.
    """
    by_settings: dict[Path | None, tuple[Settings, list[ProjectFile]]] = {}
    for file in found.files:
        settings = tree.of(os.path.dirname(file.path))
        by_settings.setdefault(settings.source, (settings, []))[1].append(file)
    launch: dict[Path | None, list[ProjectFile]] = {}
    for file in found.launch:
        settings = tree.of(os.path.dirname(file.path))
        launch.setdefault(settings.source, []).append(file)
        by_settings.setdefault(settings.source, (settings, []))
    if len(by_settings) <= 1:
        only = next(iter(by_settings.values()))[0] if by_settings else default
        return [Part(tuple(paths), found, only)]
    parts = []
    for settings, files in by_settings.values():
        own = [path for path in paths if tree.of(_directory(path)) is settings]
        root = os.path.abspath(settings.root)
        if settings.source is not None and any(_is_below(root, path) for path in paths):
            own.append(root)
        taken = {file.path for file in files}
        folders = [path for path in own if os.path.isdir(path)]
        known = [
            file
            for file in (*found.known, *found.files)
            if file.path not in taken and any(_is_below(file.path, folder) for folder in folders)
        ]
        beside = launch.get(settings.source, [])
        parts.append(Part(tuple(own), FileSet(files=files, known=known, launch=beside), settings))
    parts[0].files.problems += found.problems
    parts[0].files.notes += found.notes
    return parts


def _directory(path: str) -> str:
    return path if os.path.isdir(path) else os.path.dirname(path)


def _see(view: View, paths: Sequence[str], found: dict[str, ProjectFile], walker: _Walker) -> None:
    """Take out of `found` what the view hides, and add what only the view has."""
    for path in [path for path in found if view.hides(path)]:
        del found[path]
    for path in view.overlays.keys() - found.keys():
        if (
            path.endswith(PYTHON_SUFFIXES)
            and not os.path.lexists(path)
            and any(_is_below(path, top) for top in paths)
            and not walker.excludes_named(path)
        ):
            found[path] = ProjectFile(path, shown_as(path), (0, 0, 0, 0))


def _take_links(
    found: dict[str, ProjectFile], links: set[str], notes: list[str]
) -> list[ProjectFile]:
    """Those of `links` that name a file of `found`, or of another link: they are taken out of it."""
    kept: dict[tuple[int, int, int, int], list[ProjectFile]] = {}
    for path, file in found.items():
        if path not in links:
            kept.setdefault(file.stamp, []).append(file)
    taken = []
    for link in sorted(links & found.keys()):
        file = found[link]
        others = kept.setdefault(file.stamp, [])
        # Names do not tell: a folder above may be a link, too.
        same = [other for other in others if os.path.samefile(link, other.path)]
        if same:
            taken.append(found.pop(link))
            notes.append(f"{file.shown}: a link to {same[0].shown}, where it is reported")
        else:
            others.append(file)
    return taken


def leads_outside(path: str, root: str) -> bool:
    """Whether a link on the way to the file `path` leads out of the folder `root`.

    A checkout may bring a link to any file of the user's.
    """
    real, home = os.path.realpath(path), os.path.realpath(root)
    if _is_below(real, home):
        return False
    return os.path.islink(path) or _is_below(os.path.abspath(path), os.path.abspath(root))


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(os.path.join(folder, ""))


_GitIgnores = tuple[tuple[str, "GitIgnoreSpec"], ...]


class _Walker:
    """Walks directories, leaving out what the settings and .gitignore files leave out.

    What is in a directory is left out by the settings for that directory.
    """

    def __init__(self, tree: SettingsTree, result: FileSet, limit: int | None) -> None:
        self._tree = tree
        self._limit = limit
        self._result = result
        self.left_out = False
        self.links: set[str] = set()
        """The files found that are links."""
        self.launch: list[ProjectFile] = []
        """What says how the code is launched; a link there is not followed."""
        self._specs: dict[tuple[Path, tuple[str, ...]], GitIgnoreSpec] = {}

    def walk(self, top: str) -> Iterator[ProjectFile]:
        """Every Python file below the directory `top`, which is looked at whatever its name."""
        self.left_out = False
        stack = [(top, shown_as(top), self._specs_above(top))]
        looked_at = 0
        while stack:
            looked_at += 1
            if self._limit is not None and looked_at > self._limit:
                self._result.incomplete = True
                return
            directory, shown, specs = stack.pop()
            try:
                entries = list(os.scandir(directory))
            except FileNotFoundError:
                self._result.notes.append(f"{shown}: gone while it was looked at")
                continue
            except OSError as error:
                self._result.problems.append(Problem(shown, _reason(error)))
                continue
            prefix = "" if shown == "." else shown + "/"
            names = {entry.name for entry in entries}
            settings = self._tree.enter(directory, names)
            if ".gitignore" in names:
                specs = (*specs, *_read_spec(directory))
            for entry in entries:
                name = entry.name
                python = name.endswith(PYTHON_SUFFIXES) and not name.startswith(_BESIDE)
                is_directory = not python and entry.is_dir(follow_symlinks=False)
                launch = (
                    not python
                    and not is_directory
                    and may_be_of_launch(name)
                    and kind_of(name) is not None
                    and not entry.is_symlink()
                )
                if not python and not is_directory and not launch:
                    if entry.is_symlink() and entry.is_dir():
                        self._result.notes.append(
                            f"{prefix}{escaped(name)}: a link to a folder, not followed"
                        )
                    continue
                if self._excludes(entry.path, is_directory, settings, specs):
                    self.left_out = True
                    continue
                if is_directory:
                    stack.append((entry.path, prefix + escaped(name), specs))
                    continue
                named = prefix + escaped(name)
                try:
                    status = entry.stat()
                except OSError as error:
                    # Editors lock a file with a link to nowhere beside it (`.#train.py`).
                    if error.errno in (errno.ENOENT, errno.ELOOP):
                        what = "a link to nowhere" if entry.is_symlink() else "gone"
                        self._result.notes.append(f"{named}: {what}, left out")
                    else:
                        self._result.problems.append(Problem(named, _reason(error)))
                    continue
                if stat.S_ISDIR(status.st_mode):
                    if not entry.is_symlink():
                        stack.append((entry.path, named, specs))
                elif stat.S_ISREG(status.st_mode):
                    if launch:
                        self.launch.append(ProjectFile(entry.path, named, _stamp(status)))
                        continue
                    if entry.is_symlink():
                        self.links.add(entry.path)
                    yield ProjectFile(entry.path, named, _stamp(status))

    def excludes_named(self, path: str) -> bool:
        """Whether a walk from the root of the outermost settings would leave out the file `path`."""
        top = self._tree.outermost_root(os.path.dirname(path))
        relative = os.path.relpath(path, top)
        if relative.startswith(os.pardir):
            return False
        current, parts = top, relative.split(os.sep)
        specs = self._specs_above(top)
        for index, part in enumerate(parts):
            settings = self._tree.of(current)
            specs = (*specs, *_read_spec(current))
            current = os.path.join(current, part)
            if self._excludes(current, index + 1 < len(parts), settings, specs):
                return True
        return False

    def _excludes(
        self, path: str, is_directory: bool, settings: Settings, specs: _GitIgnores
    ) -> bool:
        name = os.path.basename(path)
        if is_directory:
            if name in LEFT_OUT or name.endswith(".egg-info"):
                return True
            if name in OUTPUT_FOLDERS and not os.path.isfile(os.path.join(path, "__init__.py")):
                return True
            if os.path.isfile(os.path.join(path, "pyvenv.cfg")):
                return True
        for root, patterns in (
            (settings.root_of("exclude"), settings.exclude),
            (self._tree.here, self._tree.exclude),
        ):
            if patterns and _matches(self._spec(root, patterns), str(root), path, is_directory):
                return True
        if not settings.respect_gitignore:
            return False
        # The nearest .gitignore that says anything about the path decides.
        for base, spec in reversed(specs):
            verdict = spec.check_file(_relative(base, path, is_directory)).include
            if verdict is not None:
                return verdict
        return False

    def _spec(self, root: Path, patterns: tuple[str, ...]) -> GitIgnoreSpec:
        key = (root, patterns)
        if key not in self._specs:
            self._specs[key] = _spec(patterns)
        return self._specs[key]

    def _specs_above(self, top: str) -> _GitIgnores:
        """The .gitignore files above `top`, outermost first, up to the root of the repository."""
        chain: list[str] = []
        directory = top
        while not os.path.exists(os.path.join(directory, ".git")):
            parent = os.path.dirname(directory)
            if parent == directory:
                return ()  # not a git repository: files above do not apply
            chain.append(parent)
            directory = parent
        specs: list[tuple[str, GitIgnoreSpec]] = []
        for directory in reversed(chain):
            specs.extend(_read_spec(directory))
        # What the user names is wanted, even where a file above ignores it.
        return tuple((base, spec) for base, spec in specs if not _matches(spec, base, top, True))


def _read_spec(directory: str) -> list[tuple[str, GitIgnoreSpec]]:
    path = os.path.join(directory, ".gitignore")
    try:
        # As git: a link is not followed. It might lead to a device without an end.
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return []
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:  # absent, or unreadable: git itself goes on without it
        return []
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    return [(directory, _spec(lines))] if lines else []


def _spec(patterns: Sequence[str]) -> GitIgnoreSpec:
    import pathspec  # 20 ms that a project without patterns need not pay

    return pathspec.GitIgnoreSpec.from_lines(patterns)


def matches_patterns(patterns: Sequence[str], root: str, path: str) -> bool:
    """Whether the absolute `path` of a file fits one of the .gitignore-like `patterns` of `root`."""
    return _matches(_spec(patterns), root, path, False)


def _matches(spec: GitIgnoreSpec, base: str, path: str, is_directory: bool) -> bool:
    relative = _relative(base, path, is_directory)
    return not relative.startswith("../") and spec.match_file(relative)


def _relative(base: str, path: str, is_directory: bool) -> str:
    prefix = base if base.endswith(os.sep) else base + os.sep
    relative = path[len(prefix) :] if path.startswith(prefix) else os.path.relpath(path, base)
    relative = relative.replace(os.sep, "/")
    return relative + "/" if is_directory else relative


def _is_script(path: str) -> bool:
    """Whether a file without a suffix starts with a `#!` line that names Python."""
    if os.path.splitext(path)[1]:
        return False
    try:
        with open(path, "rb") as file:
            first = file.readline(200)
    except OSError:  # said when it is read
        return True
    return first.startswith(b"#!") and b"python" in first


def _stamp(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _reason(error: OSError) -> str:
    match error:
        case FileNotFoundError():
            return "no such file or folder"
        case PermissionError():
            return "cannot be read: permission denied"
        case _:
            return f"cannot be read: {(error.strerror or str(error)).lower()}"
