"""Writing on a real file system: what is replaced, what is kept, what is refused."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from distlint.fixing.writing import WriteRefused, write_fixed, write_together


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o664])
def test_content_and_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_fixed(path, b"old", b"new\r\n")
    assert path.read_bytes() == b"new\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert names(tmp_path) == ["train.py"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_owner(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(b"old")
    os.chown(path, 12345, 23456)
    write_fixed(path, b"old", b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 23456)


def test_a_link_stays_and_its_target_changes(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "train.py"
    target.write_bytes(b"old")
    link = tmp_path / "link.py"
    link.symlink_to(Path("real") / "train.py")
    write_fixed(link, b"old", b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert names(target.parent) == ["train.py"]


def test_a_reader_that_has_it_open_sees_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        write_fixed(path, b"old", b"new")
        assert reader.read() == b"old"


@pytest.mark.parametrize("now", [b"other", b"", b"old\n"])
def test_a_file_that_changed_is_left_alone(tmp_path: Path, now: bytes) -> None:
    path = tmp_path / "train.py"
    path.write_bytes(now)
    with pytest.raises(WriteRefused, match=r"changed since it was read; run distlint again$"):
        write_fixed(path, b"old", b"new")
    assert path.read_bytes() == now
    assert names(tmp_path) == ["train.py"]


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(WriteRefused, match=r"train\.py: not written, it is gone$"):
        write_fixed(tmp_path / "train.py", b"old", b"new")
    assert names(tmp_path) == []


@pytest.mark.parametrize("now", [b"other", None])
def test_files_that_belong_together_are_written_all_or_none(
    tmp_path: Path, now: bytes | None
) -> None:
    paths = [tmp_path / name for name in ("a.py", "b.py", "c.py")]
    for path in paths:
        path.write_bytes(b"old")
    paths[2].unlink() if now is None else paths[2].write_bytes(now)
    with pytest.raises(WriteRefused, match=r"c\.py: not written"):
        write_together([(path, b"old", b"new") for path in paths])
    assert [path.read_bytes() for path in paths[:2]] == [b"old", b"old"]
    paths[2].write_bytes(b"old")
    write_together([(path, b"old", b"new") for path in paths])
    assert [path.read_bytes() for path in paths] == [b"new"] * 3


def test_a_directory_or_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "package.py").mkdir()
    for name in ("pipe.py", "package.py"):
        with pytest.raises(WriteRefused, match="it is not a regular file"):
            write_fixed(tmp_path / name, b"old", b"new")


_AS_NOBODY = """
import os, sys
sys.path[:0] = {path!r}
from distlint.fixing.writing import WriteRefused, write_fixed
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    write_fixed(sys.argv[1], b"old", b"new")
except WriteRefused as refused:
    print(refused)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
@pytest.mark.parametrize(
    ("directory_mode", "file_mode", "reason"),
    [(0o755, 0o666, "its directory is not writable"), (0o777, 0o644, "the file is read-only")],
)
def test_without_permission(directory_mode: int, file_mode: int, reason: str) -> None:
    # Not in pytest's temporary directory, which nobody else may enter.
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        path = directory / "train.py"
        path.write_bytes(b"old")
        path.chmod(file_mode)
        directory.chmod(directory_mode)
        code = Path(__file__).resolve()
        script = _AS_NOBODY.format(path=[str(code.parents[2])])
        result = subprocess.run(
            [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False
        )
        assert reason in result.stdout, result.stderr
        assert result.stdout.count("\n") == 1
        assert path.read_bytes() == b"old"
        assert names(directory) == ["train.py"]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    # A limit on the size of files fails in the middle of the write, as a full disk does.
    path = tmp_path / "train.py"
    path.write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(WriteRefused, match="not written, file too large"):
            write_fixed(path, b"old", b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, previous)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["train.py"]
