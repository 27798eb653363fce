"""The cache: what files hold, by their stamps, and whole results, by what they depend on.

It lies in the user's cache folder, never in the checkout, which may be hostile; each project has a
folder there. An entry that is damaged, or of another version, is passed over and written anew; every
write replaces a file as a whole, so that runs at the same time do not disturb each other. A folder
that cannot be used means that there is no cache, never that the work is not done.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import distlint
from distlint.edits import Edit, Span
from distlint.findings import (
    Applicability,
    Finding,
    Fix,
    Place,
    Related,
    Severity,
    Witness,
    WitnessStep,
)
from distlint.patterns import pattern
from distlint.records import dataclass

VARIABLE = "DISTLINT_CACHE_DIR"
"""The environment variable that names another folder."""

ENTRIES_KEPT = 32
"""Entries of a project; those used longest ago go first."""

PROJECT_BYTES = 64 * 2**20
"""What a project's folder holds at most."""

TOTAL_BYTES = 512 * 2**20
"""What all of them hold, looked at once a day: on network disks looking costs seconds."""

_DAY = 86_400
_ABANDONED = 30 * _DAY

_PROJECT = pattern(r"[0-9a-f]{24}")
_ENTRY = pattern(r"(files|rules|run|contents|answers)-[0-9a-f]{24,32}\.json")
_UNFINISHED = pattern(r"new-\w{8}\.tmp")
_SWEPT = "swept"

_TAGS = {
    # https://bford.info/cachedir/: backups leave such a folder out.
    "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n# Made by distlint.\n",
    ".gitignore": "# Made by distlint.\n*\n",
}

_RACY_NS = 2_000_000_000
"""A file changed this shortly before it was read may change again within the clock's tick."""

Stamp = tuple[int, int, int, int]


class CacheRefused(Exception):
    """Why a folder is not used as a cache, in one line."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What reading a file told: the hash of its content, and what it holds.

    `relevant` says whether a literal of the prefilter is in it, `marked` whether a suppression of
    distlint may be, `readable` whether it decodes, `any_rank` whether it goes on with torch's old launcher of any version,
    `clips` whether it may tell DeepSpeed by how much to clip, `loads_wrapped` whether it may load a state of a wrapped model,
    `hyphen` whether it takes its rank from that launcher as torch 2 spells it, `composes` whether it may give
    hydra configurations that are no files, `opens` the settings whose values it opens as files. `old_torch` says whether
    torch 2 cannot import it, `in_package` whether it imports by its place in a package, `spawns` whether it starts a process for each
    GPU, `told` whether it may tell at its head how it is launched, and `imports` what a script with a local rank among its options does.
    """

    digest: str
    relevant: bool
    marked: bool
    readable: bool
    any_rank: bool = False
    clips: bool = False
    loads_wrapped: bool = False
    hyphen: bool = False
    composes: bool = False
    of_mmcv_1: bool = False
    old_torch: bool = False
    in_package: bool = False
    spawns: bool = False
    told: bool = False
    opens: tuple[str, ...] = field(default=(), kw_only=True)
    imports: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def needed(self) -> bool:
        """Whether the file has to be read again for a check."""
        return self.relevant or self.marked or not self.readable


def cache_folder(named: str | None) -> Path | None:
    """The folder of all caches: `named`, else that of DISTLINT_CACHE_DIR, else the user's.

    None where the user has none: a container may run without a home directory.
    """
    chosen = named or os.environ.get(VARIABLE)
    if chosen:
        return Path(os.path.abspath(chosen))
    import platformdirs

    folder = platformdirs.user_cache_path("distlint", appauthor=False)
    return folder if folder.is_absolute() else None


