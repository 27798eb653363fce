"""Writing a fixed file: atomically, with its mode and owner, and only over what was read."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path


class WriteRefused(Exception):
    """Why a file was not written, in one sentence. The file is as it was; nothing is left beside it."""


def write_fixed(path: str | os.PathLike[str], before: bytes, after: bytes) -> None:
    """Replace the content of `path`, which was read as `before`, by `after`.

    The bytes go to a temporary file in the same directory, to the disk, and then over the old name
    in one step, so that a reader sees the old file or the new one and a crash leaves one of them.
    A symbolic link stays: the file that it names is replaced. Mode, and owner where the system
    allows it, are kept. A file with several hard links becomes a file of its own.

    Raises WriteRefused where the file is gone, no regular file, not writable, or no longer holds
    `before`; and where the directory takes no new file or the disk is full.
    """
    target = Path(os.path.realpath(path))
    try:
        status = target.stat()
        if not stat.S_ISREG(status.st_mode):
            raise WriteRefused(f"{path}: not written, it is not a regular file")
        if not os.access(target, os.W_OK):
            raise WriteRefused(f"{path}: not written, the file is read-only")
        temporary = _write_beside(target, after, status)
    except OSError as error:
        raise WriteRefused(f"{path}: not written, {_words(error)}") from error
    try:
        # Compared as late as possible: between this read and the rename lies no work of ours.
        if target.read_bytes() != before:
            raise WriteRefused(
                f"{path}: not written, the file changed since it was read; run distlint again"
            )
        temporary.replace(target)
    except OSError as error:
        raise WriteRefused(f"{path}: not written, {_words(error)}") from error
    finally:
        # After a successful rename the name is gone; nobody else knows it.
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
    _sync_directory(target.parent)


def write_together(files: Sequence[tuple[str | os.PathLike[str], bytes, bytes]]) -> None:
    """Write files, each with its bytes before and after, all or none: what one fix changes belongs together.

    Raises WriteRefused as `write_fixed` does; those that were written are as before then.
    """
    written: list[tuple[str | os.PathLike[str], bytes, bytes]] = []
    try:
        for path, before, after in files:
            write_fixed(path, before, after)
            written.append((path, before, after))
    except WriteRefused:
        for path, before, after in reversed(written):
            write_fixed(path, after, before)
        raise


def _write_beside(target: Path, data: bytes, status: os.stat_result) -> Path:
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:200]}.", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if hasattr(os, "fchown") and (status.st_uid, status.st_gid) != _owner(descriptor):
                # Only root may give files away; a group that we are not in cannot be kept either.
                with contextlib.suppress(PermissionError):
                    os.fchown(descriptor, status.st_uid, status.st_gid)
            # After the owner: changing the owner clears set-user-id bits.
            temporary.chmod(stat.S_IMODE(status.st_mode))
            os.fsync(descriptor)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise
    return temporary


def _owner(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return (status.st_uid, status.st_gid)


def _sync_directory(directory: Path) -> None:
    """Make the rename durable, where directories can be synced (not on Windows, nor on some mounts)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _words(error: OSError) -> str:
    match error.errno:
        case errno.ENOENT:
            return "it is gone"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            where = f" ({Path(error.filename).parent})" if error.filename else ""
            return f"its directory is not writable{where}"
        case errno.ENOSPC | errno.EDQUOT:
            return "the disk is full"
        case _:
            return (error.strerror or type(error).__name__).lower()
