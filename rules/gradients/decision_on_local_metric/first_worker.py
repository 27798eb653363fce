"""Metrics that each worker computes of its part of a batch, of which the controller keeps those of the first worker."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.reported import is_evaluation
from distlint.knowledge.shares import SYNCHRONISES
from distlint.nodes import last_name, walk
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Class, Function

_DIVIDES: Final = "COMPUTE_PROTO"
"""verl's modes of dispatch in which each worker gets its part of the batch, and the answers are put together (verl 0.2.0
verl/single_controller/base/decorator.py: `DP_COMPUTE_PROTO`, `MEGATRON_COMPUTE_PROTO`)."""
_METRICS: Final = "metrics"


@dataclass(frozen=True, slots=True, eq=False)
class OfFirst:
    """Where the parts of all workers are put together, the argument that is the first one's, and the workers' answers."""

    function: Function
    kept: ast.expr
    answers: tuple[tuple[Function, ast.Call], ...]

    @property
    def evaluates(self) -> bool:
        """Whether a worker answers with metrics of an evaluation: those of a step of the training go to a log alone."""
        return any(is_evaluation(_METRICS, function) for function, _ in self.answers)


def kept_of_first(model: Model) -> Iterator[OfFirst]:
    """The methods that join the answers of workers, and keep metrics of one.

    Search-R1 a14dc3a verl/protocol.py:537: `DataProto(batch=…, meta_info=data[0].meta_info)`, and
    verl/workers/fsdp_workers.py:388 `DataProto(meta_info={'metrics': metrics})`. verl 0.6 merges them.
    """
    if not any(_DIVIDES in m.source.text for m in model.program.modules.values()):
        return
    for module in model.modules:
        if "[0]." in module.source.text:
            for cls in module.all_classes:
                for method in cls.methods.values():
                    for keyword in _of_first(cls, method):
                        answers = tuple(_answers(model, cls, keyword.arg or ""))
                        if answers:
                            yield OfFirst(method, keyword.value, answers)


def _of_first(cls: Class, method: Function) -> Iterator[ast.keyword]:
    """What a new object of a class takes from the first of those that it is made of: `meta_info=data[0].meta_info`."""
    for node in own_nodes(method, ast.Call):
        if last_name(node) in (cls.name, "cls"):
            for keyword in node.keywords:
                match keyword.value:
                    case ast.Attribute(
                        value=ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=0)),
                        attr=attr,
                    ) if attr == keyword.arg and name in method.parameters:
                        yield keyword


def _answers(model: Model, cls: Class, kept: str) -> Iterator[tuple[Function, ast.Call]]:
    """The answers of workers that hold metrics of their part where the class keeps the first one's."""
    for module in model.program.modules.values():
        if _DIVIDES not in module.source.text or f"{cls.name}(" not in module.source.text:
            continue
        for function in module.all_functions:
            if not any(_DIVIDES in ast.unparse(each) for each in function.decorators):
                continue
            for node in own_nodes(function, ast.Call):
                if last_name(node) == cls.name:
                    for keyword in node.keywords:
                        metrics = _metrics(keyword.value) if keyword.arg == kept else None
                        if metrics is not None and _is_of_part(model, function, metrics):
                            yield function, node


def _metrics(value: ast.expr) -> ast.Name | None:
    match value:
        case ast.Dict(keys=keys, values=values):
            for key, each in zip(keys, values, strict=True):
                match key, each:
                    case ast.Constant(value=name), ast.Name() if name == _METRICS:
                        return each
    return None


def _is_of_part(model: Model, function: Function, metrics: ast.Name) -> bool:
    """Whether metrics are made by a call that is given the worker's part, and that puts no metrics together."""
    made = [v for v in assignments(function).get(metrics.id, []) if isinstance(v, ast.Call)]
    names = {last_name(call) for call in made if call.args or call.keywords}
    return bool(names) and not any(
        isinstance(node, ast.Call)
        and SYNCHRONISES.search(last_name(node))
        and any(_METRICS in ast.unparse(given) for given in node.args)
        for each in (function, *(f for f in model.program.functions() if f.name in names))
        for node in walk(each.node)
    )
