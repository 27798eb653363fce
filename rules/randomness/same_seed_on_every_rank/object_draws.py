"""What the models, losses and data sets that a training script makes draw, by the syntax of their classes."""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.chosen import Choice, chosen, chosen_as
from distlint.analysis.program.configured import Candidate
from distlint.analysis.program.definitions import Class, Function
from distlint.analysis.program.handed import calls_of
from distlint.analysis.program.memory import all_remembered, remembered
from distlint.analysis.program.syntax import assignments, literals, makes_own_class, own_nodes
from distlint.analysis.questions.alone import on_main_alone
from distlint.analysis.questions.lightning import fits
from distlint.analysis.questions.seeding import (
    Seed,
    draws_by_syntax,
    draws_from,
    makes_torch_differ,
    seeds_workers,
)
from distlint.analysis.questions.training import goes_backward
from distlint.analysis.questions.unset_options import is_unset_in_program
from distlint.knowledge import randomness
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

from .collate_draws import collates, pads
from .left_off import asks_what_is_off, left_off
from .sample_draws import (
    chooses_sample,
    depends_on_sample,
    has_shape,
    keeps_in_step,
    replaces_failed,
    streams_out_of_step,
)
from .training_draws import (
    NOT_TRAINING,
    harm_of,
    nearest,
    never_runs,
    runs,
    seed_for,
    should_differ,
    starts_others,
    trains,
    wraps_in,
)

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module

_OF_SAMPLES: Final = ("__getitem__", "__call__", "__iter__")
_IN_USE: Final = (*_OF_SAMPLES, "__next__", "forward", "training_step")
_RUN_BY_THEMSELVES: Final = (*_IN_USE, "__init__")
_SHOWS_DATA: Final = frozenset({"__getitem__", "__iter__", "__next__", "collate_fn"})
_OF_DATA: Final = pattern(
    r"Data(?!Parallel)|Collat|Augment|Transform(?!er)|Crop|Jitter|Flip|Blur|Random|Sampler|Loader"
)
"""Names of classes that make samples or batches of them."""
_OF_TRAINING: Final = pattern(r"loss|criterion|objective|diffusion|model|net\b|schedul", re.I)
"""Names of classes whose objects a training step calls."""
_SEES: Final = pattern(r"Visual(?!i[sz]|Log|Writer|Hook|Callback)")
"""What names of models say of their input, not of what they are for: DynamiCrafter c453369 lvdm/models/ddpm3d.py:1011,
`LatentVisualDiffusion`."""
_APART: Final = pattern(r"infer|eval|generat")
"""Flags and functions of what is no training; a `sample` that a model keeps is drawn from its distribution in training as well
(sd-scripts library/flux_models.py:310)."""


class Harm(enum.IntEnum):
    """What it does that ranks draw alike, the worst first."""

    STEP = 0
    """The noise, times or masks of a training step are the same."""
    CHOICE = 1
    """A data set draws what it gives, and gives the same on every rank."""
    SAMPLE = 2
    """Other samples are cropped or masked alike, for as long as the streams stay in step."""


def drawn_by_objects(
    model: Model, function: Function, seed: Seed
) -> tuple[Seed, Module, ast.Call, CallSite, Harm] | None:
    """The worst draw of what a function makes for the training that it starts, the last seed above, and what wraps the model."""
    if never_runs(model, function) or starts_others(model, function):
        return None
    drawn = (_drawn_below(model, function, seed, below) for below in runs(model, function))
    return min(
        (each for each in drawn if each is not None), key=lambda each: each[-1], default=None
    )


