"""What a training loop draws from the streams that a seed has set, over the functions that it reaches."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.live.joint_entry import imported_again
from distlint.analysis.program.chosen import chosen
from distlint.analysis.program.definitions import Class, Function
from distlint.analysis.program.handed import calls_of
from distlint.analysis.program.inherited import objects_of, run_together
from distlint.analysis.program.linked import imported_below
from distlint.analysis.program.memory import all_remembered, remembered
from distlint.analysis.program.syntax import (
    SPAWNERS,
    assignments,
    makes_own_class,
    own_nodes,
    spawns,
)
from distlint.analysis.questions.alone import on_main_alone
from distlint.analysis.questions.built import classes_of
from distlint.analysis.questions.seeding import (
    Seed,
    differs_for_no_rank,
    draw_of,
    draws_by_syntax,
    draws_from,
    is_sent_to_all,
    makes_torch_differ,
    names_rank,
    samples_alone,
    seeds,
    sets_state,
)
from distlint.analysis.questions.training import training_loops
from distlint.analysis.questions.unset_options import is_unset_in_program
from distlint.knowledge import facts
from distlint.knowledge.conventions import BACKWARD
from distlint.knowledge.failures import LOCAL_CALLS
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module
    from distlint.knowledge.randomness import Draw

NOT_TRAINING: Final = (
    "eval",
    "valid",
    "test",
    "sample",
    "log",
    "generate",
    "infer",
    "init",
    "visual",
    "synth",
)
SHARED_DRAWS: Final = (
    "random_split",
    "randperm",
    "Sampler",
    "shuffle",
    "split",
    "Dropout",
    "dropout",
)
_CALLERS: Final = 3
"""How many calls above what seeds a training is looked for."""


def seeded_in(model: Model, function: Function) -> Iterator[Function]:
    """A function that seeds, and those that go on with its streams: what calls it or makes the object that it constructs.

    None of these comes to another seed, or has a file that gives the ranks streams of their own, nor is the body of a file,
    which names what all of its functions do.
    VoxCPM 616d3d3 src/voxcpm/training/accelerator.py:55: `Accelerator(amp=True)` seeds, and who makes it trains.
    """
    above = {function: 0}
    work = [function]
    for current in work:
        yield current
        for user, call in calls_of(model.program, current) if above[current] < _CALLERS else ():
            if (
                user not in above
                and not user.is_module_body
                and _is_meant(model, user, call, current)
                and not makes_torch_differ(model, user.module, in_workers=False)
                and not any(
                    each in _seeding(model, each.module) and each not in above
                    for each in reached(model, user)
                    if not _is_a_phase(each)
                )
            ):
                above[user] = above[current] + 1
                work.append(user)


def repeated_in(model: Model, seed: Seed) -> Iterator[Function]:
    """What a script spawns that seeds at its top, which each rank runs again, where that comes to no seed of its own.

    Video-DDBM 489b334 train.py:78: `seed_everything(opt.seed)` stands above the functions.
    """
    if imported_again(seed.site) is None:
        return
    for user, _, given in spawns(seed.site.module):
        worker = model.resolve(user.module, given)
        if isinstance(worker, Function) and not any(
            each in _seeding(model, each.module) for each in reached(model, worker)
        ):
            yield worker


@remembered
def _seeding(model: Model, module: Module) -> frozenset[Function]:
    """The functions of a file that seed torch."""
    return frozenset(s.site.function for s in seeds(model, module) if "torch" in s.streams)


def _is_meant(model: Model, user: Function, call: ast.Call, function: Function) -> bool:
    """Whether a call surely is one of a function, or makes an object that it constructs."""
    meaning = model.resolve(user.module, call.func)
    if isinstance(meaning, Class):
        return model.program.find_method(meaning, "__init__") is function
    return meaning is function


def is_common(model: Model, seed: Seed) -> bool:
    """Whether a seed gives all ranks one stream of torch: it is not the rank's, nor that of the process (`time.time()`)."""
    site = seed.site
    return (
        "torch" in seed.streams
        and not (seed.per_rank or names_rank(seed))
        and not depends_on_rank(site)
        and not any(
            model.resolve(site.module, each.func) in LOCAL_CALLS
            for given in (*site.node.args, *(k.value for k in site.node.keywords))
            for each in walk(given, ast.Call)
        )
    )


