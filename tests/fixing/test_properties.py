"""Random programs, random edits: what must hold for every result of the engine."""

from __future__ import annotations

import ast
import io
import random
import re
import tokenize
from collections import Counter

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from programs import program
from random_edits import Candidates, random_edit
from reference import actual, expected

from distlint.edits import Delete, Edit, Insert, Move, Replace, Span, WrapInWith
from distlint.fixing.engine import apply_fixes
from distlint.fixing.requests import FixRequest, FixResult, SkipKind

randoms = st.randoms(use_true_random=False)
relaxed = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def requests(source: str, choose: random.Random, count: int) -> list[FixRequest]:
    """Fixes of one edit each, none twice, in order of their lines."""
    candidates = Candidates(source)
    edits = [random_edit(candidates, choose) for _ in range(count)]
    return [
        FixRequest(number, 0, "DL000", (edit,))
        for number, edit in enumerate(dict.fromkeys(edits), start=1)
        if edit is not None
    ]


def edits_of(result: FixResult) -> list[Edit]:
    return [edit for fix in result.applied for edit in fix.edits]


def comments(text: str) -> Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(token.string.rstrip() for token in tokens if token.type == tokenize.COMMENT)


@pytest.mark.parametrize("seed", range(0, 1000, 50))
def test_the_generator_makes_python(seed: int) -> None:
    for offset in range(50):
        ast.parse(program(random.Random(seed + offset)))


@relaxed
@given(randoms)
def test_the_tree_is_what_the_edits_say(choose: random.Random) -> None:
    source = program(choose)
    result = apply_fixes(source.encode(), requests(source, choose, 4))
    text = result.data.decode()
    assert actual(text) == expected(source, edits_of(result))
    assert not comments(source) - comments(text)
    for skip in result.skipped:
        by_libcst = skip.kind is SkipKind.REFUSED and "LibCST cannot walk" in skip.reason
        # A `return` that is moved out of its function, a `break` out of its loop.
        moved_out = skip.kind is SkipKind.INTERNAL and re.search(
            r"'(?:return|break|yield|await)' outside|'continue' not properly", skip.reason
        )
        assert skip.kind is SkipKind.CONFLICT or by_libcst or moved_out, (
            skip.reason,
            skip.fix,
            source,
        )


@relaxed
@given(randoms, st.sampled_from(["\n", "\r\n", "\r"]), st.sampled_from(["utf-8", "bom", "latin-1"]))
def test_encoding_and_line_ends_stay(choose: random.Random, newline: str, encoding: str) -> None:
    source = program(choose)
    if encoding == "latin-1" and not source.startswith("#!"):
        source = "# -*- coding: latin-1 -*-\n" + source
    elif encoding == "latin-1":
        encoding = "utf-8"
    assume("\n" in source)  # else nothing tells which line end the file has
    source = source.replace("\n", newline)
    codec = "utf-8-sig" if encoding == "bom" else encoding
    result = apply_fixes(source.encode(codec), requests(source, choose, 3))
    assert result.data.startswith(b"\xef\xbb\xbf") == (encoding == "bom")
    text = result.data.decode(codec)
    assert actual(text) == expected(source, edits_of(result))
    rest = text.replace(newline, "")
    assert "\r" not in rest
    assert "\n" not in rest
    # Where the last line of a file goes that ends without one, that of the line before it is the last.
    assert text.endswith(newline) or not source.endswith(newline) or not text


@relaxed
@given(randoms)
def test_lines_outside_the_edits_stay(choose: random.Random) -> None:
    source = program(choose)
    result = apply_fixes(source.encode(), requests(source, choose, 2))
    kept = untouched(source, edits_of(result))
    remaining = iter(result.data.decode().split("\n"))
    for line in kept:
        assert line in remaining, f"{line!r} is lost, changed or moved"