class Cache:
    """The cache of one project in `folder`; without a folder it neither reads nor writes."""

    def __init__(self, folder: Path | None, root: Path = Path()) -> None:
        self._folder = folder
        name = os.path.realpath(root).encode("utf-8", "surrogateescape")
        self._project = (folder or root) / hashlib.blake2b(name, digest_size=12).hexdigest()
        self.refused: str | None = None
        """Why there is no cache although one was wanted."""
        self._shared: dict[str, dict[str, Any]] = {}

    def load_facts(self, engine: str) -> dict[str, tuple[Stamp, FileFacts]]:
        """Facts about files by absolute path, as the last run with this `engine` left them."""
        document = self._read(f"files-{engine}.json")
        try:
            return {
                path: (
                    (row[0], row[1], row[2], row[3]),
                    FileFacts(
                        row[4],
                        *(
                            bool(row[5] & bit)
                            for bit in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
                        ),
                        opens=tuple(row[6]),
                        imports=tuple(row[7]),
                    ),
                )
                for path, row in document["files"].items()
            }
        except (KeyError, TypeError, IndexError, AttributeError):
            return {}

    def save_facts(self, engine: str, facts: Mapping[str, tuple[Stamp, FileFacts]]) -> None:
        """Keep `facts`, except of files so fresh that their stamps say nothing."""
        newest = time.time_ns() - _RACY_NS
        rows = {
            path: [
                *stamp,
                fact.digest,
                fact.relevant
                + 2 * fact.marked
                + 4 * fact.readable
                + 8 * fact.any_rank
                + 16 * fact.clips
                + 32 * fact.loads_wrapped
                + 64 * fact.hyphen
                + 128 * fact.composes
                + 256 * fact.of_mmcv_1
                + 512 * fact.old_torch
                + 1024 * fact.in_package
                + 2048 * fact.spawns
                + 4096 * fact.told,
                fact.opens,
                fact.imports,
            ]
            for path, (stamp, fact) in facts.items()
            if max(stamp[0], stamp[1]) < newest
        }
        self._write(f"files-{engine}.json", {"files": rows})

    def load_run(self, key: str) -> dict[str, Any] | None:
        """The stored result of a run, or None."""
        document = self._read(f"run-{key}.json")
        return document if "findings" in document else None

    def save_run(self, key: str, document: dict[str, Any]) -> None:
        """Keep the result of a run."""
        self._write(f"run-{key}.json", document)

    def shared(self, kind: Literal["contents", "answers"], engine: str) -> dict[str, Any]:
        """A table that all checks of this process read and add to, as the last run with this `engine` left it.

        `contents`: what is known of files by their content. `answers`: what was found in files that
        belong together. `save_shared` keeps it for other processes.
        """
        name = f"{kind}-{engine}.json"
        if name not in self._shared:
            table = self._read(name).get(kind)
            self._shared[name] = table if isinstance(table, dict) else {}
        return self._shared[name]

    def save_shared(self, kind: Literal["contents", "answers"], engine: str, limit: int) -> None:
        """Keep a shared table, of its rows the last `limit`."""
        rows = list(self.shared(kind, engine).items())[-limit:]
        self._write(f"{kind}-{engine}.json", {kind: dict(rows)})

    def load_rules(self, engine: str) -> list[list[Any]] | None:
        """The rows of the rule catalogue of this `engine`, or None."""
        rows = self._read(f"rules-{engine}.json").get("rules")
        return rows if isinstance(rows, list) else None

    def save_rules(self, engine: str, rows: list[list[Any]]) -> None:
        """Keep the rule catalogue."""
        self._write(f"rules-{engine}.json", {"rules": rows})

    def _read(self, name: str) -> dict[str, Any]:
        """The content of an entry; nothing where it is absent, damaged, or not to be trusted."""
        if self._folder is None:
            return {}
        try:
            for folder in (self._folder, self._project):
                if os.path.lexists(folder):
                    check_own(folder)
            data = _read_regular(self._project / name)
            digest, _, payload = data.partition(b"\n")
            if digest != _checksum(name, payload):
                return {}
            document = json.loads(payload)
            os.utime(self._project / name)  # used: others go before it
        except CacheRefused as refused:
            self.refused = str(refused)
            return {}
        except (OSError, ValueError, RecursionError):
            return {}
        return document if isinstance(document, dict) else {}

    def _write(self, name: str, document: dict[str, Any]) -> None:
        """Replace an entry; a folder that cannot be written to has no cache."""
        if self._folder is None or self.refused is not None:
            return
        payload = json.dumps(document, separators=(",", ":")).encode()
        if len(payload) > PROJECT_BYTES // 4:
            return
        try:
            _make(self._folder, _TAGS)
            _make(self._project, {})
            _replace(self._project / name, _checksum(name, payload) + b"\n" + payload)
            _bound(self._project)
            _sweep(self._folder)
        except CacheRefused as refused:
            self.refused = str(refused)
        except OSError as error:
            self.refused = f"{self._folder}: {(error.strerror or str(error)).lower()}"


def check_own(folder: Path) -> None:
    """Raise CacheRefused unless `folder` is a real directory of the user's, that only they write to.

    A link, or somebody else's folder, would have distlint write to, and delete from, what it points to.
    """
    status = folder.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise CacheRefused(f"{folder} is a link; name the folder itself")
    if not stat.S_ISDIR(status.st_mode):
        raise CacheRefused(f"{folder} is not a folder")
    if hasattr(os, "geteuid"):
        if status.st_uid != os.geteuid():
            raise CacheRefused(f"{folder} belongs to somebody else")
        if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
            raise CacheRefused(f"{folder} can be written to by everybody")


