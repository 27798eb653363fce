"""Trainers whose own `_save` drops the state that was gathered for it."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.syntax import own_nodes
from distlint.knowledge import facts
from distlint.launch.deepspeed import stage_of
from distlint.launch.project import Format

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

_TRAINER: Final = "transformers.Trainer"
_GIVEN: Final = "state_dict"


def dropped_states(model: Model) -> Iterator[tuple[Function, ast.Call]]:
    """The calls of `state_dict()` in a Trainer's `_save` in place of the state that it is given.

    transformers 5.23.0 trainer.py, `save_model`: under ZeRO-3 and FSDP the state is gathered on all ranks, and
    given to `_save`, which one rank runs.
    """
    for module in model.modules:
        for cls in module.all_classes if "_save" in module.source.text else ():
            method = cls.methods.get("_save")
            if (
                method is not None
                and _may_be_sharded(model, module)
                and _GIVEN in method.parameters
                and _TRAINER in set(facts.with_bases(model.program.mro(cls)[1]))
                and not any(_asks(node) for node in own_nodes(method))
            ):
                for node in own_nodes(method):
                    match node:
                        case ast.Call(func=ast.Attribute(attr="state_dict", value=owner)) if (
                            ast.unparse(owner) in ("self.model", "self.model_wrapped")
                        ):
                            yield method, node


def _asks(node: ast.AST) -> bool:
    """Whether a node asks whether a state was given."""
    return isinstance(node, ast.Compare) and ast.unparse(node.left) == _GIVEN


def _may_be_sharded(model: Model, module: Module) -> bool:
    """Whether a configuration around a file asks for ZeRO-3; under stages below each rank has the whole state.

    FlagEmbedding's research folders have each their own.
    """
    around = posixpath.dirname(posixpath.dirname(module.path))
    return any(
        stage_of(file.values) == 3
        and (file.path.startswith(f"{around}/") or "/" not in file.path or not around)
        for file in model.launch.of(Format.DEEPSPEED)
    )
