"""Long functions are compared; where a bound is met, the problems of the model say so."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from distlint.analysis import Source, build_model
from distlint.analysis.interpreter.ir import Layer
from distlint.analysis.traces import fronts
from distlint.analysis.traces.answers import Answers
from distlint.analysis.traces.divergence import Divergence
from distlint.analysis.traces.nodes import BranchNode, LoopNode, own_nodes
from distlint.analysis.traces.slicing import slice_of

ARMS = 900


def compared(text: str) -> tuple[list[Divergence], list[str]]:
    """The divergences of a module, and what was not compared."""
    text = dedent(text)
    model = build_model([Source("m.py", "m", text, ast.parse(text))])
    return list(model.divergences()), [problem.text for problem in model.problems]


TRAINING = """
from accelerate import Accelerator

def train(args, loader, model, optimizer):
    accelerator = Accelerator()
    is_main_process = accelerator.is_main_process
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(args.epochs):
        for step, batch in enumerate(loader):
            loss = model(batch)
            accelerator.backward(loss)
            if accelerator.sync_gradients and args.max_grad_norm != 0.0:
                accelerator.clip_grad_norm_(model.parameters(), args.max_grad_norm)
            if accelerator.sync_gradients:
                if args.save_every_n_steps is not None and step % args.save_every_n_steps == 0:
                    accelerator.wait_for_everyone()
                    if accelerator.is_main_process:
                        if args.save_every_n_steps and step > 0:
                            accelerator.save_state(step)
                        if args.remove_old:
                            remove(step)
            if args.log_with is not None and step % args.log_every == 0:
                accelerator.log({"loss": loss})
            if step >= args.max_train_steps:
                break
        accelerator.wait_for_everyone()
        if args.save_every_n_epochs is not None:
            saving = (epoch + 1) % args.save_every_n_epochs == 0
            if is_main_process and saving:
                accelerator.save_state(epoch)
    if is_main_process and (args.save_state or args.save_at_end):
        accelerator.save_state("end")
"""


def test_a_training_loop_is_compared_to_its_end() -> None:
    found, problems = compared(TRAINING)
    assert not problems
    lines = [getattr(d.anchor, "lineno", 0) for d in found]
    assert [TRAINING.splitlines()[line - 1].strip() for line in sorted(lines)] == [
        "accelerator.save_state(step)",
        "accelerator.save_state(epoch)",
        'accelerator.save_state("end")',
    ]


def chain(arm: str, last: str) -> str:
    """A function with one `if`, many `elif` and what follows them."""
    lines = ["import torch.distributed as dist", "def main(mode, rank):"]
    for number in range(ARMS):
        lines += [f"    {'el' if number else ''}if mode == 'm{number}':", f"        {arm}"]
    return "\n".join([*lines, *last.splitlines()]) + "\n"


LAST = """\
    if dist.get_rank() == 0:
        dist.barrier()"""


@pytest.mark.parametrize("arm", ["dist.barrier()", "print(mode)", "return"])
def test_hundreds_of_elif_are_compared(tmp_path: Path, arm: str) -> None:
    path = tmp_path / "train.py"
    path.write_text(chain(arm, LAST), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "distlint", "check", "--no-cache", "-v", str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert f"train.py:{2 * ARMS + 4}:9: error DL101" in done.stdout
    assert "compared" not in done.stderr
    assert done.returncode == 1


def test_what_is_in_an_arm_of_hundreds_is_compared() -> None:
    text = chain(
        "dist.barrier()", "    else:\n        if dist.get_rank() == 0:\n            dist.barrier()"
    )
    found, problems = compared(text)
    assert not problems
    assert [getattr(d.anchor, "lineno", 0) for d in found] == [2 * ARMS + 5]


def test_more_than_six_differences_of_one_function_are_all_found() -> None:
    branch = "\n    if dist.get_rank() == 0:\n        dist.barrier()\n    dist.all_reduce(x)"
    found, problems = compared(f"import torch.distributed as dist\ndef main(x):{branch * 9}\n")
    assert not problems
    assert len(found) == 9


def test_a_comparison_that_is_given_up_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fronts, "MAX_STATES", 3)
    _, problems = compared(TRAINING)
    assert "train: not compared to its end, more than 3 states to compare" in problems


def test_a_condition_of_one_rank_that_is_given_up_is_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fronts, "MAX_STATES", 1)
    _, problems = compared(
        """
        import time
        import torch.distributed as dist
        def main(x):
            if time.time() > 3:
                dist.barrier()
            dist.all_reduce(x)
        """
    )
    assert problems == [
        "main: not compared to its end, what follows each answer in line 5: "
        "more than 1 states to compare"
    ]


def test_calls_that_are_not_followed_deeper_are_a_problem() -> None:
    functions = "".join(f"def f{n}(x):\n    f{n + 1}(x)\n\n" for n in range(30))
    _, problems = compared(
        "import torch.distributed as dist\n"
        f"{functions}def f30(x):\n    dist.all_reduce(x)\n\n"
        "def main(x):\n    if dist.get_rank() == 0:\n        f0(x)\n"
    )
    assert problems == ["main: not compared to its end, f24: calls more than 24 deep"]


def test_a_context_manager_that_enters_itself_is_a_problem_of_its_users_alone() -> None:
    found, problems = compared(
        """
        from contextlib import contextmanager
        import torch.distributed as dist

        @contextmanager
        def again(x):
            with again(x):
                dist.all_reduce(x)
                yield

        def uses(x):
            with again(x):
                dist.barrier()

        def main(x):
            if dist.get_rank() == 0:
                dist.barrier()
        """
    )
    assert [getattr(d.anchor, "lineno", 0) for d in found] == [17]
    assert "uses: not compared to its end, nested too deeply" in problems


ENDLESS = """
import torch.distributed as dist

def main(asked, size):
    while True:
        if size > 8:
            break
        if asked(size):
            dist.barrier()
        size = asked(size)
    dist.barrier()
"""


def test_each_turn_of_a_loop_without_end_asks_its_conditions_anew() -> None:
    """pytorch-lightning 2.6.6 tuner/batch_size_scaling.py:254: with every answer kept, it went round for ever."""
    model = build_model([Source("m.py", "m", ENDLESS, ast.parse(ENDLESS))])
    function = next(f for f in model.program.functions() if f.name == "main")
    runs = model.summaries_of(function)
    assert runs is not None
    (_, summary), *_ = runs.summaries()
    nodes = own_nodes(model.graphs.root(summary))
    (head,) = (n for n in nodes if isinstance(n, LoopNode))
    assert head.exit is None
    slice_ = slice_of(model.graphs, Layer.ALWAYS, frozenset())
    walk = fronts.Walk(slice_, Answers(frozenset(), {}), fronts.Budget(), {})
    answered = {n.symbol: False for n in nodes if isinstance(n, BranchNode)}
    assert answered
    assert walk.settle(head.body, (), answered) == (head, ())
