"""What is found does not depend on which function of a recursion is followed first, or called first."""

from __future__ import annotations

import ast
import itertools
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from python_runs import said, said_lines

from distlint.analysis import Source, build_model
from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.questions.filesystem import file_calls
from distlint.knowledge.schema import Effect

FUNCTIONS = ("f0", "f1", "f2")


@st.composite
def definitions(draw: st.DrawFn) -> list[str]:
    """Functions that call each other with flags, and perform collectives under flags and the rank."""
    found = []
    for name in FUNCTIONS:
        lines = [f"def {name}(flag, x):"]
        for number in range(draw(st.integers(1, 3))):
            indent = "    "
            test = draw(st.sampled_from(("", "flag", "not flag", "dist.get_rank() == 0", "x")))
            if test:
                lines.append(f"    if {test}:")
                indent = "        "
            if draw(st.booleans()):
                lines.append(f"{indent}dist.barrier()  # {name}, {number}")
            else:
                other = draw(st.sampled_from(FUNCTIONS))
                flag = draw(st.sampled_from(("True", "False", "flag", "not flag")))
                lines.append(f"{indent}{other}({flag}, x)")
        found.append("\n".join(lines))
    calls = draw(st.lists(st.sampled_from(FUNCTIONS), min_size=1, max_size=3, unique=True))
    main = "".join(f"    {name}({draw(st.booleans())}, x)\n" for name in calls)
    return [*found, f"def main(flag, items, x):\n{main}"]


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.filter_too_much],
)
@given(definitions())
def test_the_order_of_definitions_changes_nothing(functions: list[str]) -> None:
    orders = [
        functions,
        functions[::-1],
        [*functions[1:], functions[0]],
        functions[1::-1] + functions[2:],
    ]
    said_of = [said("\n\n".join(order)) for order in orders]
    assume(not any(problems for _, problems in said_of))  # a recursion without end is told
    assert len({tuple(lines) for lines, _ in said_of}) == 1, "\n\n".join(functions)


METHODS = (
    """\
    def train(self, steps):
        self.model = prepare(self.args)
        self.first = dist.get_rank() == 0
        self.step(steps)
""",
    """\
    def step(self, steps):
        self.saved = self.model
        self.log(steps)
        if steps:
            self.train(steps - 1)
""",
    """\
    def log(self, steps):
        if self.first and steps:
            dist.barrier()  # of the first alone
        self.evaluate(steps)
""",
    """\
    def evaluate(self, steps):
        self.seen = self.saved
        if steps:
            self.step(steps - 1)
""",
)
"""A trainer whose methods lead to each other and keep what the others read, as that of transformers 4.27."""


@pytest.mark.parametrize("order", list(itertools.permutations(METHODS))[::5])
def test_what_methods_of_a_recursion_assign_is_known_in_any_order(order: tuple[str, ...]) -> None:
    text = (
        "import torch.distributed as dist\nfrom models import prepare\n\n\nclass Trainer:\n"
        + "\n".join(order)
        + "\n\ndef main(steps):\n    Trainer().train(steps)\n\n\nmain(2)\n"
    )
    model = build_model([Source("m.py", "m", text, ast.parse(text))])
    lines = {text.splitlines()[d.event.node.lineno - 1].strip() for d in model.divergences()}  # type: ignore[attr-defined]
    assert lines == {"dist.barrier()  # of the first alone"}


def test_beyond_the_kinds_of_arguments_that_are_followed_nothing_is_made_up() -> None:
    """Forty calls of one function with a constant of its own each, by all ranks: they do not part."""
    names = [f"a{number}" for number in range(40)]
    asked = "".join(f"    if {name}:\n        dist.barrier()\n" for name in names)
    calls = "".join(f"    work(x, {name}=True)\n" for name in names)
    spec = ", ".join(f"{name}=False" for name in names)
    text = (
        "import torch.distributed as dist\n"
        f"def work(x, {spec}):\n{asked}\ndef main(x):\n{calls}\nmain(1)\n"
    )
    model = build_model([Source("m.py", "m", text, ast.parse(text))])
    assert list(model.divergences()) == []
    assert any("kinds of arguments" in problem.text for problem in model.problems)


def test_each_of_several_callers_gets_its_own_answer() -> None:
    """A function that two callers enter with other flags parts for the one that passes True alone."""
    work = "def work(loud, x):\n    if loud and dist.get_rank() == 0:\n        dist.barrier()"
    calls = ("def one(x):\n    work(False, x)", "def two(x):\n    work(None, x)")
    loud = "def three(x):\n    work(True, x)"
    for order in itertools.permutations((work, *calls)):
        assert said_lines("\n\n".join(order)) == []
    for order in itertools.permutations((work, *calls, loud)):
        assert said_lines("\n\n".join(order)) == ["dist.barrier()"]


def test_a_run_that_was_cut_short_is_of_its_own_ranks() -> None:
    """x-flux 4749542 src/flux/annotator/zoe/zoedepth/trainers/base_trainer.py:278: `train()` was under way for the other
    ranks when they took over rank 0's run of `save()`, which had not yet been told of the rank."""
    text = dedent(
        """
        import os

        class Trainer:
            def train(self):
                self.should_write = not self.config.distributed or self.config.rank == 0
                self.should_log = self.should_write
                self.save_checkpoint("latest.pt")
                self.model.train()

            def save_checkpoint(self, filename):
                if not self.should_write:
                    return
                if not os.path.isdir(root):
                    os.makedirs(root)

            def log_bar_plot(self, title):
                if not self.should_log:
                    pass
        """
    )
    model = build_model([Source("m.py", "m", text, ast.parse(text))])
    (made,) = (each for each in file_calls(model) if each.effect is Effect.CREATE_DIR)
    assert made.ranks == {MAIN}
