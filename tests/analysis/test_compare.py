"""Comparisons of two classes of ranks, against every way in which Python itself runs the program.

A small program is generated: collectives under conditions that all ranks share, under tests of the rank,
in loops, with every way out of `for`, `try`, `with` and the function. Python runs it as rank 0 and as
rank 1 for every answer to the shared conditions, and what both have called is compared.

- Where both call the same for all answers, the comparison must find no difference.
- A condition that decides for one class alone may go either way there: both must be able to call the
  same sequences for each answer to those conditions that decide for both. Where they are not, the
  comparison must find a difference.

Not generated, for there the comparison knowingly says less or more than Python: a `raise` that nobody
catches (no claim on its ways), a handler with collectives (it may always be reached), two loops over the
same values (each asks anew how long they are), a test in a loop of which one part alone may change from
one iteration to the next (all of its parts are asked anew).
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from distlint.analysis import Source, build_model
from distlint.analysis.interpreter.ir import Layer
from distlint.analysis.interpreter.ranks import MAIN, OTHER
from distlint.analysis.traces.compare import Comparison, Difference

HEAD = """
import torch.distributed as dist
from contextlib import contextmanager

@contextmanager
def around(x):
    dist.all_gather_object(x, x)
    try:
        yield
    finally:
        dist.reduce(x, 0)

def shallow(x):
    dist.barrier()

def deep(x):
    shallow(x)
    dist.all_reduce(x)

"""
COLLECTIVES = ("dist.barrier()", "dist.all_reduce(x)", "shallow(x)", "deep(x)")
FLAGS = ("a", "b", "c")
ASKED = re.compile(r"\b(?:[abc]|i\d\.flag)\b")
MAX_WAYS = 2_000


def difference_in(text: str) -> Difference | None:
    """What the comparison says of `main` as rank 0 and another rank run it."""
    model = build_model([Source("m.py", "m", text, ast.parse(text))])
    list(model.divergences())
    function = next(f for f in model.program.functions() if f.name == "main")
    runs = model.summaries_of(function)
    variant = next(iter(runs.contexts.values()), {}) if runs is not None else {}
    if OTHER not in variant:
        return None  # a program that does not tell the ranks apart
    left, right = (model.graphs.root(variant[rank]) for rank in (MAIN, OTHER))
    comparison = Comparison(model.graphs, Layer.ALWAYS)
    difference = comparison.difference(left, right)
    assert not comparison.limits
    return difference


# -- programs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scope:
    """Where a statement stands: how deep in blocks and loops, and in a `finally`, which nothing leaves."""

    depth: int = 0
    loops: int = 0
    final: bool = False


@st.composite
def conditions(draw: st.DrawFn, scope: Scope) -> str:
    constant = [*FLAGS, "rank == 0", "rank != 0"]
    anew = [f"i{depth}.flag" for depth in range(scope.loops)]
    match draw(st.sampled_from(["plain", "plain", "plain", "not", "and", "or"])):
        case "and" | "or" as word:
            return f"{draw(st.sampled_from(constant))} {word} {draw(st.sampled_from(constant))}"
        case "not":
            return f"not {draw(st.sampled_from(constant + anew))}"
    return draw(st.sampled_from(constant + anew))


@st.composite
def blocks(draw: st.DrawFn, scope: Scope) -> list[str]:
    count = draw(st.integers(1, 3 if scope.depth < 2 else 2))
    return [line for _ in range(count) for line in draw(statements(scope))]


def inside(head: str, block: list[str]) -> list[str]:
    return [head, *(f"    {line}" for line in block)]


@st.composite
def statements(draw: st.DrawFn, scope: Scope) -> list[str]:
    kinds = ["act", "act"]
    if scope.depth < 4:
        kinds += ["if", "if", "else", "try", "with", "caught"]
        if scope.loops < 2 and not scope.final:
            kinds += ["for", "for"]
    if not scope.final:
        kinds += ["return"]
        if scope.loops:
            kinds += ["break", "continue"]
    deeper = Scope(scope.depth + 1, scope.loops, scope.final)
    match draw(st.sampled_from(kinds)):
        case "if":
            return inside(f"if {draw(conditions(scope))}:", draw(blocks(deeper)))
        case "else":
            return [
                *inside(f"if {draw(conditions(scope))}:", draw(blocks(deeper))),
                *inside("else:", draw(blocks(deeper))),
            ]
        case "for":
            over = "items" if scope.loops == 0 else f"i{scope.loops - 1}.parts"
            loop = Scope(scope.depth + 1, scope.loops + 1)
            return inside(f"for i{scope.loops} in {over}:", draw(blocks(loop)))
        case "try":
            final = Scope(scope.depth + 1, scope.loops, True)
            return [*inside("try:", draw(blocks(deeper))), *inside("finally:", draw(blocks(final)))]
        case "caught":
            body = [*draw(blocks(deeper)), "raise ValueError(x)"]
            return [*inside("try:", body), *inside("except ValueError:", ["x = x + 1"])]
        case "with":
            return inside("with around(x):", draw(blocks(deeper)))
        case "return" | "break" | "continue" as leave:
            # Under a condition: what follows a plain one would be dead.
            return inside(f"if {draw(conditions(scope))}:", [leave])
    return [draw(st.sampled_from(COLLECTIVES))]


@st.composite
def programs(draw: st.DrawFn) -> str:
    body = draw(blocks(Scope()))
    for loop in ("items", "i0.parts"):
        assume(sum(f" in {loop}:" in line for line in body) <= 1)
    lines = ["rank = dist.get_rank()", *body]
    return HEAD + "\n".join(inside("def main(a, b, c, items, x):", lines)) + "\n"


# -- what Python does ----------------------------------------------------------------------------------


class Recorder:
    """What one rank calls, in order."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.called: list[str] = []

    def get_rank(self) -> int:
        return self.rank

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.called.append(name)


