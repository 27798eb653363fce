"""Losses that a LightningModule logs as they are on one rank, with nothing known that watches them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.replicated import engines
from distlint.patterns import pattern

from .lightning import MODULES, SYNCED, Logged, put_together

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Class, Function

_STEPS: Final = ("training_step", "validation_step", "test_step")
_LOSS: Final = pattern(r"loss", re.IGNORECASE)
_SEVERAL: Final = pattern(
    r"sync_dist|global_rank|rank_zero|is_global_zero|torch\.distributed|DDPStrategy|strategy\s*=|num_nodes"
)
"""What a file holds that is written for several ranks. Of a LightningModule alone nothing is known of the launch."""
_REDUCES: Final = pattern(r"reduce|gather|sync(?!_dist)", re.IGNORECASE)


def logged_losses(model: Model) -> Iterator[Logged]:
    """The first loss that each step of a LightningModule logs without a reduction."""
    if _is_trained_otherwise(model):
        return
    for module in model.modules:
        if "Lightning" not in module.source.text and "pl." not in module.source.text:
            continue
        if not _SEVERAL.search(module.source.text):
            continue
        for cls in module.all_classes:
            if any(base.endswith(MODULES) for base in model.program.mro(cls)[1]):
                yield from _of_class(model, cls)


def _is_trained_otherwise(model: Model) -> bool:
    """Whether a program puts models into DDP itself and makes no Trainer of Lightning.

    microsoft/VQ-Diffusion 3c98e77 image_synthesis/taming/models/vqgan.py:92: the first stage is loaded, and stays as it is.
    """
    modules = model.program.modules.values()
    return bool(model.answer(engines)) and not any("Trainer" in m.source.text for m in modules)


def _of_class(model: Model, cls: Class) -> Iterator[Logged]:
    for method in _methods(cls):
        calls = own_nodes(method, ast.Call)
        if any(_REDUCES.search(last_name(call)) for call in calls):
            continue
        for call in sorted(calls, key=lambda each: each.lineno):
            if _is_loss(call) and not put_together(model, cls, method, call.args[-1]):
                yield Logged(method.module, call, monitored=False, shown=True)
                break


def _methods(cls: Class) -> list[Function]:
    """The steps that a class has, and the methods of its own that these call."""
    steps = [cls.methods[name] for name in _STEPS if name in cls.methods]
    found = list(steps)
    for step in steps:
        for node in own_nodes(step, ast.Call):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if (
                    name in cls.methods and cls.methods[name] not in found
                ):
                    found.append(cls.methods[name])
    return found


def _is_loss(call: ast.Call) -> bool:
    """Whether a call is `self.log("loss", loss)` or `self.log_dict(losses)`, and leaves each rank its own."""
    if any(keyword.arg is None or keyword.arg in SYNCED for keyword in call.keywords):
        return False
    match dotted_name(call.func), call.args:
        case "self.log", [name, value]:
            named = bool(_LOSS.search(ast.unparse(name)))
            return named and isinstance(value, ast.Name | ast.Subscript | ast.Call)
        case "self.log_dict", [ast.Name(id=name)]:
            return bool(_LOSS.search(name))
    return False
