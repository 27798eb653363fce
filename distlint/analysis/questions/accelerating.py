"""Where an Accelerator trains: what a function, or those around it, do with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.syntax import assignments, own_nodes, target_names
from distlint.analysis.questions.arms import arms, known_by
from distlint.knowledge import wrappers
from distlint.nodes import walk
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.live.summaries import CallGroup
    from distlint.analysis.program.definitions import Class, Function, Module

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
    return [n for n in own_nodes(function, ast.Call) if last_name(n) == "Accelerator"]


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


_MAY_SKIP: Final = (
    ast.If, ast.IfExp, ast.BoolOp, ast.Try, ast.For, ast.While, ast.comprehension, ast.Lambda, ast.FunctionDef,
    ast.AsyncFunctionDef, ast.ClassDef,
)  # fmt: skip
"""What may leave out a part of itself, or run it later."""
_OF_DEEPSPEED: Final = frozenset({"DummyOptim", "DummyScheduler"})
"""What stands for the optimizer and scheduler that DeepSpeed's configuration names (accelerate 1.15.0
accelerate/utils/deepspeed.py:337): they have no `step()` of their own, and only `_prepare_deepspeed` replaces them."""


_DEEPSPEED_REQUIRED: Final = frozenset({"get_deepspeed_plugin", "select_deepspeed_plugin"})
"""Methods of `AcceleratorState` (accelerate 1.15.0 accelerate/state.py:1200)."""


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


def in_plugin_alone(live: LiveProgram, prepares: CallSite) -> bool:
    """Whether an Accelerator is made for an engine where it prepares, or what is read of it is there in an engine alone.

    prismer 4f27ab3 train_caption.py:60: `Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin(…))`, in two of three
    arms, which prepare at once. EasyNLP a4ee956 examples/BeautifulPrompt/beautiful_prompt/trainer.py:49: `ds_plugin =
    self.accelerator.state.deepspeed_plugin`, then `ds_plugin.gradient_accumulation_steps` under no condition. PasoDoble
    16dae4f proposergrpo_trainer.py:607: `self.accelerator.state.select_deepspeed_plugin("proposer")` above.
    """
    function, called = prepares.function, prepares.node.func
    if any(_wants_deepspeed(each) for each in _passed(function, prepares.node.lineno)):
        return True
    if not isinstance(called, ast.Attribute):
        return False
    owner, within = called.value, [function]
    path = dotted_name(owner)
    if path.startswith("self.") and function.cls is not None:
        family = live.program.mro(function.cls)[0]
        within = [method for cls in family for method in cls.methods.values()]
    known = known_by(prepares.guards)
    made = [
        arm.value for each in within for arm in arms(each).get(path, ()) if not arm.is_left(known)
    ]
    made = made or [owner]
    if all(_is_for_engine(function, value) for value in made):
        return True
    start = [f for f in within if f.name == "__init__"] if path.startswith("self.") else []
    return any(_reads_plugin(each) for each in (function, *start))


def made_for_engines(module: Module) -> bool:
    """Whether a file makes Accelerators, each with an engine's plugin.

    starVLA 0ed0aad starVLA/training/train_starvla.py:51: `Accelerator(deepspeed_plugin=deepspeed_plugin)`, at the top.
    """
    made = [(each, call) for each in module.all_functions for call in accelerators(each)]
    return bool(made) and all(_is_for_engine(function, call) for function, call in made)


def _is_for_engine(function: Function, made: ast.expr) -> bool:
    """Whether an Accelerator is handed a plugin that is there: no option that may be None."""
    if not (isinstance(made, ast.Call) and last_name(made.func) == "Accelerator"):
        return False
    for keyword in made.keywords:
        if keyword.arg in wrappers.ENGINE_PLUGINS:
            values = assignments(function).get(dotted_name(keyword.value), [keyword.value])
            if all(isinstance(value, ast.Call) for value in values):
                return True
    return False


def _reads_plugin(function: Function) -> bool:
    """Whether each run of a function that comes to its end reads an attribute of an engine's plugin."""
    names = {
        path
        for path, (value, *more) in assignments(function).items()
        if not more and _is_plugin_of_state(value)
    }
    return any(
        isinstance(node, ast.Attribute)
        and (_is_plugin_of_state(node.value) or dotted_name(node.value) in names)
        for statement in _always_run(function)
        for node in walk(statement)
    )


def _passed(function: Function, line: int) -> Iterator[ast.stmt]:
    """The statements of a body above a line that nobody comes past without running them whole."""
    for statement in getattr(function.node, "body", ()):
        if statement.lineno < line and not any(isinstance(n, _MAY_SKIP) for n in walk(statement)):
            yield statement


def _wants_deepspeed(statement: ast.stmt) -> bool:
    """Whether a statement calls what raises an error in all launches but DeepSpeed's (`deepspeed_required`)."""
    return any(
        isinstance(call.func, ast.Attribute) and call.func.attr in _DEEPSPEED_REQUIRED
        for call in walk(statement, ast.Call)
    )


def _is_plugin_of_state(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr=name, value=ast.Attribute(attr="state")):
            return name in wrappers.ENGINE_PLUGINS
    return False


def _always_run(function: Function) -> Iterator[ast.stmt]:
    """The statements of a body that run each time, up to the first that may leave, and hold no condition."""
    for statement in getattr(function.node, "body", ()):
        parts = list(walk(statement))
        if any(isinstance(part, ast.Return | ast.Raise) for part in parts):
            return
        if not any(isinstance(part, _MAY_SKIP) for part in parts):
            yield statement


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
        n.attr == "grad" and dotted_name(n.value) not in each
        for n in own_nodes(function, ast.Attribute)
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
        for node in own_nodes(function, ast.For, ast.comprehension)
        for name in target_names(node.target)
    }


def _is_step(called: ast.expr) -> bool:
    return isinstance(called, ast.Attribute) and called.attr in ("step", "zero_grad")
