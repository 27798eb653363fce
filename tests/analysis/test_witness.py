"""What a witness says of a class of ranks is what the run of that class does."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest
from test_divergence import HEAD, WRONG

from distlint.analysis import Source, build_model
from distlint.analysis.interpreter.ranks import RANK_CLASSES
from distlint.analysis.model import Model
from distlint.analysis.traces.divergence import Divergence
from distlint.analysis.traces.witness import absence, side, witness
from distlint.authoring.folders import bundled_root, rule_folders

ARMS = {"enters": True, "skips": False, "else": False}

CASES = {
    path.parent.name: path.read_text()
    for folder in rule_folders([bundled_root()])
    for path in folder.path.glob("cases*.py")
}


def model_of(text: str) -> Model:
    return build_model([Source("m.py", "m", text, ast.parse(text))])


def contradictions(model: Model, divergence: Divergence) -> list[str]:
    """The steps of a witness that no run of the class takes, though it answers the condition."""
    found = []
    shown = witness(divergence)
    runs = [pair for function in model.functions() for pair in function.summaries()]
    for heading, steps in shown.columns:
        rank = next((r for r in RANK_CLASSES if side(r).heading == heading), None)
        for step in steps:
            arm = ARMS.get(step.text.rpartition("→ ")[2])
            if rank is None or arm is None:
                continue
            taken = {
                guard.taken
                for who, run in runs
                if who is rank
                for guard in run.rank_conditions
                if (guard.node.lineno, guard.node.col_offset)
                == (step.place.line, step.place.column)
            }
            if taken and arm not in taken:
                found.append(f"{heading}, line {step.place.line}: {step.text}")
    return found


@pytest.mark.parametrize("text", CASES.values(), ids=list(CASES))
def test_witnesses_of_the_cases_of_rules(text: str) -> None:
    model = model_of(text)
    assert [c for d in model.divergences() for c in contradictions(model, d)] == []


@pytest.mark.parametrize("text", WRONG.values(), ids=list(WRONG))
def test_witnesses_of_small_programs(text: str) -> None:
    model = model_of(HEAD + dedent(text))
    assert [c for d in model.divergences() for c in contradictions(model, d)] == []


def rows(text: str) -> tuple[Divergence, list[list[str]]]:
    """The only divergence of a program, and what its witness says of each class."""
    (found,) = model_of(HEAD + dedent(text)).divergences()
    return found, [[step.text for step in steps] for _, steps in witness(found).columns]


def test_ranks_that_wait_in_an_else() -> None:
    found, (waiting, absent) = rows("""
        def main():
            if dist.get_rank() == 0:
                report()
            else:
                dist.barrier()
        """)
    assert waiting[0] == "if dist.get_rank() == 0  → else"
    assert absent[0] == "if dist.get_rank() == 0  → enters"
    assert absence(found).startswith("rank 0 takes the branch `dist.get_rank() == 0`")


def test_a_rank_that_raises_is_in_no_collective_instead() -> None:
    """open_lm, main.py: rank 0 alone stops at a loss that is not a number."""
    found, _ = rows("""
        def step(loss):
            if dist.get_rank() == 0:
                if loss.isnan():
                    return False
            return True

        def main(mode, loss, epochs):
            if dist.get_rank() == 0:
                if mode == "none":
                    raise ValueError(mode)
            for epoch in range(epochs):
                if not step(loss):
                    break
                if dist.get_rank() == 0:
                    report(epoch)
                dist.all_reduce(loss)
            dist.barrier()
        """)
    assert found.others is not None
    assert 13 not in {guard.node.lineno for guard in found.guards[-1:]}
    assert not found.explained


def test_a_break_of_a_loop_in_the_branch_leaves_nothing() -> None:
    """FSDP-Training tests/verify_2d_equivalence.py: rank 0 looks for a result, and returns where there is none."""
    found, _ = rows("""
        def compare(results, wanted, x):
            if dist.get_rank() == 0:
                same = None
                for each in results:
                    if each == wanted:
                        same = each
                        break
                if same is None:
                    return
                report(same)
            dist.all_reduce(x)
        """)
    assert absence(found).startswith("rank 0 may have returned")
