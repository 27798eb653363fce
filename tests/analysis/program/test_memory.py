"""What is found of a program is its own: another sees nothing of it, and it is freed with the program."""

from __future__ import annotations

import ast
import gc
import weakref

from distlint.analysis import Model, Source, build_model
from distlint.analysis.program.syntax import assigned_names, assignments

CODE = """
import torch.distributed as dist

def main(rank):
    step = {step}
    for number in range(step):
        last = number
    if rank == 0:
        dist.barrier()

main(dist.get_rank())
"""


def _model(step: int) -> Model:
    text = CODE.format(step=step)
    return build_model([Source("train.py", "train", text, ast.parse(text))])


def test_two_projects_do_not_see_each_other() -> None:
    """Both stay usable side by side, whatever is asked of the other meanwhile."""
    first, second = _model(1), _model(2)
    found = {}
    for _ in range(2):
        for name, model in (("first", first), ("second", second)):
            function = model.program.modules["train"].functions["main"]
            (value,) = assignments(function)["step"]
            found[name] = ast.unparse(value), len(list(model.divergences()))
    assert found == {"first": ("1", 1), "second": ("2", 1)}


def test_an_answer_is_kept_by_what_it_is_about() -> None:
    function = _model(1).program.modules["train"].functions["main"]
    assert assignments(function) is assignments(function)
    function.memory.clear()
    assert ast.unparse(assignments(function)["step"][0]) == "1"


def test_a_program_is_freed_with_its_model() -> None:
    model = _model(1)
    assert list(model.divergences())
    function = model.program.modules["train"].functions["main"]
    assert isinstance(function.node, ast.FunctionDef)
    loop = function.node.body[1]
    assert assigned_names(loop) == {"number", "last"}
    of_loop, of_model = weakref.ref(loop), weakref.ref(model)
    del model, function, loop
    gc.collect()
    assert of_loop() is None
    assert of_model() is None
