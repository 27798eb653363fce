"""Whether a model has buffers, which DDP broadcasts in front of a forward, in evaluation as well."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.questions.built import classes_of, parts, wrapped_classes
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.interpreter.values import Value
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Class, Definition, Function, Module

_LAYERS: Final = frozenset({
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
    "SyncBatchNorm",
})  # fmt: skip
"""Layers of torch that keep running statistics."""
_KEEPS: Final = frozenset({"track_running_stats", "weight", "pos_weight"})
"""Arguments by which a layer or a loss of torch keeps a buffer (torch 2.13.0 torch/nn/modules)."""
_PLAIN: Final = (
    "torch.",
    "builtins.",
    "math.",
    "numpy.",
    "einops.",
    "functools.",
    "itertools.",
    "collections.",
)
"""What makes no module that has buffers: functions of torch (`torch.hub` loads one, which is another library's), numbers, shapes."""
_OF_WEIGHTS: Final = (
    "torch.nn.utils.spectral_norm",
    "torch.nn.utils.parametri",
    "torch.nn.utils.prune.",
)
"""What keeps vectors, masks or what a weight began as in buffers (torch 2.13.0 torch/nn/utils); not `weight_norm`, which makes
two parameters of one."""
_MODELS: Final = pattern(
    r"torchvision\.models\.(?:\w+\.)*(?:resne|wide_resnet|densenet|mobilenet|efficientnet|regnet|inception|googlenet"
    r"|shufflenet|mnasnet|swin_|vgg\d+_bn|deeplabv3|fcn_|lraspp)\w*$"
)
"""Models of torchvision (0.24.0) with such layers, or with a table of positions for a buffer."""


def buffer_of(live: LiveProgram, model: Value) -> tuple[Module, ast.Call] | None:
    """Where a wrapped model gets a buffer; None where that is not seen of each class that it may be of.

    Amphion d3de90f models/vocoders/diffusion/diffwave/diffwave.py:36: `register_buffer()` in a module of the model, whose
    samples rank 0 alone draws.
    """
    if live.answer(kept_apart):
        return None
    found = [_first(live, cls) if cls is not None else None for cls in _classes(live, model)]
    return found[0] if found and None not in found else None


def has_no_buffers(live: LiveProgram, model: Value) -> bool:
    """Whether each class that a wrapped model may be of is seen as a whole, and nothing in it keeps a buffer.

    HINet 4e72315 basicsr/models/image_restoration_model.py:287: convolutions, and norms without running statistics. DDP's
    forward meets nobody then (torch 2.13.0 torch/nn/parallel/distributed.py: `modules_buffers` is empty).
    """
    classes = _classes(live, model)
    return bool(classes) and all(cls is not None and _is_bare(live, cls) for cls in classes)


def _is_bare(live: LiveProgram, cls: Class) -> bool:
    """Whether a class and all that it is built from come from the program and from torch's layers without buffers."""
    classes, functions = parts(live, cls)
    built: list[Class | Function] = [*classes, *functions]
    return (
        _first(live, cls) is None
        and all({"torch.nn.Module", "object"}.issuperset(live.program.mro(c)[1]) for c in classes)
        and not any(
            _may_bring_buffers(live, part.module, node)
            for part in built
            for node in walk(part.node, ast.Call)
        )
    )


def _may_bring_buffers(live: LiveProgram, module: Module, call: ast.Call) -> bool:
    """Whether a call may make what keeps a buffer: a norm that is told to, a loss with weights, what another library makes."""
    meaning = live.resolve(module, call.func)
    if not isinstance(meaning, str):
        return meaning is None and not (
            isinstance(call.func, ast.Attribute | ast.Name | ast.Call) or _runs_a_part(call.func)
        )
    last = meaning.rpartition(".")[2]
    if meaning.startswith(_OF_WEIGHTS):
        return True
    if meaning.startswith("torch.nn."):
        told = any(keyword.arg in _KEEPS for keyword in call.keywords)
        return told or last in _LAYERS or last.endswith("Loss")
    return not meaning.startswith(_PLAIN) or meaning.startswith("torch.hub.")


def _runs_a_part(called: ast.expr) -> bool:
    """Whether a layer that an object has made already is called: `self.ups[i](x)`, and not `NORMS[kind](width)`."""
    while isinstance(called, ast.Subscript):
        called = called.value
    return dotted_name(called).startswith("self.")


def _classes(live: LiveProgram, model: Value) -> list[Class | None]:
    """The classes that a wrapped model may be of; with None where one is not known."""
    own = live.summaries.classes.get(model.type) if model.type is not None else None
    call = live.call_at(model.wraps[-1].node) if model.wraps else None
    classes: frozenset[Class | None] = frozenset({own})
    if own is None and call is not None:
        classes = _wrapped(live, call.site)
    return _in_order(classes)


def kept_apart(live: LiveProgram) -> bool:
    """Whether the program tells DDP somewhere to broadcast no buffers."""
    return any("broadcast_buffers=False" in m.source.text for m in live.program.modules.values())


def _wrapped(live: LiveProgram, wrap: CallSite) -> frozenset[Class | None]:
    """The classes of the one model that a call wraps, beside loaders and optimizers."""
    if len(wrap.node.args) < 2:
        return wrapped_classes(live, wrap)
    known = [classes_of(live, wrap.function, node) for node in wrap.node.args]
    models = [classes for classes in known if None not in classes]
    return models[0] if len(models) == 1 else frozenset({None})


def _in_order(classes: frozenset[Class | None]) -> list[Class | None]:
    return sorted(classes, key=lambda cls: "" if cls is None else cls.full_name)


def _first(live: LiveProgram, cls: Class) -> tuple[Module, ast.Call] | None:
    """The first buffer of a class and of what it is built from."""
    for part in parts(live, cls)[0]:
        for node in walk(part.node, ast.Call):
            if (
                last_name(node.func) == "register_buffer"
                or last_name(node.func) in _LAYERS
                or _is_model(live.resolve(part.module, node.func))
            ):
                return part.module, node
    return None


def _is_model(meaning: Definition | None) -> bool:
    return isinstance(meaning, str) and _MODELS.match(meaning) is not None
