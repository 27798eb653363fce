"""What was answered in an earlier check is taken over where all that was asked is answered as it was, and nowhere else."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

import pytest

from distlint.analysis.ledger import Ledger, asked_always, is_settled, same
from distlint.knowledge.facts import Knowledge


class Files:
    """What a check is about: texts by name; `answered` are the questions that were answered anew."""

    def __init__(self, ledger: Ledger[Files], **texts: str) -> None:
        self.ledger = ledger
        self.texts = texts
        self.answered: list[str] = []
        ledger.begin(self)


@asked_always
def text(files: Files, name: str) -> str:
    return files.texts[name]


def words(files: Files, name: str) -> list[str]:
    files.answered.append(f"words of {name}")
    found: str = files.ledger.ask(text, name)
    return found.split()


def longest(files: Files, *names: str) -> str:
    files.answered.append("longest")
    every: list[str] = [word for name in names for word in files.ledger.ask(words, name)]
    return max(every, key=len)


@pytest.fixture
def ledger() -> Ledger[Files]:
    return Ledger(Knowledge.default())


def test_what_depends_on_nothing_new_is_not_answered_again(ledger: Ledger[Files]) -> None:
    first = Files(ledger, a="one three", b="two")
    assert ledger.ask(longest, "a", "b") == "three"
    assert first.answered == ["longest", "words of a", "words of b"]
    second = Files(ledger, a="one three", b="two")
    assert ledger.ask(longest, "a", "b") == "three"
    assert not second.answered


def test_an_answer_that_stays_concerns_nobody(ledger: Ledger[Files]) -> None:
    Files(ledger, a="one three", b="two")
    before = ledger.ask(words, "b")
    ledger.ask(longest, "a", "b")
    files = Files(ledger, a="one three", b=" two ")
    assert ledger.ask(longest, "a", "b") == "three"
    assert files.answered == ["words of b"]
    assert ledger.ask(words, "b") is before


def test_an_answer_that_changes_concerns_who_has_asked(ledger: Ledger[Files]) -> None:
    Files(ledger, a="one three", b="two")
    ledger.ask(longest, "a", "b")
    files = Files(ledger, a="one three", b="eleven")
    assert ledger.ask(longest, "a", "b") == "eleven"
    assert files.answered == ["words of b", "longest"]
    files = Files(ledger, a="one three", b="two")
    assert ledger.ask(longest, "a", "b") == "three"
    assert files.answered == ["words of b", "longest"]


def test_what_failed_is_asked_again(ledger: Ledger[Files]) -> None:
    Files(ledger, a="one")
    with pytest.raises(KeyError):
        ledger.ask(longest, "a", "b")
    Files(ledger, a="one", b="eleven")
    assert ledger.ask(longest, "a", "b") == "eleven"
    Files(ledger, a="one")
    with pytest.raises(KeyError):
        ledger.ask(longest, "a", "b")


def test_what_a_check_does_not_ask_is_forgotten(ledger: Ledger[Files]) -> None:
    Files(ledger, a="one")
    ledger.ask(words, "a")
    Files(ledger, a="one")
    files = Files(ledger, a="one")
    ledger.ask(words, "a")
    assert files.answered == ["words of a"]


class Asks:
    """An answer that asks later."""

    def __init__(self, files: Files) -> None:
        self.files = files


def later(files: Files) -> Asks:
    return Asks(files)


def first_word(files: Files) -> str:
    held: Asks = files.ledger.ask(later)
    found: list[str] = held.files.ledger.ask(words, "a")
    return found[0]


def test_what_asks_later_is_never_taken_over(ledger: Ledger[Files]) -> None:
    Files(ledger, a="one")
    assert ledger.ask(first_word) == "one"
    files = Files(ledger, a="one")
    assert ledger.ask(later).files is files


@dataclass(eq=False)
class Found:
    text: str
    nodes: tuple[ast.AST, ...]
    more: dict[str, list[int]] = field(default_factory=dict)


NODE, LIKE = ast.parse("x"), ast.parse("x")


@pytest.mark.parametrize(
    ("one", "other", "are_one"),
    [
        (Found("a", (NODE,)), Found("a", (NODE,)), True),
        (Found("a", (NODE,)), Found("a", (LIKE,)), False),
        (Found("a", (), {"b": [1]}), Found("a", (), {"b": [1]}), True),
        (Found("a", (), {"b": [1]}), Found("a", (), {"b": [2]}), False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
        ({NODE}, {NODE}, True),
        ({NODE}, {LIKE}, False),
        (1, True, False),
        (object(), object(), False),
    ],
)
def test_two_answers_are_one_where_they_say_the_same_of_the_same_objects(
    one: object, other: object, are_one: bool
) -> None:
    assert same(one, other) is are_one


@pytest.mark.parametrize(
    ("answer", "is_there"),
    [
        (Found("a", (NODE,)), True),
        ([{"a": frozenset({1})}], True),
        ((len,), False),
        ((each for each in "ab"), False),
        (Found("a", (), {"b": [object()]}), False),  # type: ignore[list-item]
    ],
)
def test_an_answer_that_is_all_there(answer: object, is_there: bool) -> None:
    assert is_settled(answer) is is_there
