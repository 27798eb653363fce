"""Files belong together where imports join them, whichever way and over whatever others."""

from __future__ import annotations

import ast

from hypothesis import given, settings
from hypothesis import strategies as st

from distlint.analysis import Source
from distlint.analysis.program.linked import components, linked
from distlint.analysis.program.program import Program

COUNT = 7
IMPORTS = st.sets(
    st.tuples(st.integers(0, COUNT - 1), st.integers(0, COUNT - 1)).filter(lambda e: e[0] != e[1]),
    max_size=10,
)


def program_of(imports: set[tuple[int, int]]) -> Program:
    sources = []
    for number in range(COUNT):
        text = f"def f{number}(): ...\n" + "".join(
            f"from m{other} import f{other}\n" for one, other in sorted(imports) if one == number
        )
        sources.append(Source(f"m{number}.py", f"m{number}", text, ast.parse(text)))
    return Program(sources)


def reached(start: set[int], imports: set[tuple[int, int]]) -> set[int]:
    found = set(start)
    while more := {b for a, b in imports if a in found} - found:
        found |= more
    return found


@settings(deadline=None)
@given(IMPORTS)
def test_groups_that_no_import_joins(imports: set[tuple[int, int]]) -> None:
    groups = [{m.name for m in group} for group in components(program_of(imports))]
    both = imports | {(b, a) for a, b in imports}
    wanted = []
    for number in range(COUNT):
        group = {f"m{n}" for n in reached({number}, both)}
        if group not in wanted:
            wanted.append(group)
    assert groups == wanted


@settings(deadline=None)
@given(IMPORTS)
def test_who_may_hand_a_value_to_a_file(imports: set[tuple[int, int]]) -> None:
    program = program_of(imports)
    importers = reached({0}, {(b, a) for a, b in imports})
    wanted = {f"m{n}" for n in reached(importers, imports)}
    assert {m.name for m in linked(program, program.modules["m0"])} == wanted


def test_files_imported_under_one_name_in_two_arms() -> None:
    texts = {
        "one": "def make(): ...\n",
        "two": "def make(): ...\n",
        "user": "def main(x):\n    if x:\n        from one import make\n    else:\n        from two import make\n",
    }
    program = Program(Source(f"{n}.py", n, text, ast.parse(text)) for n, text in texts.items())
    linked_to = {m.name for m in linked(program, program.modules["one"])}
    assert linked_to == {"one", "two", "user"}