def _make(folder: Path, files: Mapping[str, str]) -> None:
    """Create `folder` with `files` where it is absent; either way it must be the user's own."""
    if not os.path.lexists(folder):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        for name, text in files.items():
            with (
                contextlib.suppress(FileExistsError),  # "x" follows no link; another run was faster
                open(folder / name, "x", encoding="utf-8") as file,
            ):
                file.write(text)
    check_own(folder)


def _read_regular(path: Path) -> bytes:
    """The content of a regular file: no link, and nothing that blocks or has no end."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > PROJECT_BYTES:
            return b""
        return file.read()


def _replace(target: Path, data: bytes) -> None:
    import tempfile  # with `random`, 5 ms that a check without a cache saves

    descriptor, temporary = tempfile.mkstemp(prefix="new-", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _checksum(name: str, payload: bytes) -> bytes:
    """What the first line of an entry says: neither cut short, nor altered, nor renamed."""
    digest = hashlib.blake2b(name.encode(), digest_size=16)
    digest.update(payload)
    return digest.hexdigest().encode()


# What goes: only names that the cache makes, in folders that it made.


class _Entry(NamedTuple):
    used: float
    path: str
    size: int


def _entries(project: str | Path) -> list[_Entry]:
    """The files of the cache in a project's folder, the one used last first."""
    found = []
    for item in os.scandir(project):
        if _ENTRY.fullmatch(item.name) or _UNFINISHED.fullmatch(item.name):
            with contextlib.suppress(FileNotFoundError):  # another run was faster
                status = item.stat(follow_symlinks=False)
                found.append(_Entry(status.st_mtime, item.path, status.st_size))
    return sorted(found, reverse=True)


def _unlink(entries: Iterable[_Entry]) -> list[_Entry]:
    """Delete `entries`; those that are gone by it."""
    gone = []
    for entry in entries:
        with contextlib.suppress(OSError):  # another run was faster, or Windows reads it
            os.unlink(entry.path)
            gone.append(entry)
    return gone


def _beyond(entries: Sequence[_Entry], limit: int) -> list[_Entry]:
    """Those of `entries`, which are sorted, after the first `limit` bytes."""
    total = 0
    beyond = []
    for entry in entries:
        total += entry.size
        if total > limit:
            beyond.append(entry)
    return beyond


def _bound(project: Path) -> None:
    entries = _entries(project)
    _unlink(entries[ENTRIES_KEPT:])
    _unlink(_beyond(entries[:ENTRIES_KEPT], PROJECT_BYTES))


def _projects(folder: Path) -> list[str]:
    """The folders of projects; those that are not the user's own are left alone."""
    found = []
    for item in os.scandir(folder):
        if _PROJECT.fullmatch(item.name):
            with contextlib.suppress(CacheRefused, FileNotFoundError):
                check_own(Path(item.path))
                found.append(item.path)
    return sorted(found)


def _sweep(folder: Path) -> None:
    """Once a day: what was not used for a month goes, and what is beyond TOTAL_BYTES."""
    now = time.time()
    stamp = folder / _SWEPT
    with contextlib.suppress(FileNotFoundError):
        if 0 <= now - stamp.lstat().st_mtime < _DAY:
            return
    _replace(stamp, b"")
    projects = _projects(folder)
    entries = sorted((each for project in projects for each in _entries(project)), reverse=True)
    old = [entry for entry in entries if now - entry.used > _ABANDONED]
    _unlink([*old, *_beyond(entries, TOTAL_BYTES)])
    for project in projects:
        with contextlib.suppress(OSError):  # not empty
            os.rmdir(project)


def remove_caches(folder: Path) -> tuple[int, int]:
    """Delete what distlint keeps in `folder`, of all projects: how many files, how many bytes.

    Other files stay, and with them the folders that hold them. Raises CacheRefused, or OSError.
    """
    if not os.path.lexists(folder):
        return 0, 0
    check_own(folder)
    gone: list[_Entry] = []
    for project in _projects(folder):
        gone += _unlink(_entries(project))
        with contextlib.suppress(OSError):  # holds something else
            os.rmdir(project)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(folder / _SWEPT)
    if {item.name for item in os.scandir(folder)} <= _TAGS.keys():
        for name, text in _TAGS.items():
            with contextlib.suppress(OSError):
                if _read_regular(folder / name) == text.encode():
                    os.unlink(folder / name)
        with contextlib.suppress(OSError):
            os.rmdir(folder)
    return len(gone), sum(entry.size for entry in gone)