Answers = dict[str, Any]


def ways(text: str) -> list[Answers]:
    """Every answer to what the program asks, loops of up to two iterations."""
    inner = [{}] if ".parts" not in text else [{"parts": p} for p in _lists("i1.flag" in text)]
    flags: list[Answers] = [{"flag": f} for f in (True, False)] if "i0.flag" in text else [{}]
    each = [{**flag, **parts} for flag in flags for parts in inner]
    loops = [list(p) for n in range(3) for p in itertools.product(each, repeat=n)]
    used = [flag for flag in FLAGS if _reads(text, flag)]
    answers = [
        {**dict.fromkeys(FLAGS, False), **dict(zip(used, told, strict=True)), "items": items}
        for told in itertools.product((True, False), repeat=len(used))
        for items in (loops if "items:" in text else [[]])
    ]
    assume(len(answers) <= MAX_WAYS)
    return answers


def _lists(flagged: bool) -> Iterator[list[Answers]]:
    each: list[Answers] = [{"flag": f} for f in (True, False)] if flagged else [{}]
    for count in range(3 if not flagged else 2):
        yield from (list(parts) for parts in itertools.product(each, repeat=count))


def _reads(text: str, name: str) -> bool:
    main = text[text.index("def main") :]
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(ast.parse(main)))


def performed(text: str, ways: list[Answers], rank: int) -> list[tuple[str, ...]]:
    """What one rank calls, for each of the answers."""
    dist = Recorder(rank)
    code = compile("\n".join(text.splitlines()[3:]), "m.py", "exec")
    names: dict[str, Any] = {"dist": dist, "contextmanager": contextmanager}
    exec(code, names)
    found = []
    for answers in ways:
        dist.called = []
        items = [
            SimpleNamespace(
                flag=item.get("flag"),
                parts=[SimpleNamespace(flag=p.get("flag")) for p in item.get("parts", ())],
            )
            for item in answers["items"]
        ]
        names["main"](*(answers[flag] for flag in FLAGS), items, 0)
        found.append(tuple(dist.called))
    return found


def decides(ways: list[Answers], done: list[tuple[str, ...]], flag: str) -> bool:
    """Whether a flag changes what a rank calls, under some answer to everything else."""
    seen: dict[str, tuple[str, ...]] = {}
    for answers, calls in zip(ways, done, strict=True):
        rest = repr({name: told for name, told in answers.items() if name != flag})
        if seen.setdefault(rest, calls) != calls:
            return True
    return False


def may_part(
    text: str, ways: list[Answers], left: list[tuple[str, ...]], right: list[tuple[str, ...]]
) -> bool:
    """Whether the classes may call different sequences, for one answer to what decides for both.

    Never where what decides for one of them alone is asked twice, be it by a loop: it may have two answers.
    """
    both = [f for f in FLAGS if decides(ways, left, f) and decides(ways, right, f)]
    before, _, behind = text[text.index("rank = ") :].partition(" in items:")
    asked = [name for part in (before, behind, behind) for name in ASKED.findall(part)]
    if any(asked.count(name) > 1 for name in set(asked) - set(both)):
        return False
    found: dict[tuple[bool, ...], tuple[set[Any], set[Any]]] = {}
    for answers, mine, theirs in zip(ways, left, right, strict=True):
        sets = found.setdefault(tuple(answers[f] for f in both), (set(), set()))
        sets[0].add(mine)
        sets[1].add(theirs)
    return any(mine != theirs for mine, theirs in found.values())


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(programs())
def test_the_comparison_says_what_python_does(text: str) -> None:
    answers = ways(text)
    left, right = performed(text, answers, 0), performed(text, answers, 1)
    difference = difference_in(text)
    if left == right:
        assert difference is None, f"a difference where there is none:\n{text}"
    elif may_part(text, answers, left, right):
        assert difference is not None, f"no difference where there is one:\n{text}"
