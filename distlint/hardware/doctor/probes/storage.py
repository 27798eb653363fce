"""A directory for checkpoints: room, and whether a written file can replace an old one."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from distlint.hardware.doctor.machine import Options, StorageFacts, Unknown

_TRIAL = b"x" * (1 << 20)


def look(options: Options) -> StorageFacts | Unknown:
    """Writes 1 MiB, fsyncs it and renames it over another file; leaves nothing behind.

    A directory that does not exist is not made: the nearest parent that exists is tried.
    """
    if options.checkpoint_dir is None:
        return Unknown("no --checkpoint-dir was given")
    wanted = Path(options.checkpoint_dir).absolute()
    directory = next((p for p in (wanted, *wanted.parents) if p.exists()), Path("/"))
    if not directory.is_dir():
        return StorageFacts(
            options.checkpoint_dir, True, 0, "", f"{directory.name} is not a directory"
        )
    free = os.statvfs(directory)
    started = time.monotonic()
    write_error, rename_error = _try(directory)
    return StorageFacts(
        path=options.checkpoint_dir,
        exists=directory == wanted,
        free=free.f_bavail * free.f_frsize,
        file_system=_file_system(directory),
        write_error=write_error,
        rename_error=rename_error,
        seconds=time.monotonic() - started,
    )


def _try(directory: Path) -> tuple[str, str]:
    """Why a file cannot be written, and why it cannot replace another; empty where it can."""
    try:
        handle, name = tempfile.mkstemp(dir=directory, prefix=".distlint-")
    except OSError as problem:
        return problem.strerror or str(problem), ""
    os.close(handle)
    old, new = Path(name), Path(name + ".new")
    try:
        with new.open("wb") as file:
            file.write(_TRIAL)
            file.flush()
            os.fsync(file.fileno())
    except OSError as problem:
        return problem.strerror or str(problem), ""
    else:
        try:
            new.replace(old)
            if old.stat().st_size != len(_TRIAL):
                return "", "the replaced file still has its old content"
        except OSError as problem:
            return "", problem.strerror or str(problem)
        return "", ""
    finally:
        new.unlink(missing_ok=True)
        old.unlink(missing_ok=True)


def _file_system(directory: Path) -> str:
    """The type of the mount that holds `directory` (Linux: /proc/self/mounts)."""
    try:
        lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    path = directory.resolve()
    best = ("", "")
    for line in lines:
        _, mount, kind, *_ = line.split()
        where = Path(mount.replace("\\040", " "))
        if (path == where or where in path.parents) and len(mount) >= len(best[0]):
            best = (mount, kind)
    return best[1]
