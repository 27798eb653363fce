"""Data sets that each turn of a loop over epochs makes and shuffles anew, under a sampler with one order."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.handed import calls_of
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.unset_options import is_settled
from distlint.nodes import last_name, walk

from .epochs import EpochLoop, epoch_loops

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.model import Model

_SHUFFLES: Final = frozenset({"shuffle", "randperm", "permutation"})


def shuffled_anew(model: Model, function: Function, sampler: ast.Call) -> bool:
    """Whether the samples come in another order in each epoch, though the sampler's is one: their data set is shuffled there.

    coconut 27273cb run.py:259: `dataset_train = get_cot_latent_dataset(…, shuffle=True)` in the loop over epochs.
    """
    data = [*sampler.args[:1], *(k.value for k in sampler.keywords if k.arg == "dataset")]
    named = {ast.unparse(each) for each in data}
    return _drawn_in_each_call(model, function, sampler, named) or any(
        isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) in named
        and node.lineno < sampler.lineno
        and _shuffles(model, function, node.value)
        for loop in epoch_loops(function)
        if any(part is sampler for part in walk(loop)) and not any(map(_seeds, walk(loop)))
        for node in walk(loop)
    )


def _drawn_in_each_call(
    model: Model, function: Function, sampler: ast.Call, named: set[str]
) -> bool:
    """Whether what a sampler is made for is put together anew by numbers that are drawn, in a function that each epoch calls.

    HEIST cf96c6c utils/dataloader.py:144: the nodes of a graph are permuted, parted and grouped for each loader, which
    main_ddp.py:155 makes in the loop over epochs.
    """
    training = [(u, call) for u, call in calls_of(model.program, function) if any(epoch_loops(u))]
    if not training or not all(
        any(part is call for loop in epoch_loops(user) for part in walk(loop, ast.Call))
        for user, call in training
    ):
        return False
    drawn = [
        node
        for node in own_nodes(function, ast.Assign)
        if node.lineno < sampler.lineno
        and any(_permutes(model, function, call) for call in walk(node.value, ast.Call))
        and not _may_be_passed_by(model, function, node)
    ]
    return bool(drawn) and bool(named & _follow_from(function, drawn))


def _permutes(model: Model, function: Function, call: ast.Call) -> bool:
    """Whether a call draws an order, itself or in the function that it goes to."""
    if _draws_order(call):
        return True
    maker = model.resolve(function.module, call.func)
    return isinstance(maker, Function) and (
        any(map(_draws_order, own_nodes(maker, ast.Call)))
        and not any(map(_seeds, own_nodes(maker)))
    )


def _may_be_passed_by(model: Model, function: Function, node: ast.AST) -> bool:
    """Whether a function may leave a statement out: one below a test that does not hold in every call."""
    return any(
        not is_settled(model.program, function, test.test, True)
        for test in own_nodes(function, ast.If)
        if any(part is node for part in walk(test))
    )


def _follow_from(function: Function, drawn: list[ast.Assign]) -> set[str]:
    """The variables of a function whose values follow from some assignments: by others, loops and what lists are given."""
    found = {n.id for each in drawn for target in each.targets for n in walk(target, ast.Name)}
    known = 0
    while known < len(found):
        known = len(found)
        for node in own_nodes(function, ast.Assign, ast.For, ast.Call):
            match node:
                case ast.Assign(targets=targets, value=value):
                    pass
                case ast.For(target=target, iter=value):
                    targets = [target]
                case ast.Call(func=ast.Attribute(value=receiver, attr="append"), args=[value]):
                    targets = [receiver]
                case _:
                    continue
            if any(n.id in found for n in walk(value, ast.Name)):
                found |= {n.id for target in targets for n in walk(target, ast.Name)}
    return found


def shuffles_below(model: Model, loop: EpochLoop) -> bool:
    """Whether each turn has the data set put its samples into another order in place, which no class of torch's can.

    CogDL 281f474 cogdl/trainer/trainer.py:360: `if hasattr(train_dataset, "shuffle"): train_dataset.shuffle()`, of what
    the loader gives; `data = data.shuffle()` of a library makes another data set instead.
    """
    return (
        any(map(_shuffles_in_place, walk(loop)))
        and not any(map(_seeds, walk(loop)))
        and not model.answer(_shuffles_by_seed)
    )


def _shuffles_in_place(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="shuffle"), args=[], keywords=[])):
            return True
    return False


def _shuffles_by_seed(live: LiveProgram) -> bool:
    """Whether a `shuffle()` of the program begins a stream anew, and so draws one order again and again."""
    return any(
        any(map(_seeds, own_nodes(method))) or "generator" in ast.unparse(method.node)
        for module in live.program.modules.values()
        if "def shuffle(" in module.source.text
        for cls in module.all_classes
        if (method := cls.methods.get("shuffle")) is not None
    )


def _shuffles(model: Model, function: Function, value: ast.expr) -> bool:
    """Whether a value is put into an order that is drawn, in the expression or in a function that is told to."""
    for call in (node for node in walk(value, ast.Call)):
        if _draws_order(call):
            return True
        maker = model.resolve(function.module, call.func)
        told = [k.value for k in call.keywords if k.arg == "shuffle"]
        if (
            isinstance(maker, Function)
            and any(getattr(each, "value", False) is True for each in told)
            and any(_draws_order(n) for n in own_nodes(maker, ast.Call))
            and not any(map(_seeds, own_nodes(maker)))
        ):
            return True
    return False


def _seeds(node: ast.AST) -> bool:
    """Whether a call begins a stream anew: what is drawn behind it is drawn again in each epoch."""
    return isinstance(node, ast.Call) and "seed" in last_name(node.func).lower()


def _draws_order(call: ast.Call) -> bool:
    """Whether a call draws an order from a stream that goes on: by a seed or a generator of its own it may draw one again."""
    given = {keyword.arg for keyword in call.keywords}
    return (
        last_name(call.func) in _SHUFFLES
        and given.isdisjoint({"seed", "generator"})
        and not any(isinstance(each, ast.Constant) for each in call.args)
    )
