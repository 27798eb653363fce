"""Each kind of edit in each kind of place: the whole text before and after."""

from __future__ import annotations

import ast
from dataclasses import replace
from textwrap import indent

import pytest
from spans import find, fix, fixed, span

from distlint.edits import Delete, Edit, Insert, Move, Replace, Span, WrapInWith
from distlint.fixing.engine import apply_fixes
from distlint.fixing.requests import FixRequest, SkipKind


def check(before: str, edits: list[Edit], after: str) -> None:
    assert fixed(before, *edits) == after


class TestReplace:
    @pytest.mark.parametrize(
        ("source", "old", "code", "after"),
        [
            ("x = a + b\n", "a", "c or d", "x = (c or d) + b\n"),
            ("x = a + b\n", "a", "c * d", "x = c * d + b\n"),
            ("x = a * b\n", "b", "c + d", "x = a * (c + d)\n"),
            ("x = a.b\n", "a", "await c", "x = (await c).b\n"),
            ("x = f(a)\n", "a", "lambda: b", "x = f(lambda: b)\n"),
            ("x = f(a)\n", "a", "b, c", "x = f((b, c))\n"),
            ("x = a\n", "a", "b := c", "x = (b := c)\n"),
            ("x = (a)\n", "a", "b or c", "x = (b or c)\n"),
            ("x = not(a)or(b)\n", "a", "c", "x = not(c)or(b)\n"),
            ("def f():\n    return(a, b)\n", "(a, b)", "c", "def f():\n    return(c)\n"),
            ("x = 'a'if b else'c'\n", "'a'", "d", "x = (d)if b else'c'\n"),
            ("f(i for i in a)\n", "(i for i in a)", "b", "f(b)\n"),
            ("f((i for i in a), 1)\n", "(i for i in a)", "b", "f(b, 1)\n"),
            ("x = 1, 2\n", "1, 2", "b", "x = b\n"),
            ("x = ((1, 2))\n", "(1, 2)", "b", "x = (b)\n"),
            ("f(a, device_map='auto')\n", "device_map='auto'", "device_map=None", "f(a, device_map=None)\n"),
            ("f(*a, **b)\n", "b", "c or d", "f(*a, **c or d)\n"),
            ("x = 5 .real\n", "5", "6", "x = 6 .real\n"),
            ("@a.b\ndef f(): pass\n", "a.b", "c(d)", "@c(d)\ndef f(): pass\n"),
            ("def f(x=a, *, y: b = c) -> d: ...\n", "c", "e", "def f(x=a, *, y: b = e) -> d: ...\n"),
            ("x = [i for i in a if b]\n", "b", "c if d else e", "x = [i for i in a if (c if d else e)]\n"),
            ("if (n := a) > 1: pass\n", "a", "b", "if (n := b) > 1: pass\n"),
            ("x = 'é' + a\n", "a", "b", "x = 'é' + b\n"),
            ("x = f'é{a!r:>4}'\n", "a", "b.c", "x = f'é{b.c!r:>4}'\n"),
            ("x = f'{a}'\n", "a", "{1}", "x = f'{({1})}'\n"),
            ("x = f'{a}'\n", "a", "lambda: 1", "x = f'{(lambda: 1)}'\n"),
            ("async def f():\n    await a\n", "a", "b", "async def f():\n    await b\n"),
            ("match a:\n    case 1 if b: pass\n", "b", "c", "match a:\n    case 1 if c: pass\n"),
        ],
    )  # fmt: skip
    def test_expression(self, source: str, old: str, code: str, after: str) -> None:
        check(source, [Replace(find(source, old), code)], after)

    def test_what_libcst_cannot_walk_over_is_refused_in_one_line(self) -> None:
        # LibCST 1.9.0 cannot walk over it: there already, and where an edit brings it.
        for source, old, code in (
            ("y = a or(lambda: b)\nx = c\n", "c", "d"),
            ("x = a or(c)\n", "c", "lambda: d"),
            ("x = not(c)\n", "c", "d if e else f"),
        ):
            result = fix(source, Replace(find(source, old), code))
            assert result.data == source.encode()
            (skipped,) = result.skipped
            assert skipped.kind is SkipKind.REFUSED
            assert "LibCST cannot walk over the code" in skipped.reason

    @pytest.mark.parametrize(
        ("source", "after"),
        [
            ("x = (\n    a\n    if b\n    else c\n)\n", "x = y(a)\n"),
            ("x = (\n    a if b else c\n).z\n", "x = y(a).z\n"),
            ("return (\n    a\n    if b\n    else c\n)\n", "return y(a)\n"),
            ("x = (a if b else c)\n", "x = (y(a))\n"),
            ("x = (\n    a if b else c  # why\n)\n", "x = (\n    y(a)  # why\n)\n"),
            ("x = (\n    a  # why\n    if b\n    else c\n)\n", "# why\nx = y(a)\n"),
            (f"{'x' * 75} = (\n    a if b else c\n)\n", f"{'x' * 75} = (\n    y(a)\n)\n"),
        ],
    )
    def test_brackets_that_only_broke_lines_go(self, source: str, after: str) -> None:
        function = f"def f():\n{indent(source, '    ')}"
        where = span(next(n for n in ast.walk(ast.parse(function)) if isinstance(n, ast.IfExp)))
        assert fixed(function, Replace(where, "y(a)")) == f"def f():\n{indent(after, '    ')}"

    def test_comments_of_the_old_code_move_above(self) -> None:
        source = "def g():\n    x = f(\n        a,  # first\n        # second\n        b,\n    )  # end\n"
        old = ast.get_source_segment(source, ast.parse(source).body[0].body[0].value)  # type: ignore[attr-defined]
        assert old is not None
        check(
            source,
            [Replace(find(source, old), "h()")],
            "def g():\n    # first\n    # second\n    x = h()  # end\n",
        )

    def test_comments_that_the_new_code_brings_do_not_double(self) -> None:
        source = "def g():\n    x = f(\n        a,  # first\n    )\n"
        old = "f(\n        a,  # first\n    )"
        check(
            source,
            [Replace(find(source, old), f"$save({old})")],
            "from distlint.runtime import save\n\n\n"
            "def g():\n    x = save(f(\n        a,  # first\n    ))\n",
        )

    def test_one_statement_by_several_keeps_its_comments(self) -> None:
        source = "if a:\n    # why\n    x = f(  # inside\n    )  # end\n"
        check(
            source,
            [Replace(find(source, "x = f("), "b()\nif c:\n    d()")],
            "if a:\n    # why\n    # inside\n    b()  # end\n    if c:\n        d()\n",
        )

    def test_a_compound_statement(self) -> None:
        source = "if a:  # test\n    b  # body\nelse:\n    # rest\n    c\nd\n"
        check(
            source,
            [Replace(find(source, "if a"), "$save(a)")],
            "from distlint.runtime import save\n\n# test\n# body\n# rest\nsave(a)\nd\n",
        )

    def test_blank_lines_below_the_last_block_stay(self) -> None:
        before = "def f():\n    with a:\n        b\n\n            \nc\n"
        after = "def f():\n    if d:\n        with a:\n            b\n\n            \nc\n"
        check(before, [Replace(find(before, "with a"), "if d:\n    with a:\n        b")], after)

    def test_one_line_suite(self) -> None:
        source = "if a: b  # both\n"
        where = find(source, "b")
        check(source, [Replace(where, "c()")], "if a: c()  # both\n")
        check(source, [Replace(where, "c()\nd()")], "if a:\n    c()  # both\n    d()\n")

    def test_semicolons(self) -> None:
        source = "a = 1; b = 2; c = 3  # all\n"
        where = find(source, "b = 2")
        check(source, [Replace(where, "d()")], "a = 1; d(); c = 3  # all\n")
        check(source, [Replace(where, "if d:\n    e()")], "a = 1\nif d:\n    e()\nc = 3  # all\n")

    def test_elif(self) -> None:
        source = "if a:\n    b\n# then\nelif c:  # c\n    d\nelse:\n    e\n"
        where = span(ast.parse(source).body[0].orelse[0])  # type: ignore[attr-defined]
        check(source, [Replace(where, "f()")], "if a:\n    b\n# then\n# c\nelse:\n    f()\n")

    def test_indentation_follows_the_neighbours(self) -> None:
        source = "def f():\n    a\ndef g():\n\tb\n"
        check(
            source,
            [Replace(find(source, "b"), "if c:\n    d\n")],
            "def f():\n    a\ndef g():\n\tif c:\n\t\td\n",
        )

    def test_where_an_f_string_cannot_take_it(self) -> None:
        source = "x = f'{a}'\n"
        result = fix(source, Replace(find(source, "a"), "b['c']"))
        assert result.data == source.encode()
        assert result.skipped[0].kind is SkipKind.REFUSED
        assert result.skipped[0].reason == "the new code cannot stand inside the f-string"


