"""What is drawn for a sample of its own, by which streams that began alike fall out of step."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.seeding import draws_by_syntax
from distlint.nodes import last_name, walk

_CHOOSES: Final = frozenset({"choice", "choices", "sample"})
_UP_TO: Final = frozenset({"randint", "randrange", "uniform"})
_LOOPS: Final = (ast.For, ast.AsyncFor, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def depends_on_sample(function: Function, draw: ast.Call) -> bool:
    """Whether a draw takes one of a sample's own parts, or a number up to its size: both differ between samples.

    UniVTG 32659ac main/dataset.py:230: `random.choice(torch.where(model_inputs["saliency_scores"])[0].tolist())`.
    SpeechTokenizer 30c96fb speechtokenizer/trainer/dataset.py:64: `random.randint(0, len(audio) - size)`, which draws
    again where a number is too large.
    """
    name = last_name(draw.func)
    if name in _CHOOSES:
        bounds = draw.args[:1]
    elif name in _UP_TO:
        bounds = [*draw.args, *(k.value for k in draw.keywords)]
    else:
        return False
    return any(_names(bound) & _of_sample(function) for bound in bounds)


def chooses_sample(model: Model, function: Function, draw: ast.Call) -> bool:
    """Whether a draw of a data set says which sample it gives: one of those that its `__len__` counts.

    asteroid 92c8d83 asteroid/data/musdb18_dataset.py:142: `random.choice(self.tracks)` for each index.
    """
    if function.cls is None or function.name == "__call__":
        return False
    counts = model.program.find_method(function.cls, "__len__")
    if counts is None or last_name(draw.func) not in _CHOOSES | _UP_TO:
        return False
    held = {node.attr for node in walk(counts.node, ast.Attribute)}
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in held
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
        for bound in draw.args
        for node in walk(bound)
    )


def replaces_failed(function: Function, draw: ast.Call) -> bool:
    """Whether a data set draws another sample where it could not read the one that was asked for: no rank draws in each step.

    ClearerVoice-Studio 6b3774d train/speech_separation/dataloader/dataloader.py:192: `if inputs is not None: break`, and
    `index = random.randint(…)` behind it.
    """
    return function.name == "__getitem__" and any(
        any(part is draw for statement in block for part in walk(statement))
        for node in own_nodes(function)
        for block in _where_none_was_read(function, node)
    )


def _where_none_was_read(function: Function, node: ast.AST) -> Iterator[list[ast.stmt]]:
    """What a statement runs where something could not be read: what handles its failure, or asks for the None in its place."""
    match node:
        case ast.ExceptHandler(body=body):
            yield body
        case ast.If(
            test=ast.Compare(
                left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(value=None)]
            ),
            body=body,
            orelse=orelse,
        ) if any(_is_read(function, value) for value in assignments(function).get(name, ())):
            yield body if isinstance(op, ast.Is) else orelse


def _is_read(function: Function, value: ast.expr) -> bool:
    """Whether a call makes a value, or a tuple that it is a part of, or another data set gives it for an index.

    nougat 5a92920 nougat/utils/dataset.py:246: `sample = self.dataset[idx]`.
    """
    match value:
        case ast.Subscript(slice=ast.Name(id=name)) if name in function.parameters:
            return True
        case ast.Subscript(value=made) | ast.Starred(value=made):
            return isinstance(made, ast.Call)
    return isinstance(value, ast.Call)


def keeps_in_step(function: Function, draw: ast.Call) -> bool:
    """Whether a draw of a model takes as many numbers on every rank: one for each sample of a batch, or on a GPU.

    Not so VoiceCraft a702dfd models/voicecraft.py:207, `torch.poisson(…)` for each text of a batch of texts up to a number
    of tokens, nor on the CPU Bert-VITS2 8f7fbd8 models.py:215, `torch.randn(w.size(0), 2, w.size(2))` for the longest
    text of the rank's own batch.
    """
    if any(_is_over_sample(function, loop, draw) for loop in own_nodes(function)):
        return False
    if any(keyword.arg == "device" for keyword in draw.keywords):
        return True
    return not any(_is_length(part) for size in _sizes(draw) for part in walk(size))


def has_shape(draw: ast.Call) -> bool:
    """Whether a draw has the shape of something: one number may be a choice that all ranks have to make alike."""
    return last_name(draw.func).endswith(("_like", "_")) or any(
        any(walk(size, ast.Name, ast.Attribute)) for size in _sizes(draw)
    )


def _sizes(draw: ast.Call) -> list[ast.expr]:
    """What may say how many numbers a draw takes."""
    return [*draw.args, *(k.value for k in draw.keywords if k.arg == "size")]


def _is_length(size: ast.AST) -> bool:
    """Whether a size is of another dimension than the first, which counts the samples of a batch."""
    match size:
        case ast.Call(func=ast.Attribute(attr="size"), args=[ast.Constant(value=int(dimension))]):
            return dimension != 0
        case ast.Subscript(
            value=ast.Attribute(attr="shape"), slice=ast.Constant(value=int(dimension))
        ):
            return dimension != 0
        case ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.UnaryOp(op=ast.USub())):
            return True
    return False


@remembered
def streams_out_of_step(model: Model, function: Function) -> frozenset[str]:
    """The streams from which a method, or another of its class that it calls, draws once for each part of a sample.

    UniVL 8db88f3 dataloaders/dataloader_howto100m.py:110: `for token in tokens: prob = random.random()`. Samples of
    different lengths leave the ranks at different places of one stream.
    """
    return frozenset(
        draw.stream
        for method in _called(function)
        for node, draw in draws_by_syntax(model, method)
        if any(_is_over_sample(method, loop, node) for loop in own_nodes(method))
    )


def _called(function: Function) -> list[Function]:
    """A method, and those of its class that it calls at any depth."""
    methods = function.cls.methods if function.cls is not None else {}
    found = [function]
    for each in found:
        for node in own_nodes(each, ast.Call):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
                    if name in methods and methods[name] not in found:
                        found.append(methods[name])
    return found


def _is_over_sample(function: Function, loop: ast.AST, draw: ast.Call) -> bool:
    """Whether a draw stands in a loop over what a method is handed, or makes of it: not in one that counts."""
    if not isinstance(loop, _LOOPS) or not any(part is draw for part in walk(loop)):
        return False
    heads = [each.iter for each in getattr(loop, "generators", [loop])]
    # A collator goes through a batch, which has as many samples on every rank.
    collates = function.cls is None or function.name == "__call__"
    batch = set(function.parameters) if collates else set()
    return any(
        _names(head) & _of_sample(function) - batch
        for head in heads
        if not (isinstance(head, ast.Call) and last_name(head.func) == "range")
        or any(isinstance(part, ast.Call) and last_name(part.func) == "len" for part in head.args)
    )


@remembered
def _of_sample(function: Function) -> frozenset[str]:
    """The names of what a method is handed, beside its object, and of what is made of that."""
    found = {name for name in function.parameters if name not in ("self", "cls")}
    stores = list(_stores(function))
    grown = True
    while grown:
        grown = False
        for names, value in stores:
            if not names <= found and _names(value) & found:
                found |= names
                grown = True
    return frozenset(found)


def _stores(function: Function) -> Iterator[tuple[set[str], ast.expr]]:
    """What a function assigns or goes through, with the names that get it: of `d["x"] = y` that is `d`."""
    for node in own_nodes(
        function, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.comprehension
    ):
        match node:
            case ast.Assign(targets=targets, value=value):
                yield {name for target in targets for name in _names(target)}, value
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield _names(target), value
            case ast.AugAssign(target=target, value=value):
                yield _names(target), value
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                yield _names(target), value


def _names(node: ast.expr) -> set[str]:
    """The plain names in an expression, without the object of a method."""
    return {n.id for n in walk(node, ast.Name)} - {"self", "cls"}
