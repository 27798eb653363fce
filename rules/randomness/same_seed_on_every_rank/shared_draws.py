"""Draws of a training loop that the ranks have to make alike."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import Class, Function
from distlint.analysis.program.syntax import target_names
from distlint.analysis.questions.seeding import Seed, draws_by_syntax, draws_from, seeds
from distlint.nodes import last_name, walk

from .object_draws import made_below, named_in
from .training_draws import reached, sites_of, trains, wraps_in

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module


def chooses_for_all(model: Model, function: Function, seed: Seed) -> tuple[Module, ast.Call] | None:
    """A draw of what the training loops call by which all ranks choose the parameters to train.

    LMFlow f3597db experimental/LISA-diffusion/diffusion_dpo/train_diffusion_dpo_lisa.py:74: `np.random.choice` of
    the layers, every few steps. Ranks whose streams differ would train different layers.
    """
    training = [f for f in reached(model, function) if trains(model, f)]
    for current in _with_callees(model, training):
        # A script that freezes once, and draws noise in its loop, chooses nothing.
        if current not in training and _sets_requires_grad(current):
            for node, draw in draws_by_syntax(model, current):
                if draws_from(draw, seed):
                    return current.module, node
    return None


def counts_for_all(model: Model, function: Function, seed: Seed) -> tuple[Module, ast.Call] | None:
    """A draw of the training by which all ranks choose how often a loop calls the model that they train.

    ImageReward c1392c6 ImageReward/ReFL.py:717: `random.randint(30, 39)` steps of the diffusion. Ranks whose streams
    differ wait for the slowest one, and where a forward pass is collective (FSDP, ZeRO-3) for ever.
    """
    below = reached(model, function)
    trained = {
        last_name(argument)
        for wrap in wraps_in(model, below)
        for argument in wrap.node.args
        if isinstance(argument, ast.Name | ast.Attribute)
    }
    training = [f for f in below if trains(model, f)]
    called = [s.callee for f in training for s in sites_of(model, f) if s.loops and s.callee]
    for current in _with_callees(model, [*training, *called]):
        draws = [node for node, draw in draws_by_syntax(model, current) if draws_from(draw, seed)]
        loops = [loop for loop in (walk(current.node) if draws else ()) if _calls(loop, trained)]
        for node in draws:
            names = _holding(current, node)
            if any(_is_counted_by(loop, node, names) for loop in loops):
                return current.module, node
    return None


def cuts_for_all(model: Model, function: Function, seed: Seed) -> tuple[Module, ast.Call] | None:
    """A draw of the training by which all ranks cut a batch to one length.

    SMDM 583aa47 pretrain/train_mdm_rl.py:276: `length = torch.randint(…)`, then `input_ids[:, :length]`. Of ranks whose
    streams differ, each step waits for the longest, and a short one weighs as much as a long one.
    """
    for current in (f for f in reached(model, function) if trains(model, f)):
        ends = [
            part.upper
            for part in walk(current.node, ast.Slice)
            if isinstance(part.lower, ast.Constant | None) and part.upper is not None
        ]
        used = {n.id for end in ends for n in walk(end, ast.Name)}
        for node, draw in draws_by_syntax(model, current):
            if draws_from(draw, seed) and used & _holding(current, node):
                return current.module, node
    return None


def _holding(function: Function, draw: ast.Call) -> set[str]:
    """The names that get what is drawn, or something made of it."""
    return {
        name
        for values in walk(function.node, ast.Assign)
        if any(n is draw for n in walk(values.value))
        for target in values.targets
        for name in target_names(target)
    }


def shuffles_for_all(model: Model, function: Function) -> tuple[Module, ast.Call] | None:
    """A draw by which a sampler of the program orders the data on all ranks, of which each then takes its part.

    Amphion d3de90f models/base/base_sampler.py:118: `random.shuffle(batches)`. accelerate deals the batches by their
    position: of ranks whose orders differ, two get the same samples, and others nobody gets.
    """
    work = made_below(model, reached(model, function))
    found = set(work)
    # `decorrelate()` sets all streams, also those that other calls have seeded alike.
    common = [s for s in seeds(model, function.module) if s.site.function is function]
    for current in work:
        for meaning in named_in(model, current):
            if isinstance(meaning, Class):
                drawn = _orders(model, meaning, common) if _is_sampler(model, meaning) else None
                if drawn is not None:
                    return meaning.module, drawn
            elif "sampler" in meaning.name.lower() and meaning not in found:
                found.add(meaning)
                work.append(meaning)
    return None


def _orders(model: Model, sampler: Class, common: list[Seed]) -> ast.Call | None:
    """What a sampler draws from a common stream in use; not where it seeds for each epoch itself."""
    for name, method in sampler.methods.items():
        calls = list(walk(method.node, ast.Call))
        if name == "__init__" or any("seed" in last_name(call.func) for call in calls):
            continue
        for each in (method, *_asked(model, calls)):
            for node, draw in draws_by_syntax(model, each):
                if any(draws_from(draw, seed) for seed in common):
                    return node
    return None


def _asked(model: Model, calls: list[ast.Call]) -> Iterator[Function]:
    """The methods by whose names a sampler asks what it keeps for the order.

    waifu-diffusion trainer/diffusers_trainer.py:487: `self.bucket.get_batch_iterator()`, where a bucket shuffles.
    """
    names = {
        call.func.attr
        for call in calls
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Attribute)
    }
    for module in model.program.modules.values():
        for cls in module.all_classes:
            yield from (cls.methods[name] for name in sorted(names & cls.methods.keys()))


def _is_sampler(model: Model, cls: Class) -> bool:
    return any(base.endswith("Sampler") for base in model.program.mro(cls)[1])


def _calls(loop: ast.AST, trained: set[str]) -> bool:
    """Whether a node is a loop that calls what is trained."""
    return isinstance(loop, ast.For | ast.While) and any(
        isinstance(node, ast.Call) and last_name(node.func) in trained
        for statement in loop.body
        for node in walk(statement)
    )


def _is_counted_by(loop: ast.AST, draw: ast.Call, names: set[str]) -> bool:
    """Whether a draw, or a name that holds it, bounds a loop: `range(n)`, `steps[:n]`, `while i < n`."""
    match loop:
        case ast.While(test=ast.Compare() as test):
            bounds: list[ast.AST] = [test]
        case ast.For(iter=iterable):
            bounds = [
                node
                for node in walk(iterable)
                if isinstance(node, ast.Slice)
                or (isinstance(node, ast.Call) and last_name(node.func) == "range")
            ]
        case _:
            return False
    counted = {id(part) for bound in bounds for part in walk(bound)}
    counted -= {id(part) for bound in bounds for size in _sizes(bound) for part in walk(size)}
    return id(draw) in counted or any(
        isinstance(part, ast.Name) and part.id in names and id(part) in counted
        for bound in bounds
        for part in walk(bound)
    )


def _sizes(bound: ast.AST) -> Iterator[ast.AST]:
    """What says how many numbers were drawn, which is the same on all ranks: `len(times)`, `times.shape[0]`."""
    for node in walk(bound, ast.Call, ast.Attribute):
        match node:
            case ast.Call(func=ast.Name(id="len")) | ast.Attribute(attr="shape" | "size" | "numel"):
                yield node


def _with_callees(model: Model, functions: list[Function]) -> list[Function]:
    """Functions and what they call, at any depth."""
    work = list(dict.fromkeys(functions))
    found = set(work)
    for current in work:
        for part in walk(current.node):
            meaning = (
                model.resolve(current.module, part.func) if isinstance(part, ast.Call) else None
            )
            if isinstance(meaning, Function) and meaning not in found:
                found.add(meaning)
                work.append(meaning)
    return work


def _sets_requires_grad(function: Function) -> bool:
    attributes = list(walk(function.node, ast.Attribute))
    return any(
        each.attr == "requires_grad_"
        or (each.attr == "requires_grad" and isinstance(each.ctx, ast.Store))
        for each in attributes
    )