class TestDelete:
    @pytest.mark.parametrize(
        ("source", "old", "after"),
        [
            ("a\n# b\ndel b  # why\n\nc\n", "del b", "a\n# b\n# why\n\nc\n"),
            ("a\n\n\ndel b\n\nc\n", "del b", "a\n\n\nc\n"),
            ("if x:\n    del b  # why\nc\n", "del b", "if x:\n    # why\n    pass\nc\n"),
            ("if x:\n    a\n    del b  # why\n    # end\nc\n", "del b",
             "if x:\n    a\n    # why\n    # end\nc\n"),
            ("if x:\n    del b\n\n    c\n", "del b", "if x:\n    c\n"),
            ("a; del b; c  # all\n", "del b", "a; c  # all\n"),
            ("a; del b\n", "del b", "a\n"),
            ("if x: del b  # why\n", "del b", "if x: pass  # why\n"),
            ("if x: a; del b\n", "del b", "if x: a\n"),
            ("if x:\n    a\nelse:\n    del b\n", "del b", "if x:\n    a\nelse:\n    pass\n"),
            ("del b\n", "del b", ""),
            ("# top\ndel b\n", "del b", "# top\n"),
            ("@d\ndef f():\n    pass\n\n\nc\n", "def f", "c\n"),
            ("a\ndel b", "del b", "a"),
        ],
    )  # fmt: skip
    def test_plain(self, source: str, old: str, after: str) -> None:
        check(source, [Delete(find(source, old))], after)

    @pytest.mark.parametrize(
        ("source", "after"),
        [
            ("if 'A' in os.environ:\n    del b  # why\nc\n", "# why\nc\n"),
            ("if os.environ.get('A') is not None:\n    del b\nc\n", "c\n"),
            ("if a and not b.c == 1:\n    if d:\n        del b\nc\n", "c\n"),
            ("if f():\n    del b\nc\n", "if f():\n    pass\nc\n"),
            ("if a:\n    e\n    del b\nc\n", "if a:\n    e\nc\n"),
            ("if a:\n    del b\nelse:\n    e\nc\n", "if a:\n    pass\nelse:\n    e\nc\n"),
            ("if a:\n    e\nelse:  # or\n    del b\nc\n", "if a:\n    e\n    # or\nc\n"),
            ("if a:\n    e\nelif d:\n    del b  # why\nc\n", "if a:\n    e\n    # why\nc\n"),
            ("if a: e\nelif d: del b\nc\n", "if a: e\nc\n"),
            ("try:\n    del b\nexcept KeyError:  # none\n    pass\nc\n", "# none\nc\n"),
            ("try:\n    del b\nfinally:\n    e\nc\n", "try:\n    pass\nfinally:\n    e\nc\n"),
            ("with contextlib.suppress(KeyError):\n    del b\nc\n", "c\n"),
            ("for a in d:\n    del b\nc\n", "for a in d:\n    pass\nc\n"),
            ("def f():\n    if a:\n        del b\n", "def f():\n    pass\n"),
        ],
    )
    def test_prune(self, source: str, after: str) -> None:
        check(source, [Delete(find(source, "del b"), prune=True)], after)