def seed_for(model: Model, seed: Seed, trained: Function) -> Seed | None:
    """The seed from which the steps of a function draw: the last one on the way; None where that gives each rank its own.

    VidLanKD 46bae35 vlm/run_lm_distributed.py:210: `set_seed(args)` at the head of `train()`, and at line 542 of what calls it.
    """
    steps = _steps(model, trained)
    last = _seed_of_steps(model, trained)
    site = seed.site
    if last is None or last.site.node is site.node:
        return seed
    if site.function is trained and site.node.lineno > last.site.node.lineno:
        # OGNI-DC 41b5731 src/main.py:307 seeds the evaluation, at the end of an epoch whose head has seeded at line 209.
        ends = max(step.end_lineno or step.lineno for step in steps)
        if site.node.lineno <= ends or not set(site.loops) <= set(last.site.loops):
            return seed
    return last if is_common(model, last) else None


@remembered
def _seed_of_steps(model: Model, function: Function) -> Seed | None:
    """The last seed of a function that all ways to its training steps come to."""
    steps = _steps(model, function)
    if not steps or function not in _seeding(model, function.module):
        return None
    found = None
    for seed in seeds(model, function.module):
        site = seed.site
        if (
            site.function is function
            and "torch" in seed.streams
            and all(guard.exits for guard in site.guards)
            and all(site.node.lineno < step.lineno for step in steps)
            and all(any(n is step for n in walk(loop)) for loop in site.loops for step in steps)
        ):
            found = seed
    return found


@remembered
def _steps(model: Model, function: Function) -> tuple[ast.stmt, ...]:
    """The innermost of the loops of a function in which gradients are computed."""
    loops = _loops_that_train(model, function)
    return tuple(loop for loop in loops if not any(n in loops for n in walk(loop) if n is not loop))


def drawn_in_training(
    model: Model, function: Function, seed: Seed
) -> tuple[Seed, Module, ast.Call, CallSite] | None:
    """The draw of a training loop that hurts most, of those that the seed reaches, the last seed above it, and what wraps
    the model."""
    if never_runs(model, function) or starts_others(model, function):
        return None
    drawn = (_drawn_below(model, function, seed, below) for below in runs(model, function))
    return next((each for each in drawn if each is not None), None)


def _drawn_below(
    model: Model, function: Function, seed: Seed, below: list[Function]
) -> tuple[Seed, Module, ast.Call, CallSite] | None:
    """The same of one run, by the functions that it comes to."""
    wraps = wraps_in(model, below)
    if not wraps:
        return None
    for inner in below:
        last = seed_for(model, seed, inner) if trains(model, inner) else None
        if last is None:
            continue
        called = [
            s.callee
            for s in sites_of(model, inner)
            if s.loops and s.callee is not None and not _may_be_another(model, inner, s)
        ]
        called += _called_in_steps(model, called)
        called += [f for callee in called for f in _overriding(model, callee)]
        for drawing in (inner, *(f for f in called if f is not inner)):
            if any(word in drawing.name.lower() for word in NOT_TRAINING):
                continue
            if makes_torch_differ(model, drawing.module, in_workers=False):
                return None
            found = [
                (node, draw)
                for node, draw in _draws(model, drawing, drawing is inner)
                if draw.stream == "torch"
                and draws_from(draw, last)
                and should_differ(model, drawing, node, draw)
                and not is_unset_in_program(model, drawing.module, node.lineno)
            ]
            if found:
                node, _ = min(found, key=lambda each: harm_of(each[1]))
                return last, drawing.module, node, nearest(wraps, drawing.module, function.module)
    return None


def should_differ(model: Model, function: Function, node: ast.Call, draw: Draw) -> bool:
    """Whether each rank should draw numbers of its own: they are no order, seed, weights or samples, nor sent to all."""
    return (
        not any(word in draw.name for word in SHARED_DRAWS)
        and not _is_for_all_samples(function, node)
        and not differs_for_no_rank(function, node)
        and not samples_alone(function, node)
        and not sets_state(function, node)
        and not is_sent_to_all(model, function, node)
    )


