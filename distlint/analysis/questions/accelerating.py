"""Where an Accelerator trains: what a function, or those around it, do with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.syntax import assignments, own_nodes, target_names
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.program.definitions import Class, Function

ACCELERATOR: Final = "accelerate.Accelerator"
_TRAINS: Final = frozenset({"prepare", "accumulate", "backward", "clip_grad_norm_"})


@dataclass(frozen=True, slots=True)
class Training:
    """An Accelerator that trains in reach of a function.

    `text` is how the function names it (`accelerator`, `self.accelerator`); `calls` are the calls of
    its methods here, in the functions around, and in the other methods of the class.
    """

    text: str
    calls: tuple[CallGroup, ...]

    def of(self, method: str) -> CallGroup | None:
        """The first call of one of its methods."""
        return next((call for call in self.calls if call.site.method == method), None)


def uses(live: LiveProgram) -> dict[Function, list[CallGroup]]:
    """The calls of an Accelerator's methods in the reported modules, by function."""
    found: dict[Function, list[CallGroup]] = {}
    for call in live.calls():
        if call.site.name.startswith(f"{ACCELERATOR}."):
            found.setdefault(call.site.function, []).append(call)
    return found


def training(live: LiveProgram, function: Function) -> Training | None:
    """The Accelerator that trains in reach of a function; None where there is none, or several."""
    known = live.answer(uses)
    family = [each for near in function.outward() if near.cls for each in _family(live, near.cls)]
    methods = [m for cls in family for m in cls.methods.values()]
    near_by = dict.fromkeys([*_near(function), *methods])
    calls = tuple(call for near in near_by for call in known.get(near, ()))
    if not any(call.site.method in _TRAINS for call in calls):
        return None
    own = {_owner(call) for call in calls if call.site.function is function}
    if len(own) > 1:
        same = _second_names(function)
        own = {same.get(name, name) for name in own}
    every = own or {_owner(call) for call in calls}
    text = next(iter(every)) if len(every) == 1 else ""
    return Training(text, calls) if text and _is_in_reach(function, text) else None


def _owner(call: CallGroup) -> str:
    """What a method of the Accelerator is called on, as it is written."""
    return dotted_name(call.site.node.func).rpartition(".")[0]


def _second_names(function: Function) -> dict[str, str]:
    """The variables of a function that are other names of an attribute: `accelerator = self.accelerator`.

    denoising-diffusion-pytorch faed4db denoising_diffusion_pytorch/repaint.py:1079: `train` uses both names.
    """
    return {
        name: owner
        for name, (value, *more) in assignments(function).items()
        if not more and (owner := dotted_name(value)).startswith("self.")
    }


def _family(live: LiveProgram, cls: Class) -> list[Class]:
    """A class, its bases and those that derive from it: they share the object's Accelerator.

    trlx 3340c2f trlx/trainer/accelerate_base_trainer.py:574: a subclass prepares what the base class trains.
    """
    return [*live.program.mro(cls)[0], *live.program.subclasses(cls)]


def accelerators(function: Function) -> list[ast.Call]:
    """The calls of a function that make an Accelerator, by name."""
    return [
        n for n in own_nodes(function) if isinstance(n, ast.Call) and last_name(n) == "Accelerator"
    ]


def _near(function: Function) -> Iterator[Function]:
    """A function, those around it, and the other methods of their class."""
    for around in function.outward():
        yield around
        if around.cls is not None:
            yield from (m for m in around.cls.methods.values() if m is not around)


def _is_in_reach(function: Function, text: str) -> bool:
    """Whether a name means here what it means in the functions around: `self` is that of a method."""
    head = text.partition(".")[0]
    return head != "self" or any("self" in f.parameters for f in function.outward())


_OF_DEEPSPEED: Final = frozenset({"DummyOptim", "DummyScheduler"})
"""What stands for the optimizer and scheduler that DeepSpeed's configuration names (accelerate 1.15.0
accelerate/utils/deepspeed.py:337): they have no `step()` of their own, and only `_prepare_deepspeed` replaces them."""


def is_of_deepspeed(node: ast.expr) -> bool:
    """Whether an expression makes accelerate's stand-in for an optimizer or scheduler of DeepSpeed's configuration."""
    return isinstance(node, ast.Call) and last_name(node.func) in _OF_DEEPSPEED


def in_deepspeed_alone(prepares: CallSite) -> bool:
    """Whether `prepare()` gets a stand-in that DeepSpeed alone replaces, whatever is asked before.

    LongVA f4c8781 text_extend/text_extend_train.py:101: `optim = DummyOptim(model.parameters())`, whose `step()` no
    launch without DeepSpeed comes past. `AdamW if … else DummyOptim` runs in both.
    """
    given = assignments(prepares.function)
    for argument in prepares.node.args:
        values = given.get(dotted_name(argument), []) if dotted_name(argument) else [argument]
        values = [v for v in values if v is not prepares.node]
        if values and all(is_of_deepspeed(v) for v in values):
            return not any(_chooses(n, values) for n in own_nodes(prepares.function))
    return False


def _chooses(node: ast.AST, values: list[ast.expr]) -> bool:
    """Whether a condition decides about the making of something."""
    return isinstance(node, ast.If) and any(part in values for part in walk(node))


def steps_optimizer(function: Function) -> bool:
    """Whether a function, one around it or one of its class lets an optimizer step, and it reads no gradient.

    That of one parameter after the other does not count: their norm is logged
    (EasyAnimate scripts/train.py:2118).
    """
    each = _loop_variables(function)
    if any(
        isinstance(n, ast.Attribute) and n.attr == "grad" and dotted_name(n.value) not in each
        for n in own_nodes(function)
    ):
        return False
    return any(
        isinstance(n, ast.Call) and _is_step(n.func)
        for near in _near(function)
        for n in own_nodes(near)
    )


def _loop_variables(function: Function) -> set[str]:
    """The names that a function's loops and comprehensions go through."""
    return {
        name
        for node in own_nodes(function)
        if isinstance(node, ast.For | ast.comprehension)
        for name in target_names(node.target)
    }


def _is_step(called: ast.expr) -> bool:
    return isinstance(called, ast.Attribute) and called.attr in ("step", "zero_grad")