class TestInsert:
    @pytest.mark.parametrize(
        ("source", "at", "after_it", "result"),
        [
            ("a\n\n# about b\nb\n", "b", False, "a\n\nnew()\n# about b\nb\n"),
            ("a\n\nb\n", "a", True, "a\nnew()\n\nb\n"),
            ("if x:\n    a\n    # end\nb\n", "a", True, "if x:\n    a\n    new()\n    # end\nb\n"),
            ("if x: a  # both\n", "a", False, "if x:\n    new()\n    a  # both\n"),
            ("a; b; c\n", "b", False, "a\nnew()\nb\nc\n"),
            ("a", "a", True, "a\nnew()"),
            ("@d\ndef f():\n    pass\n", "def f", False, "new()\n@d\ndef f():\n    pass\n"),
            ("while x:\n\ta\n", "a", True, "while x:\n\ta\n\tnew()\n"),
        ],
    )
    def test_plain(self, source: str, at: str, after_it: bool, result: str) -> None:
        check(source, [Insert(find(source, at), "new()", after=after_it)], result)

    def test_before_an_elif(self) -> None:
        source = "def f():\n  if a:\n    b\n  # then\n  elif c:\n    d\n  else: e\n"
        where = span(ast.parse(source).body[0].body[0].orelse[0])  # type: ignore[attr-defined]
        check(
            source,
            [Insert(where, "new()")],
            "def f():\n  if a:\n    b\n  else:\n    new()\n    # then\n    if c:\n      d\n    else: e\n",
        )

    def test_comments_of_the_new_code_come_along(self) -> None:
        check(
            "a\n",
            [Insert(find("a\n", "a"), "# one\nb()\n\n# two\nc()\n# three")],
            "# one\nb()\n\n# two\n# three\nc()\na\n",
        )