def _parentheses_around(source: str, span: Span) -> tuple[int, ...]:
    """The lines of the parentheses that hold a span and nothing else but comments."""
    layout = (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in layout
    ]
    before = [t for t in tokens if t.end <= (span.line, span.column)][-1:]
    behind = [t for t in tokens if t.start >= (span.end_line, span.end_column)][:1]
    around = [*before, *behind]
    if [token.string for token in around] != ["(", ")"]:
        return ()
    return tuple(token.start[0] for token in around)


def untouched(source: str, edits: list[Edit]) -> list[str]:
    """The lines that carry no edited statement, without blank ones (they may follow a deletion)."""
    touched: set[int] = set()
    statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]

    def touch(first: int, last: int) -> None:
        # Statements that share a line are parted; so are a header and its one-line suite.
        touched.update(range(first, last + 1))
        for node in statements:
            assert node.end_lineno is not None
            if node.end_lineno - node.lineno == 0 and node.lineno in (first, last):
                touched.add(node.lineno)

    for edit in edits:
        match edit:
            case Replace(span=span) | Delete(span=span):
                touch(span.line, span.end_line)
                # Parentheses around a text that needs none go with it.
                touched.update(_parentheses_around(source, span))
            case Insert(span=span):
                touch(span.line, span.line)
                touch(span.end_line, span.end_line)
            case WrapInWith(first=first, last=last):
                touch(first.line, last.end_line)
            case Move(span=span, before=before):
                touch(span.line, span.end_line)
                touch(before.line, before.line)
    lines = source.split("\n")
    for number in sorted(touched):
        # What stands directly above: comments that may travel, decorators.
        above = number - 1
        while above and lines[above - 1].lstrip().startswith(("#", "@")):
            touched.add(above)
            above -= 1
    if any(isinstance(edit, Insert | Replace | WrapInWith | Move) for edit in edits):
        # An `elif` that gets company turns into `else` with an `if` in it.
        chains = [n for n in statements if isinstance(n, ast.If) and n.orelse]
        for chain in chains:
            (other, *_) = chain.orelse
            if any(_names(edit, other) for edit in edits):
                touch(other.lineno, other.end_lineno or other.lineno)
    # Comments may change their depth with the block at whose end they stand; none is lost.
    return [
        line
        for number, line in enumerate(lines, start=1)
        if number not in touched and line.strip() and not line.lstrip().startswith("#")
    ]


def _names(edit: Edit, node: ast.stmt) -> bool:
    spans = [
        getattr(edit, name)
        for name in ("span", "first", "last", "before")
        if hasattr(edit, name) and not isinstance(getattr(edit, name), bool)
    ]
    return any((s.line, s.column) == (node.lineno, node.col_offset) for s in spans)


@relaxed
@given(randoms)
def test_order_does_not_matter_and_twice_is_the_same(choose: random.Random) -> None:
    source = program(choose)
    fixes = requests(source, choose, 4)
    first = apply_fixes(source.encode(), fixes)
    choose.shuffle(fixes)
    assert apply_fixes(source.encode(), fixes) == first


@relaxed
@given(randoms)
def test_a_second_round_reuses_the_import(choose: random.Random) -> None:
    source = program(choose)
    data = apply_fixes(source.encode(), requests(source, choose, 2)).data
    start = max((line.lineno for line in ast.parse(data).body if _is_import(line)), default=0)
    # Code below the import, that leaves it where it is: one that is wrapped is no longer at the top.
    later = [
        fix
        for fix in requests(data.decode(), choose, 3)
        if isinstance(edit := fix.edits[0], Insert | Replace) and edit.span.line > start
    ]
    data = apply_fixes(data, later).data
    imports = [
        alias
        for node in ast.walk(ast.parse(data))
        if isinstance(node, ast.ImportFrom) and node.module == "distlint.runtime"
        for alias in node.names
    ]
    assert len(imports) <= 1


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "distlint.runtime"


@relaxed
@given(randoms)
def test_without_edits_nothing_changes(choose: random.Random) -> None:
    data = program(choose).encode()
    result = apply_fixes(data, [])
    assert (result.data, result.applied, result.skipped) == (data, (), ())
