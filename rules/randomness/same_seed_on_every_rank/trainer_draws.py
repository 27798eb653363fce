"""What the steps of a Trainer of the program draw: transformers' Trainer seeds all ranks alike when it is made."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Class, Function, Module
from distlint.analysis.program.linked import importers, linked
from distlint.analysis.program.memory import all_remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.seeding import draws_by_syntax, makes_torch_differ
from distlint.knowledge import facts

from .sample_draws import has_shape, keeps_in_step
from .training_draws import NOT_TRAINING, harm_of, should_differ

_TRAINER: Final = "transformers.Trainer"
"""transformers 5.23.0 transformers/trainer.py: `set_seed(self.args.seed)` in the constructor, and nothing else before the steps."""
_STEPS: Final = ("compute_loss", "training_step")
"""The methods that a Trainer runs in each step."""


@all_remembered
def drawn_by_trainers(model: Model, module: Module) -> Iterator[tuple[Module, ast.Call, Class]]:
    """The draws for the samples of a batch, each with its file, of the Trainers of a file: the worst of each class.

    DiffuLLaMA LLaMA-Factory/src/llamafactory/train/ddm/trainer.py:146: `compute_loss()` has a method draw times and masks.
    """
    if not any(step in module.source.text for step in _STEPS):
        return
    trainers = [
        cls for cls in module.all_classes if _TRAINER in facts.with_bases(model.program.mro(cls)[1])
    ]
    if not trainers or not _is_started(model, module):
        return
    around = linked(model.program, module)
    if any(makes_torch_differ(model, each, in_workers=False) for each in around):
        return
    for cls in trainers:
        drawn = [
            (harm_of(draw), method.module, node)
            for method in _run_in_steps(model, cls)
            for node, draw in draws_by_syntax(model, method)
            if draw.stream == "torch"
            and has_shape(node)
            and keeps_in_step(method, node)
            and should_differ(model, method, node, draw)
        ]
        if drawn:
            _, where, node = min(drawn, key=lambda each: each[0])
            yield where, node, cls


def _is_started(model: Model, module: Module) -> bool:
    """Whether a script that leads to a file is started on several processes."""
    return any(model.starts_several(each) for each in importers(model.program, module))


def _run_in_steps(model: Model, cls: Class) -> list[Function]:
    """The methods of a class that a step runs, and the functions of the program that these call."""
    found = [cls.methods[name] for name in _STEPS if name in cls.methods]
    for current in found:
        for call in own_nodes(current, ast.Call):
            meaning = model.resolve(current.module, call.func)
            match call.func:
                case ast.Attribute(value=ast.Name(id="self"), attr=name):
                    meaning = cls.methods.get(name)
            if (
                isinstance(meaning, Function)
                and meaning not in found
                and not any(word in meaning.name.lower() for word in NOT_TRAINING)
            ):
                found.append(meaning)
    return found