class TestWrapInWith:
    def test_several_statements_with_comments_and_strings(self) -> None:
        source = (
            "def f():\n"
            "    a\n"
            "\n"
            "    # about b\n"
            "    b = '''one\n"
            "  two\n"
            "\n"
            "    three'''\n"
            "\n"
            "    # about c\n"
            "    c(d,\n"
            "      e) + \\\n"
            "        g  # tail\n"
            "    # the end\n"
        )
        check(
            source,
            [WrapInWith(find(source, "b = "), find(source, "c(d"), "$temporary_attr(x, y=1) as z")],
            "from distlint.runtime import temporary_attr\n"
            "\n"
            "\n"
            "def f():\n"
            "    a\n"
            "\n"
            "    # about b\n"
            "    with temporary_attr(x, y=1) as z:\n"
            "        b = '''one\n"
            "  two\n"
            "\n"
            "    three'''\n"
            "\n"
            "        # about c\n"
            "        c(d,\n"
            "          e) + \\\n"
            "        g  # tail\n"
            "    # the end\n",
        )

    def test_the_unit_of_the_block_is_kept(self) -> None:
        source = "def f():\n    a\ndef g():\n\tif b:\n\t\tc\n"
        check(
            source,
            [WrapInWith(find(source, "if b"), find(source, "if b"), "d")],
            "def f():\n    a\ndef g():\n\twith d:\n\t\tif b:\n\t\t\tc\n",
        )

    def test_with_deletions_at_both_ends_in_the_same_fix(self) -> None:
        source = "old = m.x  # save\nm.x = 1  # set\nwork()\nm.x = old  # restore\nrest()\n"
        check(
            source,
            [
                Delete(find(source, "old = m.x")),
                Delete(find(source, "m.x = 1")),
                WrapInWith(find(source, "work()"), find(source, "work()"), "$temporary_attr(m, x=1)"),
                Delete(find(source, "m.x = old")),
            ],
            "from distlint.runtime import temporary_attr\n\n"
            "# save\n# set\nwith temporary_attr(m, x=1):\n    work()\n# restore\nrest()\n",
        )  # fmt: skip

    def test_part_of_a_line(self) -> None:
        source = "if x: a; b; c  # all\n"
        check(
            source,
            [WrapInWith(find(source, "b"), find(source, "c"), "d")],
            "if x:\n    a\n    with d:\n        b\n        c  # all\n",
        )

    def test_nested_in_one_fix(self) -> None:
        source = "a\nb\nc\n"
        check(
            source,
            [
                WrapInWith(find(source, "a"), find(source, "c"), "x"),
                WrapInWith(find(source, "a"), find(source, "b"), "y"),
            ],
            "with x:\n    with y:\n        a\n        b\n    c\n",
        )

    def test_a_blank_line_stays_blank(self) -> None:
        source = "a\n\nb = (\n\n    1)\n"
        check(
            source,
            [WrapInWith(find(source, "a"), find(source, "b = ("), "x")],
            "with x:\n    a\n\n    b = (\n\n        1)\n",
        )

    def test_statements_of_two_blocks_are_refused(self) -> None:
        source = "if x:\n    a\nb\n"
        result = fix(source, WrapInWith(find(source, "a"), find(source, "b"), "c"))
        assert result.skipped[0].reason == (
            "the first and the last statement to wrap are not of one block"
        )