def engine_stamp() -> str:
    """A name for everything that results depend on besides files and settings.

    distlint's own files and Python's version; and the directories of `sys.path`, which change when a
    package that brings rules is installed or removed.
    """
    digest = hashlib.blake2b(_code_stamp(), digest_size=12)
    here = os.getcwd()
    for entry in sys.path:
        if entry in ("", here):  # `python -m` puts it there, and every saved file changes it
            continue
        with contextlib.suppress(OSError):
            digest.update(f"{entry} {os.stat(entry).st_mtime_ns}".encode())
    return digest.hexdigest()


@cache
def _code_stamp() -> bytes:
    """That of distlint's own files and of Python's version: a process runs what was there when it began."""
    digest = hashlib.blake2b(digest_size=12)
    digest.update(f"{distlint.__version__} {sys.version_info[:3]}".encode())
    package = os.path.dirname(os.path.abspath(distlint.__file__))
    roots = [
        package,
        os.path.join(package, "rules"),
        os.path.join(os.path.dirname(package), "rules"),
    ]
    for root in roots:
        for row in sorted(_code_stamps(root)):
            digest.update(repr(row).encode())
    return digest.digest()


def _code_stamps(directory: str) -> Iterator[tuple[str, int, int]]:
    try:
        entries = list(os.scandir(directory))
    except OSError:
        return
    for entry in entries:
        if entry.name.endswith(".py"):
            status = entry.stat()
            yield entry.path, status.st_mtime_ns, status.st_size
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from _code_stamps(entry.path)


def run_key(engine: str, settings: Iterable[str], files: Iterable[tuple[str, str, bool]]) -> str:
    """The name of a run: engine, settings, and each file's shown path, digest and role."""
    digest = hashlib.blake2b(engine.encode(), digest_size=16)
    for part in settings:
        digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    for shown, content, reported in files:
        digest.update(f"{shown}\0{content}\0{reported:d}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def content_digest(data: bytes) -> str:
    """The hash by which the cache knows the content of a file."""
    return hashlib.sha256(data).hexdigest()[:24]


# Findings as JSON.


def encode_finding(finding: Finding) -> list[Any]:
    """`finding` as plain lists."""
    fix, witness = finding.fix, finding.witness
    return [
        finding.code,
        finding.name,
        finding.severity.value,
        finding.message,
        _place(finding.place),
        [encode_related(related) for related in finding.related],
        fix
        and [
            fix.applicability.value,
            fix.message,
            [_edit(e) for e in fix.edits],
            fix.path,
            [[path, [_edit(e) for e in edits]] for path, edits in fix.elsewhere],
        ],
        witness
        and [
            [[name, _steps(steps)] for name, steps in witness.columns],
            _steps(witness.chain),
        ],
    ]


def decode_finding(row: Sequence[Any]) -> Finding:
    """What `encode_finding` made. Raises TypeError, ValueError or IndexError for anything else."""
    code, name, severity, message, place, related, fix, witness = row
    return Finding(
        code=code,
        name=name,
        severity=Severity(severity),
        message=message,
        place=Place(*place),
        related=tuple(map(decode_related, related)),
        fix=Fix(
            Applicability(fix[0]),
            fix[1],
            tuple(map(_decode_edit, fix[2])),
            fix[3],
            tuple((path, tuple(map(_decode_edit, edits))) for path, edits in fix[4]),
        )
        if fix
        else None,
        witness=Witness(
            tuple((label, _decode_steps(steps)) for label, steps in witness[0]),
            _decode_steps(witness[1]),
        )
        if witness
        else None,
    )


def encode_related(related: Related) -> list[Any]:
    """A place and what is said of it as plain lists."""
    return [_place(related.place), related.message]


def decode_related(row: Sequence[Any]) -> Related:
    """What `encode_related` made. Raises TypeError or ValueError for anything else."""
    where, text = row
    return Related(Place(*where), text)


def _place(place: Place) -> list[Any]:
    return [place.path, place.line, place.column, place.end_line, place.end_column]


_EDITS = {kind.__name__: kind for kind in get_args(Edit)}


def _edit(edit: Edit) -> list[Any]:
    """The kind of an edit and what it holds, a range as a list."""
    values = [getattr(edit, each.name) for each in fields(edit)]
    return [
        type(edit).__name__,
        *(list(astuple(value)) if isinstance(value, Span) else value for value in values),
    ]


def _decode_edit(row: Sequence[Any]) -> Edit:
    kind, *values = row
    edit: Edit = _EDITS[kind](
        *(Span(*value) if isinstance(value, list) else value for value in values)
    )
    return edit


def _steps(steps: Sequence[WitnessStep]) -> list[Any]:
    return [[_place(step.place), step.text] for step in steps]


def _decode_steps(rows: Sequence[Any]) -> tuple[WitnessStep, ...]:
    return tuple(WitnessStep(Place(*place), text) for place, text in rows)
