"""All ranks share one seed, and draw the same noise in every training step.

## What it does
Finds a seed that is the same on every rank (`set_seed(args.seed)`, `torch.manual_seed(0)`), followed by a
training loop over a wrapped or prepared model that draws tensors from that stream (`torch.randn_like`,
`torch.randint`, `x.uniform_()` …), where nothing gives the ranks streams of their own. The seed may stand in a function that the one with the loop calls, or in
the constructor of an object that it makes. The draws may stand in
the loop, in the methods of models and losses of the project that the script makes, or be those of random
transforms of images (`RandomResizedCrop`), of `__getitem__` of its data sets and of functions that its loaders are given as `collate_fn`. A name may choose the class, in a
table (`LOSSES[args.loss]()`), a module (`getattr(losses, name)()`), a registry that decorators fill, or a
configuration (`target:`, `_target_:` and `class_path:` in YAML and JSON). The training loop may be that of a `Trainer` of transformers, which seeds all ranks alike itself: its subclass's
`compute_loss` or `training_step` draws for each sample. Or it is that of
Lightning: `trainer.fit(module)` on several devices runs the module's `training_step`. Finds also scripts that
sample: a loop that counts, draws from such a seed, and writes into files that the rank names or gathers what the ranks drew.

## Why it is bad
The ranks draw the same numbers in the same step: the same noise on different images, the same time steps
of a diffusion, the same indices into a data set, so that eight GPUs train on one batch. The gradient then
averages eight times over the data, but once over the noise; the run looks healthy and learns worse, the
more so the more ranks there are.

## Example
```python
set_seed(args.seed)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for batch in loader:
    noise = torch.randn_like(batch)
```

## Use instead
```python
set_seed(args.seed)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
decorrelate(args.seed)
for batch in loader:
    noise = torch.randn_like(batch)
```
Not `set_seed(seed + rank)` above: before the model is wrapped ranks then build different weights (DL402).
Where the common streams have to stay in step, draw the noise with
`generator=generator(args.seed, batch.device, step=step)`.

## Fix safety
Unsafe: the numbers change. Shown only, and another one, where by a number of the same seed the ranks choose what they
train, how often they call the model, how long a batch is, or in which order a sampler of the program gives the data of
which each rank takes its part.

## Known limits
A warning where a training step draws (noise, times, masks), or a data set draws which sample it gives; information where
other samples are cropped, flipped or masked alike one by one, which harms little and lasts until a sample takes another number of
draws. A draw in a model's methods is such a step's where it takes as many numbers on every rank: one for each sample, of a
constant shape, or on the GPU; information where it is drawn for each part of a batch, or on the CPU for the longest
sample of the rank's own batch. Silent on draws in functions that generate, infer or evaluate, on draws up to the size of a sample, on the sample that a data
set draws in place of one which it could not read, on what is added to parameters (all ranks have to move alike), on one row of numbers that is expanded over a batch, on the first
value of an attribute that is asked for in front of it, on what is broadcast, on what runs under `inference_mode`, and on samples for inputs of which each rank has others. Of the classes that a name may choose, those count that a configuration or a default names; where none does, all of
them have to draw. Dropout is not looked for, nor what stands behind a parameter that every call leaves at its default, nor what a class draws that is made only with a number above 0 (`Masking(rate) if rate > 0`), where
the code gives it none: a configuration may; nor, in loops, numbers of `random` and `numpy`, which they often draw to take one
decision on all ranks. Silent in files that give the ranks streams of torch or `random` of their own
anywhere (a `worker_init_fn` that does so says nothing of what the rank's own process draws), and where the seed or the loop is not in the same program. Loops over data that train nothing are left
out: their draws are often meant to be alike.

## References
- accelerate 1.15.0 accelerate/utils/random.py:40: `set_seed` is the same on all ranks by default
- torch 2.13.0 torch/nn/parallel/distributed.py: DDP averages gradients and touches no random state
- pytorch-lightning 2.6.6 pytorch_lightning/strategies/ddp.py:200: every rank of `fit()` starts from one seed again
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.memory import all_remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.hazards import last_wrap
from distlint.analysis.questions.lightning import fits
from distlint.analysis.questions.seeding import Seed, makes_torch_differ, seeds
from distlint.edits import Insert
from distlint.findings import Applicability, Finding, Fix, Place, Severity
from distlint.knowledge import randomness
from distlint.rule import Status

from .object_draws import Harm, drawn_by_objects
from .sampling_draws import drawn_in_sampling
from .shared_draws import chooses_for_all, counts_for_all, cuts_for_all, shuffles_for_all
from .trainer_draws import drawn_by_trainers
from .training_draws import (
    drawn_in_training,
    is_common,
    repeated_in,
    seeded_in,
    sites_of,
)

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.program.definitions import Function, Module

CODE = "DL401"
NAME = "same-seed-on-every-rank"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = (b"RandomResizedCrop", b"RandomHorizontalFlip", b"create_transform(")


def check(model: Model) -> Iterator[Finding]:
    """Common seeds in front of training loops that draw; the last seed of each function speaks."""
    told: set[Place] = set()
    for module in model.modules:
        for finding in _in_file(model, module):
            if finding.place not in told:
                told.add(finding.place)
                yield finding  # one draw, whichever Trainers of other files come to it, too


@all_remembered
def _in_file(model: Model, module: Module) -> Iterator[Finding]:
    """What is drawn alike after the seeds of a file, and by its Trainers, which seed themselves."""
    for where, draw, cls in drawn_by_trainers(model, module):
        advice = "Hand it `generator=` of a generator that each rank seeds with a number of its own"
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            f"the Trainer seeds all ranks alike, and `{source_of(where, draw.func)}()` in a step of `{cls.name}` then gives every "
            f"rank the same numbers. {advice}.",
            place_of(where, draw),
            (),
            Fix(Applicability.DISPLAY, advice),
        )
    common: dict[Function, Seed] = {}
    for seed in seeds(model, module):
        if is_common(model, seed):
            common[seed.site.function] = seed
    if not common or makes_torch_differ(model, module, in_workers=False):
        return
    for function, seed in common.items():
        for run in (*seeded_in(model, function), *repeated_in(model, seed)):
            trained = drawn_in_training(model, run, seed)
            if trained is not None:
                _, where, draw, _ = trained
                if not any(draw is each for _, each, _ in drawn_by_trainers(model, where)):
                    yield _finding(model, run, *trained, Harm.STEP)
                break
            found = drawn_by_objects(model, run, seed)
            if found is not None:
                yield _finding(model, run, *found)
                break
            sampled = drawn_in_sampling(model, run, seed) if run is function else None
            if sampled is not None:
                yield _repeated(model, module, seed, *sampled)
                break


def _repeated(
    model: Model, module: Module, seed: Seed, where: Module, draw: ast.Call, kept: CallSite
) -> Finding:
    advice = "Add the rank to the seed"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"all ranks seed alike here, and `{source_of(where, draw.func)}()` at line {draw.lineno}"
        f"{_of_file(model, where, module)} then draws the same samples on every rank, of which each keeps its own. "
        f"{advice}.",
        place_of(module, seed.site.node),
        (
            related(where, draw, "every rank draws the same numbers here"),
            related(kept.module, kept.node, "what each rank made is kept"),
        ),
        Fix(Applicability.DISPLAY, advice),
    )


def _of_file(model: Model, where: Module, module: Module) -> str:
    """Which file a line is of, where it is another one: by its name, or by its path where several have the name."""
    name = where.path.rpartition("/")[2]
    several = sum(each.path.rpartition("/")[2] == name for each in model.program.modules.values())
    return "" if where is module else f" of {name if several < 2 else where.path}"


def _finding(
    model: Model,
    run: Function,
    seed: Seed,
    where: Module,
    draw: ast.Call,
    wrap: CallSite,
    harm: Harm,
) -> Finding:
    module = seed.site.module
    fix = _fix(model, module, seed, run)
    text = source_of(where, draw.func)
    transform = model.resolve(where, draw.func) in randomness.RANDOM_TRANSFORMS
    file = _of_file(model, where, module)
    if transform:
        same = "crops, flips and colours alike on every rank"
    elif harm is Harm.SAMPLE:
        same = "begins with the same numbers on every rank, for other samples"
    else:
        same = "gives every rank the same numbers in each step"
    return Finding(
        CODE,
        NAME,
        # Crops and masks of other samples: of those that were judged, no more than half were true, all of them mild.
        Severity.INFO if harm is Harm.SAMPLE else SEVERITY,
        f"{_when(seed)}all ranks seed alike here, and `{text}()` at line {draw.lineno}{file} then {same}. {fix.message}.",
        place_of(module, seed.site.node),
        (
            related(where, draw, "every rank draws the same numbers here"),
            related(wrap.module, wrap.node, "several ranks train this model"),
        ),
        fix,
    )


def _when(seed: Seed) -> str:
    """When ranks seed alike, where each makes a seed of its own if it is given none.

    sd-scripts train_network.py:503: `if args.seed is None: args.seed = random.randint(0, 2**32)`.
    """
    if seed.value is None:
        return ""
    function = seed.site.function
    given = [seed.value, *assignments(function).get(ast.unparse(seed.value), ())]
    missing = {f"{ast.unparse(v)} {word}": v for v in given for word in ("is None", "== -1")}
    asked = [
        missing[ast.unparse(node.test)]
        for node in own_nodes(function, ast.If)
        if ast.unparse(node.test) in missing
    ]
    return f"where `{ast.unparse(asked[0])}` is given, " if asked else ""


def _may_be_none(seed: Seed) -> bool:
    """Whether what seeds asks first whether it is given a seed."""
    helper = seed.site.callee
    return helper is not None and any(
        isinstance(test.left, ast.Name)
        and test.left.id in helper.parameters
        and ast.unparse(test.comparators[0]) == "None"
        for test in own_nodes(helper, ast.Compare)
    )


def _fix(model: Model, module: Module, seed: Seed, run: Function) -> Fix:
    function = seed.site.function
    if (ordered := shuffles_for_all(model, run)) is not None:
        where, drawn = ordered
        advice = (
            f"Draw with `generator=generator(seed, device, step=step)`: by `{source_of(where, drawn.func)}()` at line "
            f"{drawn.lineno}{_of_file(model, where, module)} all ranks put the data into one order, and its stream has to stay in step"
        )
        return Fix(Applicability.DISPLAY, advice)
    after = [s for s in sites_of(model, function) if s.node.lineno > seed.site.node.lineno]
    for shared, what in (
        (chooses_for_all(model, run, seed), "what is trained"),
        (counts_for_all(model, run, seed), "how often the model is called"),
        (cuts_for_all(model, run, seed), "how long a batch is"),
    ):
        if shared is not None:
            where, chosen = shared
            advice = (
                f"Draw with `generator=generator(seed, device, step=step)`: by `{source_of(where, chosen.func)}()` "
                f"all ranks choose {what}, and its stream has to stay in step"
            )
            return Fix(Applicability.DISPLAY, advice)
    statement = last_wrap(function, after, seed.site.statement)
    tests = [g for g in seed.site.guards if not g.exits]
    if run in model.answer(fits):
        advice = (
            "Seed the ranks apart in `on_train_start` of the module, "
            "`torch.manual_seed(seed + self.global_rank)`, or draw with a generator of each rank's own"
        )
        return Fix(Applicability.DISPLAY, advice)
    if (
        statement is None
        or seed.value is None
        or len(tests) > 1
        or any(not g.taken for g in tests)
        or not isinstance(seed.value, (ast.Name, ast.Attribute, ast.Constant, ast.Subscript))
    ):
        advice = (
            "Call `decorrelate(seed)` after everything is wrapped or prepared, or draw with "
            "`generator=generator(seed, device, step=step)`"
        )
        return Fix(Applicability.DISPLAY, advice)
    text = source_of(module, seed.value)
    code = f"$decorrelate({text})"
    test = source_of(module, tests[0].node) if tests else ""
    if not test and _may_be_none(seed):
        test = f"{text} is not None"
    if test:
        code = f"if {test}:\n    {code}"
    return Fix(
        Applicability.UNSAFE,
        f"Call `decorrelate({text})` after everything is wrapped or prepared",
        (Insert(span_of(statement), code, after=True),),
    )
