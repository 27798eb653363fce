"""What the files of a git repository held at a revision, read from its objects alone.

A checkout may be hostile, its `.git/config` included, and git runs what that names: hooks, file
system monitors, filters, diff drivers, transports. So only plumbing that reads objects is called,
without a shell; nothing that looks at the working tree, and nothing may be fetched.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from pathlib import Path

from distlint.launch.kinds import is_data, kind_of
from distlint.project.files import PYTHON_SUFFIXES
from distlint.project.naming import escaped, shown_as
from distlint.project.reading import SIZE_LIMIT
from distlint.records import dataclass

_OPTIONS = (
    "--no-pager",
    "--no-replace-objects",
    "--literal-pathspecs",
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "protocol.allow=never"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "diff.orderFile="),
)

_ENVIRONMENT = {
    # A partial clone fetches objects that are missing, with a transport that its configuration
    # names. This goes before anything that a configuration allows.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}

_KEPT = ("GIT_EXEC_PATH", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM")
"""Variables of git that stay, besides GIT_CONFIG_*: a hook sets others, which aim git elsewhere."""

_LINK, _SUBMODULE = "120000", "160000"


class RevisionError(Exception):
    """Why a revision cannot be compared with, in one line."""


@dataclass(slots=True)
class Base:
    """Python files as they were: absolute paths, in all repositories and submodules of a run.

    `overlays` holds the content of those that differ now or are gone, `tracked` all there were;
    `renamed` leads from the name of now to that of then. Outside of `tops` nothing is known.
    """

    overlays: dict[str, bytes] = field(default_factory=dict)
    tracked: set[str] = field(default_factory=set)
    renamed: dict[str, str] = field(default_factory=dict)
    tops: list[str] = field(default_factory=list)

    def hides(self, path: str) -> bool:
        """Whether the file at the absolute `path` was not there."""
        return path not in self.tracked and any(path.startswith(top) for top in self.tops)


def base_of(revision: str, directories: Iterable[str], current: Mapping[str, bytes]) -> Base:
    """The files where the branch in each of `directories` left `revision`: at their merge base.

    `current` are contents, by absolute path, that count instead of what is on disk.
    Raises RevisionError.
    """
    if revision.startswith("-") or not revision:
        raise RevisionError(f"--diff: `{escaped(revision)}` is no revision")
    base = Base()
    for directory in directories:
        if any(os.path.join(directory, "").startswith(top) for top in base.tops):
            continue
        repository = _Repository.around(directory)
        _add(base, repository, repository.merge_base(revision), current)
    return base


def _add(base: Base, repository: _Repository, commit: str, current: Mapping[str, bytes]) -> None:
    """Put the files of a commit of `repository` into `base`."""
    base.tops.append(os.path.join(repository.top, ""))
    wanted: dict[str, str] = {}
    blobs: dict[str, str] = {}
    for mode, name, path in repository.tree(commit):
        if mode == _SUBMODULE:
            if os.path.lexists(os.path.join(path, ".git")):
                _add(base, _Repository.around(path), name, current)
        elif mode != _LINK and _is_read(path):
            base.tracked.add(path)
            blobs[path] = name
            content = current.get(path)
            if content is not None or _blob_name(_read(path), name) != name:
                wanted[path] = name
    scripts = [path for path in wanted if "." not in Path(path).name]
    for path in scripts:  # only what is named is checked: one that is gone matters to nobody
        if not os.path.isfile(path):
            del wanted[path]
    contents = repository.contents(wanted.values())
    base.overlays.update(
        (path, contents[name]) for path, name in wanted.items() if name in contents
    )
    gone = {path for path in wanted if not os.path.lexists(path) and path not in current}
    for new, old in repository.renames(commit):
        if old in gone and new not in base.tracked:
            base.renamed[new] = old


def _is_read(path: str) -> bool:
    """Whether a file of the repository may be one that is checked: code, a script, a configuration."""
    name = os.path.basename(path)
    if path.endswith(PYTHON_SUFFIXES) or "." not in name:
        return True
    if kind_of(name) is None:
        return False
    try:
        return not is_data(name, os.path.getsize(path))
    except OSError:  # gone since then
        return True


class _Repository:
    """One git repository; every method runs git once."""

    def __init__(self, git: str, top: str) -> None:
        self._git = git
        self.top = top

    @classmethod
    def around(cls, directory: str) -> _Repository:
        """The repository that the absolute `directory` belongs to."""
        git = shutil.which("git")
        if git is None or not os.path.isabs(git):  # never the `git` that lies in a checkout
            raise RevisionError("--diff needs git, which is not installed")
        top = os.fsdecode(cls(git, directory)._run("rev-parse", "--show-toplevel")).rstrip("\n")
        if not os.path.join(os.path.realpath(directory), "").startswith(os.path.join(top, "")):
            raise RevisionError(f"{shown_as(directory)}: its repository says that it is elsewhere")
        # Paths are compared as they were named, and git tells the real ones.
        up = os.path.relpath(os.path.realpath(directory), top)
        named = directory if up == "." else directory.removesuffix(os.sep + up)
        if os.path.realpath(named) != top:
            raise RevisionError(f"{shown_as(directory)}: name it without links, for --diff")
        return cls(git, named)

    def merge_base(self, revision: str) -> str:
        """The commit at which HEAD left `revision`; that one itself where they share none."""
        commit = self._name(f"{revision}^{{commit}}")
        if commit is None:
            where = shown_as(self.top)
            raise RevisionError(f"--diff: {where} has no revision `{escaped(revision)}`")
        if self._name("HEAD^{commit}") is None:
            return commit
        return self._run("merge-base", commit, "HEAD", fails=True).decode().strip() or commit

    def tree(self, commit: str) -> list[tuple[str, str, str]]:
        """Mode, object name and absolute path of all files of a commit."""
        rows = []
        for row in self._run("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
            head, _, path = row.partition(b"\t")
            if path:
                mode, _, name = head.decode().split()
                rows.append((mode, name, self._absolute(path)))
        return rows

    def renames(self, commit: str) -> list[tuple[str, str]]:
        """New and old absolute path of the files that HEAD holds under another name."""
        if self._name("HEAD^{commit}") is None:
            return []
        options = ("-r", "-z", "-M", "--raw", "--diff-filter=R", "--no-ext-diff", "--no-textconv")
        fields = self._run("diff-tree", *options, commit, "HEAD").split(b"\0")
        # Each row: modes, names and score; the old path; the new one.
        pairs = zip(fields[1::3], fields[2::3], strict=False)
        return [(self._absolute(new), self._absolute(old)) for old, new in pairs]

    def contents(self, names: Iterable[str]) -> dict[str, bytes]:
        """The blobs of these object names, without those too large to be checked."""
        wanted = "".join(f"{name}\n" for name in sorted(set(names))).encode()
        chosen = []
        for row in self._run("cat-file", "--batch-check", stdin=wanted).decode().splitlines():
            name, kind, *size = row.split()
            if kind == "missing":
                raise RevisionError(
                    f"--diff: object {name} is not in this clone; fetch the whole history of the "
                    "revision first"
                )
            if int(size[0]) <= SIZE_LIMIT:
                chosen.append(f"{name}\n")
        data = self._run("cat-file", "--batch", stdin="".join(chosen).encode())
        found: dict[str, bytes] = {}
        at = 0
        while at < len(data):
            end = data.index(b"\n", at)
            name, _, length = data[at:end].decode().split()
            found[name] = data[end + 1 : end + 1 + int(length)]
            at = end + 1 + int(length) + 1
        return found

    def _name(self, revision: str) -> str | None:
        """The object name of a revision."""
        found = self._run("rev-parse", "--verify", "--quiet", revision, fails=True)
        return found.decode().strip() or None

    def _absolute(self, path: bytes) -> str:
        return os.path.join(self.top, os.fsdecode(path).replace("/", os.sep))

    def _run(self, *arguments: str, stdin: bytes = b"", fails: bool = False) -> bytes:
        """What git prints. Where it `fails`, nothing."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("GIT_") or name in _KEPT or name.startswith("GIT_CONFIG_")
        }
        done = subprocess.run(
            [self._git, *_OPTIONS, "-C", self.top, *arguments],
            input=stdin,
            capture_output=True,
            env={**kept, **_ENVIRONMENT},
            check=False,
        )
        if done.returncode == 0:
            return done.stdout
        if fails and done.returncode == 1:
            return b""
        said = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
        if "not a git repository" in said:
            said = "not in a git repository, which --diff needs"
        raise RevisionError(f"{shown_as(self.top)}: {escaped(said.removeprefix('fatal: '))}")


def _read(path: str) -> bytes | None:
    """The content of a regular file; None where there is none, or it is too large to be checked."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > SIZE_LIMIT:
            return None
        return Path(path).read_bytes()
    except OSError:  # said where it is checked
        return None


_HASHES: dict[int, Callable[[bytes], str]] = {
    40: lambda data: hashlib.sha1(data, usedforsecurity=False).hexdigest(),
    64: lambda data: hashlib.sha256(data).hexdigest(),
}


def _blob_name(data: bytes | None, like: str) -> str | None:
    """The name that git gives to a file with this content, in a repository with names `like` this."""
    return None if data is None else _HASHES[len(like)](b"blob %d\0" % len(data) + data)