def _drawn_below(
    model: Model, function: Function, seed: Seed, below: list[Function]
) -> tuple[Seed, Module, ast.Call, CallSite, Harm] | None:
    """The same of one run, by the functions that it comes to."""
    fitted = [site for f in below for site in model.answer(fits).get(f, ())]
    last = [
        above for f in below if trains(model, f) and (above := seed_for(model, seed, f)) is not None
    ]
    wraps = wraps_in(model, below) if last else []
    if not (wraps or fitted):
        return None
    if not fitted and seed not in last:
        seed = last[0]
    made = made_below(model, below)
    files = frozenset(f.module for f in made)
    if any(makes_torch_differ(model, m, files, in_workers=False) for m in files):
        return None
    # What a training runs comes first: vits 2e561ba models.py:240, and not line 520 of `infer()`, which its evaluation
    # calls on one rank.
    workers_differ = seeds_workers(model, seed) or any(
        makes_torch_differ(model, m, files) for m in files | {function.module}
    )
    worst: tuple[tuple[bool, Harm, int], Function, ast.Call] | None = None
    collators = {each for f in made for each in collates(model, f) if not pads(each)}
    used = sorted((f for f in made if not _makes_samples(f) and f not in collators), key=_is_apart)
    used += sorted(collators, key=lambda each: (each.module.path, each.qualname))
    least = Harm.SAMPLE if not fitted and any(_parts_streams(model, f) for f in used) else Harm.STEP
    for each in used:
        drawn = _drawn(
            model, each, seed, workers_differ=workers_differ, of_batches=each in collators
        )
        for node, found, order in drawn:
            harm = max(found, least)
            # Of two that are as bad, the first.
            if worst is None or (_is_apart(each), harm, order) < worst[0]:
                worst = (_is_apart(each), harm, order), each, node
    if worst is None:
        return None
    (_, harm, _), where, node = worst
    return seed, where.module, node, nearest(wraps or fitted, where.module, function.module), harm


def made_below(model: Model, below: list[Function], *, by_choice: bool = True) -> list[Function]:
    """The functions that are reached, those that they call by name, and the methods of what they make, also `by_choice`.

    Of methods, those that run of themselves and those whose name is read in a function that is found: what
    `decode()` draws for samples is no matter of a script that only trains.
    """
    found = dict.fromkeys(below)
    work = list(below)
    named = set(_RUN_BY_THEMSELVES)
    waiting: dict[str, list[Function]] = {}
    for function in work:
        read = _attributes_read(function) - named
        named |= read
        fresh = [method for name in sorted(read) for method in waiting.pop(name, ())]
        for meaning in (named_in if by_choice else _resolved_in)(model, function):
            if isinstance(meaning, Function):
                fresh.append(meaning)
                continue
            for name, method in meaning.methods.items():
                if name in named:
                    fresh.append(method)
                else:
                    waiting.setdefault(name, []).append(method)
        for each in fresh:
            if each not in found and not _is_apart(each):
                found[each] = None
                work.append(each)
    return list(found)


@remembered
def _attributes_read(function: Function) -> frozenset[str]:
    return frozenset(n.attr for n in walk(function.node, ast.Attribute))


@remembered
def named_in(model: Model, function: Function) -> tuple[Function | Class, ...]:
    """The functions of the program that a function calls, and the classes of what it makes, in order."""
    found: dict[Function | Class, None] = {}
    for node in _calls_made(model, function):
        meaning = model.resolve(function.module, node.func)
        known = isinstance(meaning, (Function, Class))
        made = _made_by_its_class(model, function, node)
        for each in (*((meaning,) if known else _chosen(model, function, node)), *made):
            if isinstance(each, Class):
                found.update(dict.fromkeys(model.program.mro(each)[0]))
            elif isinstance(each, Function):
                found[each] = None
    return tuple(found)


@remembered
def _resolved_in(model: Model, function: Function) -> tuple[Function | Class, ...]:
    """The same without what a name chooses at run time."""
    found: dict[Function | Class, None] = {}
    for node in _calls_made(model, function):
        match model.resolve(function.module, node.func):
            case Class() as cls:
                found.update(dict.fromkeys(model.program.mro(cls)[0]))
            case Function() as called:
                found[called] = None
    return tuple(found)


def _calls_made(model: Model, function: Function) -> Iterator[ast.Call]:
    left = left_off(model, function)
    return (node for node in walk(function.node, ast.Call) if node not in left)


def _made_by_its_class(model: Model, function: Function, call: ast.Call) -> Iterator[Class]:
    """The class that a class method is called on: `Net.from_pretrained(path)`, its own or a library's.

    VoxCPM 616d3d3 scripts/train_voxcpm_finetune.py:100: `_model_cls = VoxCPM2Model if … else VoxCPMModel` above it.
    """
    if isinstance(call.func, ast.Attribute):
        owner = call.func.value
        cls = model.resolve(function.module, owner)
        known: list[Candidate] = [cls] if isinstance(cls, Class) else []
        if isinstance(owner, ast.Name) and owner.id in assignments(function):
            known = _of_choice(model, chosen_as(model.program, function, owner))
        for each in known:
            if isinstance(each, Class):
                method = model.program.find_method(each, call.func.attr)
                if (
                    call.func.attr == "from_pretrained"
                    if method is None
                    else makes_own_class(method)
                ):
                    yield each