class TestMove:
    def test_out_of_a_guard(self) -> None:
        source = "if main:\n    # all of it\n    state = gather(m)  # big\n    save(state)\n"
        check(
            source,
            [Move(find(source, "state ="), find(source, "if main"))],
            "# all of it\nstate = gather(m)  # big\nif main:\n    save(state)\n",
        )

    def test_out_of_a_line_that_another_fix_takes_apart(self) -> None:
        source = "z = 0\n# note\na = 1; b = 2\n"
        move = Move(find(source, "a = 1"), find(source, "z = 0"))
        split = Replace(find(source, "b = 2"), "if q:\n    r")
        check(source, [move, split], "a = 1\nz = 0\n# note\nif q:\n    r\n")

    def test_prune(self) -> None:
        source = "if main:  # only\n    barrier()\nrest\n"
        edit = Move(find(source, "barrier()"), find(source, "if main"), prune=True)
        check(source, [edit], "barrier()\n# only\nrest\n")

    def test_with_a_change_inside(self) -> None:
        source = "def f():\n    if main:\n        x = g(m)\n        h(x)\n"
        check(
            source,
            [
                Move(find(source, "x = g(m)"), find(source, "if main")),
                Replace(find(source, "m", 0), "n"),
            ],
            "def f():\n    x = g(n)\n    if main:\n        h(x)\n",
        )

    def test_a_block_to_another_depth(self) -> None:
        source = "if a:\n  for b in c:\n    # in\n    d\n\n    e\n  f\n"
        check(
            source,
            [Move(find(source, "for b"), find(source, "if a"))],
            "for b in c:\n  # in\n  d\n\n  e\nif a:\n  f\n",
        )

    def test_into_itself_is_refused(self) -> None:
        source = "if a:\n    b\n"
        result = fix(source, Move(find(source, "if a"), find(source, "b")))
        assert result.skipped[0].reason == "a statement cannot move into itself"


