"""Exclusive arms, read from the source."""

from __future__ import annotations

from pathlib import Path

from distlint.hardware.sanitizer.branches import are_alternatives, calls_of
from distlint.hardware.sanitizer.events import Frame

SOURCE = """\
def main(rank):
    if rank == 0:
        helper()
    elif rank == 1:
        helper()
    else:
        helper()
    helper()
    match rank:
        case 0:
            helper()
        case _:
            helper()
"""


def test_arms(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(SOURCE)

    def alternatives(one: int, two: int) -> bool:
        inner = Frame(str(path), 1, "helper")
        stacks = [(inner, Frame(str(path), line, "main")) for line in (one, two)]
        return are_alternatives(*stacks)

    assert alternatives(3, 5) and alternatives(5, 7) and alternatives(3, 7)
    assert alternatives(11, 13)
    assert not alternatives(3, 8) and not alternatives(3, 3) and not alternatives(8, 11)


def test_what_cannot_be_read_has_no_arms(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text("if (")
    for path in (str(broken), str(tmp_path / "none.py"), "<string>"):
        assert not are_alternatives((Frame(path, 1, "f"),), (Frame(path, 2, "f"),))


def test_one_call_in_two_lines(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        "if rank:\n    reduce(loss)\nelse:\n    reduce(norm)\n    reduce(\n        loss)\n"
    )

    def call(line: int, function: str = "<module>") -> object:
        return calls_of((Frame(str(path), line, function),))

    assert call(2) == call(5) == call(6)
    assert call(2) != call(4) and call(2) != call(2, "main")
    assert calls_of((Frame("none.py", 1, "f"),)) != calls_of((Frame("none.py", 2, "f"),))