def _chosen(model: Model, function: Function, call: ast.Call) -> list[Candidate]:
    """What a name chooses to be called."""
    return _of_choice(model, chosen(model.program, function, call))


def _of_choice(model: Model, choice: Choice) -> list[Candidate]:
    """What the project names of what may be meant, else all, where all of them draw."""
    used = [each for each in choice.candidates if not _serves_else(_SEES.sub("", each.name))]
    return used if choice.named or all(_draws_itself(model, each) for each in used) else []


@remembered
def _draws_itself(model: Model, candidate: Candidate) -> bool:
    """Whether a class or function draws where it is used, in what it says itself, or in a step by what it makes."""
    if isinstance(candidate, Function):
        own = [candidate]
    else:
        own = [method for name, method in candidate.methods.items() if name in _IN_USE]
    if any(next(draws_by_syntax(model, each), None) is not None for each in own):
        return True
    if not isinstance(candidate, Class):
        return False
    methods = {
        n: m for c in reversed(model.program.mro(candidate)[0]) for n, m in c.methods.items()
    }
    if "forward" not in methods:
        return False
    made = [method for name, method in methods.items() if name in _RUN_BY_THEMSELVES]
    return any(
        harm is Harm.STEP
        for each in made_below(model, made, by_choice=False)
        if not _makes_samples(each)
        for _, harm, _ in _drawn(model, each, None, workers_differ=True, of_batches=False)
    )


def _is_apart(function: Function) -> bool:
    """Whether a function serves something else than training, by its name."""
    return function.name != "__init__" and _serves_else(function.name)


@remembered
def _parts_streams(model: Model, function: Function) -> bool:
    """Whether a method of a model draws another number of times on each rank: what is drawn behind it differs."""
    return (
        function.cls is not None
        and not _is_of_data(model, function)
        and not _makes_object(model, function)
        and any(
            draw.stream == "torch" and not keeps_in_step(function, node)
            for node, draw in draws_by_syntax(model, function)
        )
    )


@remembered
def _makes_object(model: Model, function: Function) -> bool:
    """Whether a method runs in the making of its object alone, which all ranks make of the same, or of a state that it loads.

    Mix-of-Show 51270fd mixofshow/pipelines/trainer_edlora.py:172: `torch.randn_like(…)` for each new word, in what
    `__init__` calls. zwd-into-aurora 06e19fd aurora/model/aurora.py:385: new heads, in what comes above `load_state_dict`.
    """
    work = [function]
    makes = False
    for each in work:
        if each.name == "__init__":
            makes = True
            continue
        calls = calls_of(model.program, each)
        callers = {user for user, call in calls if not _loads_below(user, call)}
        loads = len(callers) < len({user for user, _ in calls})
        if not calls or each.name in _IN_USE or any(c.cls is None for c in callers):
            return False
        makes = makes or loads
        work += [each for each in callers if each not in work]
    return makes


def _loads_below(function: Function, call: ast.Call) -> bool:
    """Whether a function that trains nothing fills a module with a state below a call."""
    return any(
        isinstance(node.func, ast.Attribute)
        and node.func.attr == "load_state_dict"
        and node.lineno > call.lineno
        for node in own_nodes(function, ast.Call)
    ) and not goes_backward(function.node)


def _makes_samples(function: Function) -> bool:
    """Whether a function runs a model that is trained, by its name: no step of a training calls it.

    recipes fb47e15 torchrecipes/paved_path/charnn/combined_module.py:76, `generate()` of what rank 0 saves.
    """
    return _APART.search(function.name) is not None


def _serves_else(name: str) -> bool:
    return any(word in name.lower() for word in NOT_TRAINING)