class TestSeveralFixes:
    def request(self, line: int, code: str, *edits: Edit) -> FixRequest:
        return FixRequest(line, 0, code, edits)

    def test_independent_ones_apply_together(self) -> None:
        source = "a.b\nc.d\n"
        first = self.request(1, "DL1", Replace(find(source, "a"), "$unwrap(a)"))
        second = self.request(2, "DL1", Replace(find(source, "c"), "$unwrap(c)"))
        result = apply_fixes(source.encode(), [second, first])
        assert result.applied == (first, second)
        assert result.data == (b"from distlint.runtime import unwrap\n\nunwrap(a).b\nunwrap(c).d\n")

    def test_the_first_by_position_and_code_wins(self) -> None:
        source = "a.b\n"
        winner = self.request(1, "DL1", Replace(find(source, "a"), "x"))
        loser = self.request(1, "DL2", Delete(find(source, "a.b")))
        result = apply_fixes(source.encode(), [loser, winner])
        assert result.applied == (winner,)
        assert result.conflicts
        (skip,) = result.skipped
        assert (skip.fix, skip.kind) == (loser, SkipKind.CONFLICT)
        assert skip.reason == "it overlaps the fix of DL1 at line 1"

    def test_all_edits_or_none(self) -> None:
        source = "a\nb\n"
        request = self.request(1, "DL1", Replace(find(source, "a"), "c"), Delete(Span(7, 0, 7, 1)))
        result = apply_fixes(source.encode(), [request])
        assert result.data == source.encode()
        assert result.skipped[0].reason == "line 7 is not in the file"

    def test_equal_fixes_are_one(self) -> None:
        source = "a\n"
        edit = Insert(find(source, "a"), "$barrier()")
        fixes = [self.request(1, "DL1", edit), self.request(2, "DL1", edit)]
        result = apply_fixes(source.encode(), fixes)
        assert result.applied == tuple(fixes)
        assert result.data.count(b"barrier()") == 1

    def test_two_inserts_at_one_place_take_turns(self) -> None:
        source = "a\nb\n"
        first = self.request(1, "DL1", Insert(find(source, "a"), "x()", after=True))
        second = self.request(2, "DL1", Insert(find(source, "b"), "y()"))
        result = apply_fixes(source.encode(), [first, second])
        assert result.applied == (first,)
        assert result.conflicts

    def test_nothing_is_put_beside_a_statement_that_goes(self) -> None:
        source = "a\nb\n"
        gone = self.request(1, "DL1", Delete(find(source, "a")))
        beside = self.request(2, "DL1", Insert(find(source, "a"), "x()"))
        for first, second in ((gone, beside), (replace(beside, line=0), gone)):
            result = apply_fixes(source.encode(), [first, second])
            assert result.applied == (first,)
            assert result.conflicts

    def test_a_function_goes_with_its_decorators(self) -> None:
        source = "@deco(a)\ndef f():\n    pass\nb\n"
        inside = self.request(1, "DL1", Replace(find(source, "a"), "c"))
        whole = self.request(2, "DL1", Delete(find(source, "def f")))
        result = apply_fixes(source.encode(), [inside, whole])
        assert result.applied == (inside,)
        assert result.conflicts
        assert apply_fixes(source.encode(), [whole]).data == b"b\n"

    def test_one_that_breaks_the_file_is_thrown_away_alone(self) -> None:
        source = "def f():\n    a\nb\n"
        broken = self.request(1, "DL1", Replace(find(source, "a"), "from __future__ import *"))
        good = self.request(2, "DL1", Replace(find(source, "b"), "c"))
        result = apply_fixes(source.encode(), [broken, good])
        if broken not in result.applied:  # Python's parser may leave this to the compiler
            assert result.skipped[0].kind is SkipKind.INTERNAL
        assert good in result.applied

    def test_a_replacement_inside_of_what_is_wrapped(self) -> None:
        source = "a\nb.c\nd\n"
        wrap = self.request(1, "DL1", WrapInWith(find(source, "a"), find(source, "d"), "x"))
        inner = self.request(2, "DL2", Replace(find(source, "b"), "y(b)"))
        result = apply_fixes(source.encode(), [wrap, inner])
        assert result.data == b"with x:\n    a\n    y(b).c\n    d\n"

    def test_wraps_that_cross_take_turns(self) -> None:
        source = "a\nb\nc\n"
        first = self.request(1, "DL1", WrapInWith(find(source, "a"), find(source, "b"), "x"))
        second = self.request(2, "DL1", WrapInWith(find(source, "b"), find(source, "c"), "y"))
        assert apply_fixes(source.encode(), [first, second]).applied == (first,)


