"""Saving to a file: the state of all ranks, one atomic write, and one outcome for every rank."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .channel import DEFAULT_TIMEOUT, forbid_ahead, machines, shared_fate
from .identity import rank, world_size
from .state import collect_state, gather_tensors

_NO_ROOM = {
    errno.ENOSPC: "no space left on device; the old file, if there was one, is untouched",
    errno.EDQUOT: "the disk quota is used up; the old file, if there was one, is untouched",
    errno.EFBIG: "the file may not grow this large (ulimit -f, or the file system)",
}

SaveFunction = Callable[[Any, str], object]


def save(
    obj: Any,
    path: str | os.PathLike[str],
    *,
    save_fn: SaveFunction | None = None,
    per_rank: bool = False,
    on_each_node: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
) -> None:
    """Saves a model or an object to one file, once, from whatever ranks hold it.

    Collective: every rank must call it, and returns when the file is complete. A module is saved
    as its `full_state_dict`. In any other object (nests of dicts, lists, tuples) DTensors are made
    whole and tensors brought to the CPU. Then rank 0 writes a temporary file beside `path`, flushes
    it to the disk and renames it: a reader finds the old file or the new one, never half of one,
    and after a failure the old one is there and nothing else.

    Before the state is gathered, after it is, and after it is written the ranks agree, through the
    store: an error of any rank reaches all, and the group stays usable. Between the first two a
    rank may fail inside a collective that the others wait in; that collective's own timeout
    ends them, as no runtime can.

    On one process it writes. With ``WORLD_SIZE`` above 1 and no process group RANK 0 writes what it
    has, with a warning.

    An FSDP1 optimizer's ``state_dict()`` holds this rank's part only, and looks like a whole one:
    use ``FSDP.optim_state_dict`` first.

    Args:
        obj: the module or object.
        path: the file. Its directory must exist. A link is followed.
        save_fn: called as ``save_fn(object, temporary_path)`` with a path that ends like `path`;
            ``torch.save`` when None.
        per_rank: every rank writes its own object, ungathered, to its own file: `path` holds
            ``{rank}``, which is replaced.
        on_each_node: the first rank of each machine writes too: for local disks.
        timeout: seconds that ranks wait for each other at each of the three agreements.

    Raises:
        ValueError: `per_rank` without ``{rank}`` in the path, or together with `on_each_node`.
        OSError and what `save_fn` raises: on the rank that failed. A full disk is an OSError
            with ENOSPC, EDQUOT or EFBIG, also where `save_fn` says something else of it.
        MainProcessError, RankError: on the others; carries that rank's traceback.
        DesyncError, RankTimeoutError: some rank is elsewhere, or does not come.
        RuntimeError: called where only one rank is (inside `run_on_main`).
    """
    target = os.fspath(path)
    if per_rank and ("{rank}" not in target or on_each_node):
        raise ValueError(
            "save(on_each_node=True) cannot be combined with per_rank=True"
            if on_each_node
            else f"save(per_rank=True) needs {{rank}} in the path, or the ranks overwrite each "
            f"other's file: {target!r}"
        )
    forbid_ahead("save()")
    if per_rank:
        target = target.replace("{rank}", str(rank()))
    writers = _writers(per_rank, on_each_node, timeout)
    writes = rank() in writers
    destination = Path(os.path.realpath(target))

    with shared_fate("save()", timeout):
        if writes:
            _check_destination(destination)
    with shared_fate("save()", timeout):
        state = _state_of(obj, writers, per_rank)
    with shared_fate("save()", timeout):
        if writes:
            _write_atomically(state, destination, save_fn)


def _writers(per_rank: bool, on_each_node: bool, timeout: float) -> tuple[int, ...]:
    if per_rank:
        return tuple(range(world_size()))
    if on_each_node:
        return tuple(group[0] for group in machines("save(on_each_node=True)", timeout))
    return (0,)


def _state_of(obj: Any, writers: tuple[int, ...], per_rank: bool) -> Any:
    torch = sys.modules.get("torch")
    if torch is None:
        return obj
    is_module = isinstance(obj, torch.nn.Module)
    if per_rank:
        return obj.state_dict() if is_module else obj
    if is_module:
        return collect_state(obj, keepers=writers)
    return gather_tensors(obj, keep=rank() in writers)


def _check_destination(path: Path) -> None:
    """Raises what would otherwise come up only after a long gather."""
    if not path.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT, "the directory to save in does not exist; create it", str(path.parent)
        )
    if path.is_dir():
        raise IsADirectoryError(
            errno.EISDIR, "a directory is where the file should go; name a file", str(path)
        )
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(
            errno.EACCES, "no permission to create files in the directory", str(path.parent)
        )


def _write_atomically(state: Any, path: Path, save_fn: SaveFunction | None) -> None:
    if save_fn is None:
        import torch

        save_fn = torch.save
    # In the same directory, because a rename is atomic within one file system only; with the same
    # ending, because numpy and others append theirs where it is missing.
    temporary = path.with_name(f".{path.stem[:64]}.{secrets.token_hex(6)}.tmp{path.suffix}")
    try:
        try:
            save_fn(state, str(temporary))
        except Exception as error:
            _raise_if_full(temporary, path, error)
            raise
        if not temporary.is_file():
            raise FileNotFoundError(
                errno.ENOENT, "save_fn wrote no file to the path it was given", str(temporary)
            )
        if path.exists():
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        _flush_to_disk(temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush_to_disk(path.parent)


def _raise_if_full(temporary: Path, path: Path, error: Exception) -> None:
    """Raises OSError where the file could not grow, whatever `save_fn` made of that.

    torch.save (2.13.0) says "unexpected pos 704 vs 598" on a full disk. What it has written so far
    still fills the disk: the system says about another megabyte what it said about the last one.
    """
    if isinstance(error, OSError) or not temporary.is_file():
        return
    try:
        with temporary.open("ab") as file:
            file.write(bytes(1 << 20))
            _flush_to_disk(temporary)
    except OSError as refused:
        if refused.errno in _NO_ROOM:
            raise OSError(refused.errno, _NO_ROOM[refused.errno], str(path)) from error


def _flush_to_disk(path: Path) -> None:
    if os.name == "nt" and path.is_dir():
        # Windows has no way to flush a directory.
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # EINVAL: this file system cannot flush, fsync(2). Anything else means the data is not safe.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)