def _drawn(
    model: Model, function: Function, seed: Seed | None, *, workers_differ: bool, of_batches: bool
) -> Iterator[tuple[ast.Call, Harm, int]]:
    for node in () if workers_differ else _random_transforms(model, function):
        yield node, Harm.SAMPLE, 1
    if (function.cls is None or _makes_object(model, function)) and not of_batches:
        return
    in_workers = of_batches or function.name in _OF_SAMPLES
    of_data = of_batches or _is_of_data(model, function)
    if workers_differ and in_workers:
        return
    for node, draw in draws_by_syntax(model, function):
        # Loader workers take their seeds, also that of `random`, from torch's stream (torch 2.13.0
        # torch/utils/data/_utils/worker.py).
        of_samples = in_workers and draw.stream in ("torch", "python")
        if of_samples and (
            draw.stream in streams_out_of_step(model, function)
            or depends_on_sample(function, node)
            or replaces_failed(function, node)
        ):
            continue
        if (
            (of_samples or (draw.stream == "torch" and (seed is None or draws_from(draw, seed))))
            and should_differ(model, function, node, draw)
            and not _in_an_arm_apart(function, node)
            and not on_main_alone(model, node)
            and not any(
                asks_what_is_off(model, test)
                for test, holds in _tests_around(function.body, node)
                if holds
            )
            and not is_unset_in_program(model, function.module, node.lineno)
        ):
            # A batch that is not filled up has one shape on all ranks: its noise is that of the step.
            of_step = not of_data or (of_batches and has_shape(node))
            if of_step and draw.stream == "torch" and keeps_in_step(function, node):
                yield node, Harm.STEP, harm_of(draw)
            elif chooses_sample(model, function, node):
                yield node, Harm.CHOICE, 0
            else:
                yield node, Harm.SAMPLE, 0


def _is_of_data(model: Model, function: Function) -> bool:
    """Whether a method is of a data set, or of what makes samples or batches.

    What an object of a plain class does when it is called is a transform's (suncet 731547d src/data_manager.py:1164,
    `Solarize`), but a loss's by its name (NVlabs' EDM: `EDMLoss.__call__`).
    """
    assert function.cls is not None
    family = model.program.mro(function.cls)[0]
    if any(_OF_DATA.search(cls.name) or not _SHOWS_DATA.isdisjoint(cls.methods) for cls in family):
        return True
    return function.name == "__call__" and not any(
        _OF_TRAINING.search(cls.name) or "forward" in cls.methods for cls in family
    )


def _in_an_arm_apart(function: Function, draw: ast.Call) -> bool:
    """Whether a draw stands where a flag says that this is no training: `if infer:`, `if not self.training:`.

    Amphion d3de90f models/svc/comosvc/comosvc.py:298: `if not infer: return loss`, and noise for samples below.
    """
    return any(
        (_APART.search(word) and holds) or (word == "training" and not holds)
        for test, holds in _tests_around(function.body, draw)
        for word in (last_name(test).lower(),)
    )


def _tests_around(body: list[ast.stmt], draw: ast.Call) -> Iterator[tuple[ast.expr, bool]]:
    """What holds where a draw stands: the parts of the tests around it, and of those that leave above it."""
    left: list[tuple[ast.expr, bool]] = []
    for statement in body:
        if any(node is draw for node in walk(statement)):
            yield from left
            for field, taken in (("body", True), ("orelse", False), ("finalbody", True)):
                inner = getattr(statement, field, [])
                if any(node is draw for each in inner for node in walk(each)):
                    if isinstance(statement, ast.If):
                        yield from literals(statement.test, taken)
                    yield from _tests_around(inner, draw)
            return
        match statement:
            case ast.If(test=test, body=[*_, ast.Return() | ast.Raise()], orelse=[]):
                left += literals(test, False)


@all_remembered
def _random_transforms(model: Model, function: Function) -> Iterator[ast.Call]:
    for node in walk(function.node, ast.Call):
        if _is_random_transform(model, function, node):
            yield node


def _is_random_transform(model: Model, function: Function, node: ast.Call) -> bool:
    meaning = model.resolve(function.module, node.func)
    if not isinstance(meaning, str) or meaning not in randomness.RANDOM_TRANSFORMS:
        return False
    if meaning[meaning.rindex(".") + 1].isupper():
        return True
    training = [k.value for k in node.keywords if k.arg == "is_training"]
    return any(isinstance(t, ast.Constant) and t.value is True for t in training)
