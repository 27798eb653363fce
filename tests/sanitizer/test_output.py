"""What ranks print, on its way through a pipe."""

from __future__ import annotations

import io
import os

from hypothesis import given
from hypothesis import strategies as st

from distlint.hardware.sanitizer.output import RankOutput


def _handed_on(chunks: list[bytes]) -> tuple[bytes, bytes]:
    """What the target and the log get of chunks that arrive one after the other."""
    target, log = io.BytesIO(), io.BytesIO()
    read, write = os.pipe()
    output = RankOutput(read, 3, target, log)
    for chunk in chunks:
        os.write(write, chunk)
        output.drain()
    os.close(write)
    output.close()
    return target.getvalue(), log.getvalue()


@given(st.lists(st.text("ab\r\n", max_size=6).map(str.encode), max_size=6))
def test_lines_are_the_same_however_they_arrive(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    assert _handed_on(chunks) == _handed_on([whole])
    ended = b"" if not whole or whole.endswith((b"\n", b"\r")) else b"\n"
    told = _handed_on(chunks)[0]
    assert told.replace(b"[rank 3] ", b"").rstrip(b"\r\n") == (whole + ended).rstrip(b"\r\n")
    assert all(line.startswith(b"[rank 3] ") for line in told.split(b"\n")[:-1])


def test_a_line_of_megabytes_takes_no_longer_than_its_length() -> None:
    part = b"x" * 60_000
    told, log = _handed_on([part] * 60)
    assert log.replace(b"\n", b"") == part * 60
    assert told.count(b"[rank 3] ") <= 5
