"""Functions that only run in one process, by the sizes of the layout that they build."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from distlint.analysis import Source, build_model
from distlint.analysis.live.several import is_one_kernel

HEAD = "import torch, torch.distributed as dist\nfrom trainer import Context, launch\n"


def single(text: str) -> set[str]:
    text = HEAD + dedent(text)
    model = build_model([Source("m.py", "m", text, ast.parse(text))])
    return {function.qualname for function in model.alone}


@pytest.mark.parametrize(
    "text",
    [
        """
        def f(path):
            context = Context(data_parallel_size=1, pipeline_parallel_size=1)
            dist.barrier()
        """,
        """
        def layout(dp=1, tp=1):
            return dict(dp=dp, tp=tp)

        def load():
            config = layout()
            return Context(data_parallel_size=config.dp, tensor_parallel_size=config.tp)

        def f(path):
            model = load()
        """,
        """
        def f(path):
            dist.barrier()

        def test():
            launch(tp=1, dp=1)(f)(path="x")
        """,
    ],
)
def test_one(text: str) -> None:
    assert "f" in single(text)


@pytest.mark.parametrize(
    "text",
    [
        """
        def f(path):
            context = Context(data_parallel_size=2, pipeline_parallel_size=1)
        """,
        """
        def f(path, replicas):
            context = Context(data_parallel_size=replicas, pipeline_parallel_size=1)
        """,
        # The launcher decides how many replicas there are.
        """
        def f(path):
            context = Context(tensor_model_parallel_size=1, pipeline_model_parallel_size=1)
        """,
        """
        def f(path):
            dist.barrier()

        def test():
            launch(tp=1, dp=1)(f)(path="x")
            launch(tp=2, dp=1)(f)(path="x")
        """,
        """
        def f(path):
            launch(tp=1, dp=1)(print)
            dist.barrier()
        """,
    ],
)
def test_several(text: str) -> None:
    assert "f" not in single(text)


@pytest.mark.parametrize(
    ("trainer", "one"),
    [
        ("pl.Trainer(devices=2, strategy='ddp')", True),
        ("pl.Trainer(devices='auto', strategy=\"deepspeed_stage_3\")", True),
        ("pl.Trainer(devices=2, strategy='ddp_notebook')", False),
        ("pl.Trainer(devices=2, strategy='ddp_spawn')", False),
        ("pl.Trainer(devices=2)", False),
        ("pl.Trainer(devices=2, strategy='ddp')\nnotebook_launcher(main)", False),
    ],
)
def test_a_kernel_in_which_a_trainer_is_refused(trainer: str, one: bool) -> None:
    """lightly e8d317f examples/notebooks/pytorch_lightning_distributed/mae.ipynb."""
    text = f"import lightning.pytorch as pl\ntrainer = {trainer}\ntrainer.fit(model)\n"
    model = build_model([Source("digits.ipynb", "digits", text, ast.parse(text))])
    assert is_one_kernel(next(iter(model.modules))) is one