def _is_for_all_samples(function: Function, draw: ast.Call) -> bool:
    """Whether one row of numbers is drawn and expanded over the batch, so that its samples share it as the ranks do.

    fly 6b73449 src/models/attention/reformer_attention.py:113: `torch.randn(shape).expand(batch_size, -1, -1, -1)`, of a shape
    that begins with `batch_size if self.per_head else 1`.
    """
    sizes = draw.args
    if len(sizes) == 1:
        given = sizes[0]
        values = assignments(function).get(given.id, ()) if isinstance(given, ast.Name) else [given]
        sizes = [e for v in values if isinstance(v, ast.Tuple | ast.List) for e in v.elts]
    if len(sizes) < 2 or not _may_be_one(sizes[0]):
        return False
    return any(
        isinstance(node.func, ast.Attribute)
        and node.func.attr in ("expand", "expand_as")
        and node.func.value is draw
        for node in own_nodes(function, ast.Call)
    )


def _may_be_one(size: ast.expr) -> bool:
    match size:
        case ast.IfExp(body=body, orelse=orelse):
            return _may_be_one(body) or _may_be_one(orelse)
        case ast.Constant(value=1):
            return True
    return False


def _may_be_another(model: Model, function: Function, site: CallSite) -> bool:
    """Whether a call is of one of a few functions or objects, and nothing says which: another one may draw nothing."""
    return any(guard.is_choice for guard in site.guards) or (
        site.callee is not None and site.callee.cls in _of_open_choices(model, function)
    )


@remembered
def _of_open_choices(model: Model, function: Function) -> frozenset[Class]:
    """The classes that a name chooses in a function among others that are not known, and their bases."""
    return frozenset(
        base
        for call in own_nodes(function, ast.Call)
        for each in chosen(model.program, function, call).known
        if isinstance(each, Class)
        for base in model.program.mro(each)[0]
    )


def _called_in_steps(model: Model, called: list[Function]) -> list[Function]:
    """What functions call that each take a step of the training: the loss is another function's.

    Hotshot-XL cc01f7f fine_tune.py:918: `loss = compute_loss_from_batch(batch)` in `process_batch`.
    """
    return [
        site.callee
        for step in called
        if any(site.method in BACKWARD for site in sites_of(model, step))
        for site in sites_of(model, step)
        if site.callee is not None
    ]


def harm_of(draw: Draw) -> int:
    """How much it hurts that ranks draw alike, least first: noise, numbers and times, what may be a choice of all ranks.

    SMDM 42e9c9a sft/finetune_mdm.py:155: `torch.rand(1) < cfg` stood above the noise, and was the one that was shown.
    """
    name = draw.name.rpartition(".")[2]
    return 0 if "normal" in name or "randn" in name else 1 if "randint" in name else 2


def never_runs(model: Model, function: Function) -> bool:
    """Whether a method is a base's that every class which is made overrides, without calling it."""
    return function.cls is not None and not objects_of(model.program, function)


def _overriding(model: Model, method: Function) -> list[Function]:
    """The methods of subclasses that stand in for one."""
    if method.cls is None:
        return []
    return [
        cls.methods[method.name]
        for cls in model.program.subclasses(method.cls)
        if method.name in cls.methods
    ]


def _draws(model: Model, function: Function, in_loops: bool) -> Iterator[tuple[ast.Call, Draw]]:
    """What all ranks draw in a function; of the one with the training loop, what is drawn in loops that train.

    benchmark 0e83c44 torchbenchmark/models/moco/main_moco.py:371 draws batches of no data in a loop above the training.
    Building-and-Training-a-Llama-2-Model-from-Scratch 98087e3 trainer.py:158: the master process alone draws a text, to print it.
    """
    if model.summaries_of(function) is None:
        yield from draws_by_syntax(model, function)
        return
    steps = _loops_that_train(model, function) if in_loops else frozenset()
    for site in sites_of(model, function):
        draw = draw_of(site)
        if (
            draw is not None
            and (not in_loops or not steps.isdisjoint(site.loops))
            and not _of_some_ranks(site)
            and not on_main_alone(model, site.node)
        ):
            yield site.node, draw