class TestRefusals:
    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (b"x = (\n", "LibCST cannot parse the file (line "),
            (b"print 'x'\n", "LibCST cannot parse the file (line 1: "),
            # LibCST 1.9.0 wants a space there, which Python does not.
            (b"def f(a):\n    return(a if b else c)\n", "LibCST cannot parse the file (Must have"),
            (b"x = '\xff'\n", "the file cannot be decoded ("),
            (b"# coding: nonsense\nx\n", "the file cannot be decoded (unknown encoding: nonsense)"),
            (b"x = 1\0\n", "LibCST cannot parse the file (line 1: "),
        ],
    )
    def test_files_that_cannot_be_edited(self, data: bytes, reason: str) -> None:
        request = FixRequest(1, 0, "DL1", (Delete(Span(1, 0, 1, 1)),))
        result = apply_fixes(data, [request])
        assert result.data == data
        assert result.refusal is not None
        assert result.refusal.startswith(reason)
        assert "\n" not in result.refusal
        assert [skip.reason for skip in result.skipped] == [result.refusal]

    @pytest.mark.parametrize(
        ("edit", "reason"),
        [
            (Delete(Span(1, 0, 1, 2)), "no statement stands at 1:0-1:2"),
            (Replace(Span(1, 2, 1, 3), "b"), "no statement or expression stands at 1:2-1:3"),
            (Replace(Span(1, 4, 1, 5), "b c"), "the new code `b c` is not an expression"),
            (Insert(Span(1, 0, 1, 5), "b c"), "the new code `b c` does not parse"),
            (Insert(Span(1, 0, 1, 5), "# b"), "the new code `# b` holds no statement"),
            (
                WrapInWith(Span(1, 0, 1, 5), Span(1, 0, 1, 5), "b c"),
                "the header `b c` does not parse after `with`",
            ),
            (Delete(Span(9, 0, 9, 1)), "line 9 is not in the file"),
        ],
    )
    def test_edits_that_do_not_fit(self, edit: Edit, reason: str) -> None:
        result = fix("a = 1\n", edit)
        assert result.data == b"a = 1\n"
        assert [(skip.kind, skip.reason) for skip in result.skipped] == [(SkipKind.REFUSED, reason)]

    def test_what_parses_and_does_not_compile(self) -> None:
        result = fix("f(1, a=2)\n", Replace(Span(1, 2, 1, 3), "a=1"))
        assert result.data == b"f(1, a=2)\n"
        assert "not an expression" in result.skipped[0].reason
        result = fix("f(a=2, b=3)\n", Replace(Span(1, 0, 1, 11), "f(a=2, b=3, a=4)"))
        assert result.data == b"f(a=2, b=3)\n"
        assert result.skipped[0].reason == (
            "the edited file does not compile (keyword argument repeated: a, line 1)"
        )

    def test_what_did_not_compile_before(self) -> None:
        result = fix("return 1\n", Replace(Span(1, 7, 1, 8), "2"))
        assert result.data == b"return 2\n"

    def test_what_the_encoding_lacks(self) -> None:
        data = b"# coding: ascii\nx = 1\n"
        result = fix(data, Replace(find(data.decode(), "1"), "'\u00e9'"))
        assert result.data == data
        assert result.skipped[0].reason == "'é' of the new code cannot be written in ascii"

    def test_deep_nesting(self) -> None:
        source = "x = " + "(" * 90 + "1" + ")" * 90 + "\n" + "y = " + "-" * 3000 + "1\n"
        result = apply_fixes(
            source.encode(), [FixRequest(1, 0, "DL1", (Delete(Span(1, 0, 1, 1)),))]
        )
        assert result.data == source.encode()
        assert result.skipped