def runs(model: Model, function: Function) -> Iterator[list[Function]]:
    """What is reached from a function, for each class whose objects run it.

    benchmark 0e83c44 torchbenchmark/util/model.py:127 seeds for every model of a benchmark: one of them is wrapped, and
    another one draws.
    """
    classes = objects_of(model.program, function)
    if len(classes) < 2:
        yield reached(model, function)
    else:
        for cls in classes:
            yield reached(model, function, cls)


def reached(model: Model, function: Function, cls: Class | None = None) -> list[Function]:
    """The function and what it calls, at any depth, nearest first; for what builds an object, all its methods.

    CogVideo finetune/trainer.py:115: a method of the trainer seeds, one wraps, one trains, and that of a subclass
    draws. demucs e976d93 demucs/train.py:151: `get_solver()` seeds and gives the solver to the one who has it train.
    A class says whose objects.
    """
    work = [function]
    beside = list(dict.fromkeys(_methods_beside(model, function, cls)))
    if not _is_a_phase(function):
        work += [m for m in beside if m is not function and not _is_a_phase(m)]
    found = set(work)
    others = _of_relatives(model, function) - set(beside)
    for current in work:
        for called in _called(model, current, current is function):
            if (
                called not in found
                and called not in others
                and not _is_of_another_script(model, function, called)
            ):
                found.add(called)
                work.append(called)
    return work


def _is_of_another_script(model: Model, function: Function, method: Function) -> bool:
    """Whether a method stands in for that of a base in objects which a function without parameters can have from nowhere:
    its file does not import the class.

    lightning-bolts 2c4602a src/pl_bolts/models/rl/dqn_model.py:435: `DQN(…)` builds its networks; those of NoisyDQN draw.
    """
    cls = method.cls
    return (
        cls is not None
        and function.cls is None
        and not function.parameters
        and cls.module not in imported_below(model.program, function.module)
        and any(method.name in base.methods for base in model.program.mro(cls)[0][1:])
    )


@all_remembered
def _called(model: Model, function: Function, first: bool) -> Iterator[Function]:
    """What a function calls; of a class method that makes an object of its class, what it calls for that class.

    CodeRL ec3c526 transformers/examples/research_projects/quantization-qdqbert/run_quant_qa.py: `from_pretrained()` of
    one model ran `__init__` of all models of the library that any script makes, and ViT-MAE draws.
    """
    if makes_own_class(function) and not first:
        return
    summaries = model.summaries_of(function)
    for _, summary in summaries.summaries() if summaries is not None else ():
        sure = {s.callee for s in summary.calls if not _may_be_another(model, function, s)}
        maybe = {s.callee for s in summary.calls} - sure
        for child in summary.children:
            if child.function in maybe:
                continue
            yield child.function
            if makes_own_class(child.function):
                yield from (inner.function for inner in child.children)
    yield from _called_by_annotation(model, function)


@remembered
def _called_by_annotation(model: Model, function: Function) -> tuple[Function, ...]:
    """The methods that a function calls on what another one gives back, as that one's annotation says: those of the class
    and of all that derive from it.

    CogACT b174a1b training/materialize.py:39: `get_train_strategy(…) -> TrainingStrategy` takes the class out of a table.
    """
    held: dict[str, Class] = {}
    for name, values in assignments(function).items():
        for value in values:
            made = (
                model.resolve(function.module, value.func) if isinstance(value, ast.Call) else None
            )
            if isinstance(made, Function) and isinstance(made.node, ast.FunctionDef):
                given = made.node.returns
                cls = model.resolve(made.module, given) if given is not None else None
                if isinstance(cls, Class):
                    held[name] = cls
    found: dict[Function, None] = {}
    for node in own_nodes(function) if held else ():
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=attr)):
                cls = held.get(ast.unparse(owner))
                for each in (cls, *model.program.subclasses(cls)) if cls is not None else ():
                    if attr in each.methods:
                        found[each.methods[attr]] = None
    return tuple(found)


def _methods_beside(
    model: Model, function: Function, of: Class | None = None
) -> Iterator[Function]:
    """The methods that run on the objects of a method, or on those of one class; those of what a function makes and
    gives back."""
    if function.cls is not None:
        below = model.program.subclasses(function.cls) if of is None else ()
        family = (*model.program.mro(of or function.cls)[0], *below)
        run = run_together(model.program, function)
        yield from (each for cls in family for each in cls.methods.values() if each in run)
        return
    for node in own_nodes(function, ast.Return):
        if node.value is not None:
            for cls in classes_of(model, function, node.value):
                owners = model.program.mro(cls)[0] if cls is not None else ()
                yield from {n: m for c in reversed(owners) for n, m in c.methods.items()}.values()


def _of_relatives(model: Model, function: Function) -> frozenset[Function]:
    """The methods of the classes that share a base with a method's class: a run of the base is one of theirs, too."""
    if function.cls is None:
        return frozenset()
    return frozenset(
        method
        for base in model.program.mro(function.cls)[0]
        for cls in (base, *model.program.subclasses(base))
        for method in cls.methods.values()
    )


@remembered
def sites_of(model: Model, function: Function) -> list[CallSite]:
    """The calls of a function, each once, in source order."""
    summaries = model.summaries_of(function)
    sites: dict[int, CallSite] = {}
    for _, summary in summaries.summaries() if summaries is not None else ():
        for site in summary.calls:
            sites.setdefault(id(site.node), site)
    return sorted(sites.values(), key=lambda s: (s.node.lineno, s.node.col_offset))


def _is_a_phase(function: Function) -> bool:
    """Whether a method is for something else than training, by its name; `_init_seeds` is not."""
    name = function.name.lower()
    return any(word in name for word in NOT_TRAINING if word != "init")


def starts_others(model: Model, function: Function) -> bool:
    """Whether a function starts the processes that train: they do not take over its seed.

    pytorch/examples imagenet/main.py:91 seeds in front of `mp.spawn`; VQ-Diffusion d1d3948 train.py:110 in front of a
    `launch()` that spawns.
    """
    sites = sites_of(model, function)
    return any(site.method in SPAWNERS for site in sites) or any(
        inner.name == "torch.multiprocessing.spawn"
        for site in sites
        if site.callee is not None
        for inner in sites_of(model, site.callee)
    )


def wraps_in(model: Model, functions: list[Function]) -> list[CallSite]:
    """The calls that make several ranks train one model."""
    return [s for f in functions for s in sites_of(model, f) if _distributes(s)]


def nearest(wraps: list[CallSite], *modules: Module) -> CallSite:
    """Of several calls that wrap the last one of the first of some files that has one, else the last."""
    for module in modules:
        for site in reversed(wraps):
            if site.module is module:
                return site
    return wraps[-1]


def _distributes(site: CallSite) -> bool:
    fact = facts.wrapper(site.name)
    return fact is not None and fact.kinds[0] not in ("dp", "compile", "averaged", "peft")


def trains(model: Model, function: Function) -> bool:
    """Whether gradients are computed in a loop of a function."""
    return bool(_loops_that_train(model, function))


def _loops_that_train(model: Model, function: Function) -> frozenset[ast.stmt]:
    """The loops of a function in which gradients are computed, there or in what is called."""
    called = (s.loops for s in sites_of(model, function) if s.loops and _runs_backward(model, s))
    return frozenset((*training_loops(function), *(loop for loops in called for loop in loops)))


def _runs_backward(model: Model, site: CallSite) -> bool:
    """Whether a call computes gradients, itself or in what it calls: a loss scaler does."""
    return site.method in BACKWARD or (
        site.callee is not None
        and any(inner.method in BACKWARD for inner in sites_of(model, site.callee))
    )


def _of_some_ranks(site: CallSite) -> bool:
    """Whether a condition has some ranks draw. Which steps a rank leaves out where it resumes is no such condition.

    EditAnything 8d2db4a tools/train_dreambooth_inpaint.py:692: `if args.resume_from_checkpoint and step < resume_step:
    continue`, where each rank has looked for the checkpoint itself.
    """
    return any(
        guard.value.variance is Variance.RANK_DEPENDENT
        or (guard.value.variance is Variance.RANK_LOCAL and not guard.exits)
        for guard in site.guards
        if not (guard.exits and "resum" in ast.unparse(guard.node))
    )


def depends_on_rank(site: CallSite) -> bool:
    """Whether a condition in force differs between ranks."""
    return any(guard.value.variance for guard in site.guards)
