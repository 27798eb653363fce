"""A DistributedSampler is never told the epoch, and every epoch has the same order.

## What it does
Finds a shuffling `DistributedSampler` whose loader is iterated over epochs, in a program where nothing calls
`set_epoch()`. A loop is one over epochs by the name of what it counts (`for epoch in`, `for i in range(args.epochs)`,
`while self.epoch <`, an `epoch += 1` in it), or where each turn of a `while step <` or `while going_on` goes through all of a loader,
also behind a bar that is kept under a name (`epochs = trange(number)`), and under any name that a call hands a loader to, or
where each turn of a `for` over a range hands its number and a loader that was made above to what trains from all of it. A
call of `set_epoch()` counts for nothing on a parameter whose default None no call replaces, on an object whose
class has no such method, on what is called a data set, criterion, optimizer or the like, on a sampler for evaluation or in
a function that evaluates, by their names, where the loop trains, in a class of which nothing that runs makes an object, and on a sampler that the same
turn of the loop replaces before anything draws from it, nor under a test of an option whose action gives its default
(`action="store_true", default=True`). Also one of two samplers of the same steps that is left out where the
other one is told. Where nothing calls `set_epoch()` at all, also a generator that hands out the batches of a
loader for ever, a `try` that begins a loader anew at its end (of a run that makes the sampler: also where others tell theirs),
and a sampler of batches that goes through another one again and again; and where no call joins
a loop to the sampler, one through a loader of the name that what makes the sampler is kept under. With a framework
that sets the epoch itself: a sampler in a `WebLoader`, which hides it, and one in a loader that a Trainer's own
`get_train_dataloader` does not prepare. Also what makes such a sampler by itself: `deepspeed.initialize(training_data=…)`,
MONAI's subclass, timm's `create_loader(distributed=…)` and what tlt makes of it, and DGL's `GraphDataLoader(use_ddp=True, shuffle=True)`, which has `set_epoch` itself.

## Why it is bad
The sampler shuffles with a generator seeded from `seed + epoch`. The epoch stays 0 unless somebody sets it:
each rank sees the same samples in the same order in every epoch, and the same neighbours share a batch for
ever. Nothing fails, so this is a warning; the model generalises worse than it would from the same data on one
process, where the plain random sampler shuffles anew.

## Example
```python
sampler = DistributedSampler(data)
loader = DataLoader(data, sampler=sampler)
for epoch in range(epochs):
    for batch in loader:
```

## Use instead
```python
sampler = DistributedSampler(data)
loader = DataLoader(data, sampler=sampler)
for epoch in range(epochs):
    sampler.set_epoch(epoch)
    for batch in loader:
```

## Fix safety
Unsafe: the order of the samples changes. Where another function makes the sampler, it is told through the loader that
the loop runs through (`train_loader.sampler`), also in another file; where each epoch makes a sampler, behind that line. Shown only where the loop has neither.

## Known limits
Silent with `shuffle=False`, also where all calls that have the sampler made say so, where the loader is to shuffle itself, which raises, where a loop counts one epoch in every call that the program makes, for samplers of evaluation by their name, where the loader goes to a framework
that sets the epoch itself (accelerate's `prepare`, Lightning, Fabric, a Trainer's own methods), where a class of another
library keeps the sampler (torchdata's `SamplerWrapper`), where the sampler is handed to a function of the project
that calls `set_epoch` on it in a loop, where the loop over epochs makes and shuffles the data set anew or has it shuffle itself (a `shuffle()` of the program's
own), of loops that only evaluate, of loops through loaders that their function makes without a sampler, of those
that are done before the sampler is made, and where the loop, or anything that it may call by name, calls `set_epoch`
on whatever object. Of what accelerate prepares, only batch samplers of the project's own are looked at, which its
wrapper does not tell the epoch. A sampler class of the project counts
where it has `set_epoch`, shuffles by `self.epoch` and does not count it itself, or hands on what a `DistributedSampler` gives.

## References
- torch 2.13.0 torch/utils/data/distributed.py:149: "Set the epoch for this sampler"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from distlint.analysis.model import Model, place_of, related
from distlint.analysis.program.definitions import Class, Function, Module, last_name
from distlint.analysis.program.handed import argument_of, calls_of
from distlint.analysis.program.inherited import used
from distlint.analysis.program.linked import linked
from distlint.analysis.program.memory import all_remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.fixed_options import fixed_option
from distlint.analysis.questions.keywords import keyword_values
from distlint.analysis.questions.never import contradicts, is_behind_an_end, keeps_out, never_run
from distlint.analysis.questions.unset_options import is_unset_in_program
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.knowledge import facts, randomness
from distlint.knowledge.randomness import LoaderMaker
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.rule import Status

from .anew import shuffled_anew, shuffles_below
from .beside import untold_beside
from .epochs import EpochLoop, Loops, epoch_loops, told_epoch, told_in_vain
from .frameworks import hidden_by_loaders, kept_from_trainer, tells_epochs
from .prepared import hidden_samplers
from .repair import holder_of, makes_sampler, repaired

CODE = "DL403"
NAME = "missing-set-epoch"
SEVERITY = Severity.WARNING
STATUS = Status.STABLE
LITERALS = (b"DistributedSampler", b"set_epoch", b"GraphDataLoader")

_SAMPLER = "torch.utils.data.DistributedSampler"
_SHUFFLING_SAMPLERS = {
    row.name: (row.shuffle_keyword, row.shuffle_at)
    for row in randomness.SAMPLERS.values()
    if row.shuffle_at is not None
}
"""Samplers that shuffle by the epoch that they are told, with the argument for it."""
_MAKE_SAMPLERS = ("Sampler", "training_data", "create_loader", "GraphDataLoader")
"""Words of files in which samplers are made."""
_ITERATES_BASE = "super().__iter__()"
_EVALUATION = ("val", "test", "eval", "infer", "predict", "dev", "feature")
_SHUFFLING = ("randperm", "shuffle", "permutation", "manual_seed(self.epoch")
_EPOCH = pattern(r"\bself\._?epoch\b(?! *=[^=])")
"""An epoch that is read."""
_COUNTS_ITSELF = pattern(r"\bself\._?epoch \+= |\bself\._?epoch = self\._?epoch \+")


def check(model: Model) -> Iterator[Finding]:
    """Each shuffling sampler that is used over epochs and not told which."""
    known: dict[frozenset[Module], Loops] = {}
    done: set[EpochLoop] = set()
    for module in model.modules:
        if ".set_epoch(" in module.source.text:
            yield from _left_out(model, module)
        if not any(word in module.source.text for word in _MAKE_SAMPLERS):
            continue
        yield from _behind_prepare(model, module)
        yield from _behind_pipeline(model, module)
        yield from _behind_trainer(model, module)
        made = _made(model, module)
        if not made or tells_epochs(model.program, module):
            continue
        around = frozenset(linked(model.program, module))
        loops = known.get(around) or known.setdefault(around, Loops(model, _ordered(around)))
        for function, call, (given, position) in made:
            if _shuffles(loops, function, call, given, position):
                yield from _untold(model, loops, module, function, call, done)


@all_remembered
def _made(
    model: Model, module: Module
) -> Iterator[tuple[Function, ast.Call, tuple[str, int | None]]]:
    """The samplers of a file that shuffle, and that nothing but the loop would tell the epoch."""
    for function in module.all_functions:
        for call in own_nodes(function, ast.Call):
            if (
                (row := _shuffle_of(model, module, call, function)) is not None
                and not _for_evaluation(function, call)
                and not _by_framework(model, function)
                and not _kept_elsewhere(model, function, call)
                and not _told_by_callee(model, function, call)
                and not _gives_way(function, call)
                and not _is_left_unused(function, call)
                and not shuffled_anew(model, function, call)
                and all(node is not call for _, node in never_run(model.program, function))
                and not _is_never_called(model, function)
                and not _is_refused(model, function, call)
            ):
                yield function, call, row


def _is_refused(model: Model, function: Function, sampler: ast.Call) -> bool:
    """Whether a sampler is handed to a loader that shuffles itself, which raises a ValueError on every rank.

    UnitLinearAtt 7b660fb train_attention.py:121. torch 2.13.0 torch/utils/data/dataloader.py: "sampler option is mutually
    exclusive with shuffle".
    """
    for call in own_nodes(function, ast.Call):
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        match given.get("shuffle"):
            case ast.Constant(value=True) if given.get("sampler") is sampler:
                return model.resolve(function.module, call.func) == "torch.utils.data.DataLoader"
    return False


def _is_never_called(model: Model, function: Function) -> bool:
    """Whether all calls of what makes a sampler stand where the program's own calls never come.

    research-contributions 21ed8e5 DAE/Pretrain_full_contrast/data/__init__.py:9: `build_loader_finetune(args)` for a flag that
    the one script gives as True.
    """
    users = calls_of(model.program, function)
    return bool(users) and all(
        is_unset_in_program(model, user.module, call.lineno) for user, call in users
    )


@all_remembered
def _left_out(model: Model, module: Module) -> Iterator[Finding]:
    def is_sampler(function: Function, call: ast.Call) -> bool:
        row = _shuffle_of(model, function.module, call, function)
        given = [k.value for k in call.keywords if row is not None and k.arg == row[0]]
        return (
            row is not None
            and all(getattr(value, "value", False) is True for value in given)
            and not _for_evaluation(function, call)
        )

    for function in module.all_functions:
        for found in untold_beside(model, function, is_sampler):
            names = (name.lower() for name in (found.name, *found.loaders))
            if any(word in name for name in names for word in _EVALUATION):
                continue
            advice = f"Call `{found.name}.set_epoch()` beside it"
            yield Finding(
                CODE,
                NAME,
                SEVERITY,
                f"no one tells `{found.name}` the epoch, only another sampler of the same steps: every rank sees its samples "
                f"in the same order in each epoch. {advice}.",
                place_of(module, found.made),
                (related(module, found.told, "another sampler is told"),),
                Fix(Applicability.DISPLAY, advice),
            )


@all_remembered
def _behind_prepare(model: Model, module: Module) -> Iterator[Finding]:
    def is_sampler(call: ast.Call) -> bool:
        meaning = model.resolve(module, call.func)
        return isinstance(meaning, Class) and _shuffle_of(model, module, call) is not None

    for made, name, told in hidden_samplers(module, is_sampler):
        advice = f"Call `{name}.set_epoch(epoch)` of the sampler itself at the start of each epoch"
        how = "this call does not tell" if told is not None else "nobody tells"
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            f"on several processes `prepare()` puts a batch sampler without `set_epoch` around `{name}`: {how} it "
            f"the epoch, and every epoch has the same batches in the same order. {advice}.",
            place_of(module, told or made),
            (related(module, made, "the sampler"),) if told is not None else (),
            Fix(Applicability.DISPLAY, advice),
        )


@all_remembered
def _behind_pipeline(model: Model, module: Module) -> Iterator[Finding]:
    def is_sampler(function: Function, call: ast.Call) -> bool:
        row = _shuffle_of(model, module, call)
        given = {keyword.arg for keyword in call.keywords}
        return row is not None and row[0] not in given and not _for_evaluation(function, call)

    for made, loader in hidden_by_loaders(model, module, is_sampler):
        advice = "Keep the sampler, and call its `set_epoch(epoch)` at the start of each epoch"
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            f"a `{last_name(loader.func)}` has no `sampler`, by which the framework would tell it the epoch: every "
            f"rank sees its samples in the same order in each epoch. {advice}.",
            place_of(module, made),
            (related(module, loader, "hidden here"),),
            Fix(Applicability.DISPLAY, advice),
        )


@all_remembered
def _behind_trainer(model: Model, module: Module) -> Iterator[Finding]:
    def is_sampler(method: Function, call: ast.Call) -> bool:
        row = _shuffle_of(model, module, call, method)
        given = [k.value for k in call.keywords if row is not None and k.arg == row[0]]
        return row is not None and all(getattr(value, "value", True) for value in given)

    for made in kept_from_trainer(model, module, is_sampler):
        advice = "Return a loader without a sampler that `self.accelerator.prepare()` has divided"
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            "the Trainer tells the epoch to a loader that has `set_epoch`, as those of `prepare()` have, and not to the "
            f"sampler of a `DataLoader`: every rank sees its samples in the same order in each epoch. {advice}.",
            place_of(module, made),
            (),
            Fix(Applicability.DISPLAY, advice),
        )


def _ordered(modules: frozenset[Module]) -> list[Module]:
    return sorted(modules, key=lambda m: m.path)


def _untold(
    model: Model,
    loops: Loops,
    module: Module,
    function: Function,
    call: ast.Call,
    done: set[EpochLoop],
) -> Iterator[Finding]:
    """At the sampler where nobody tells it the epoch, else at the loops that do not."""
    found, everywhere = loops.untold(function, call)
    if not found:
        found, everywhere = _named_alike(model, function), True
    found = [
        (f, loop)
        for f, loop in found
        if not tells_epochs(model.program, f.module)
        and not is_behind_an_end(f, loop)
        and not _is_of_other_objects(model, function, f)
        and not _is_made_without(loops, function, call, f)
    ]
    if everywhere and found:
        user, loop = min(
            found, key=lambda u: (u[0].module is not module, u[0].module.path, u[1].lineno)
        )
        if not shuffles_below(model, loop):
            yield _finding(loops, function, call, user, loop)
        return
    for user, loop in found:
        if loop not in done and not shuffles_below(model, loop):
            done.add(loop)
            yield _finding(loops, function, call, user, loop, at_loop=True)


def _is_made_without(loops: Loops, maker: Function, sampler: ast.Call, user: Function) -> bool:
    """Whether the file of a loop asks for its data so that what makes a sampler for others makes none."""
    asked = [call for f, call in loops.calls_of(maker) if f.module is user.module]
    return bool(asked) and all(keeps_out(each, maker, sampler) for each in asked)


def _is_of_other_objects(model: Model, maker: Function, user: Function) -> bool:
    """Whether a method with a loop runs on no object of the class that makes the sampler: it is made to be evaluated."""
    if maker.cls is None or user.cls is None or maker is user:
        return False
    runs = used(model.program, maker.cls)
    return runs is not None and user in _inherited(model, maker.cls) and user not in runs


def _inherited(model: Model, cls: Class) -> set[Function]:
    return {method for each in model.program.mro(cls)[0] for method in each.methods.values()}


def _named_alike(model: Model, function: Function) -> list[tuple[Function, EpochLoop]]:
    """The loops of a program without `set_epoch` that no call joins to a sampler, but the name of its loader."""
    modules = model.program.modules.values()
    if any(".set_epoch(" in module.source.text for module in modules):
        return []
    return Loops(model, sorted(modules, key=lambda m: m.path)).named_alike(function)


def _shuffle_of(
    model: Model, module: Module, call: ast.Call, function: Function | None = None
) -> tuple[str, int | None] | None:
    """The name and position of the argument by which a distributed sampler shuffles; None for other calls.

    A sampler of the project's own counts where it can be told the epoch and shuffles by it.
    """
    meaning = model.resolve(module, call.func)
    if isinstance(meaning, str) and meaning in randomness.LOADER_MAKERS:
        return ("shuffle", None) if makes_sampler(model, module, call) else None
    if function is not None and _chosen(model, function, call.func):
        meaning = _SAMPLER
    if isinstance(meaning, str):
        return _SHUFFLING_SAMPLERS.get(meaning)
    if not isinstance(meaning, Class):
        return None
    own, outside = model.program.mro(meaning)
    init, iterate = (model.program.find_method(meaning, m) for m in ("__init__", "__iter__"))
    inherited = next((_SHUFFLING_SAMPLERS[b] for b in outside if b in _SHUFFLING_SAMPLERS), None)
    if not (inherited or any("set_epoch" in cls.methods for cls in own)):
        return None
    if iterate is not None and _draws_anew(iterate):
        return None
    if iterate is None or init is None:
        return inherited
    if inherited and _ITERATES_BASE in ast.unparse(iterate.node):
        return inherited
    if not _shuffles_by_epoch(model, meaning, iterate):
        return None
    name = next((p for p in init.parameters if p == "shuffle"), "")
    return name, init.parameters.index(name) - 1 if name else None


def _draws_anew(iterate: Function) -> bool:
    """Whether a sampler orders samples that another one draws anew in each pass.

    Painter cfec845 Painter/data/sampler.py: `self.dataset = DatasetFromSampler(self.sampler)`, then `super().__iter__()`.
    """
    text = ast.unparse(iterate.node)
    return _ITERATES_BASE in text and "self.dataset =" in text


def _shuffles_by_epoch(model: Model, sampler: Class, iterate: Function) -> bool:
    """Whether a sampler of the project's own orders by an epoch that it is told, and does not count itself.

    VoiceCraft a702dfd steps/trainer_utils.py:51: `set_epoch()` makes the order that `__iter__` gives, and a
    `_permute_batches()` that both call that of another.
    """
    told = model.program.find_method(sampler, "set_epoch")
    methods = [iterate]
    bases = model.program.mro(sampler)[1]
    if told is not None and any(base.endswith("Sampler") for base in bases):
        methods.append(told)
        for method in methods:
            asked = (
                model.program.find_method(sampler, node.func.attr)
                for node in own_nodes(method, ast.Call)
                if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "self"
            )
            methods += [each for each in asked if each is not None and each not in methods]
    text = "\n".join(ast.unparse(method.node) for method in methods)
    return (
        _EPOCH.search(text) is not None
        and _COUNTS_ITSELF.search(text) is None
        and any(word in text for word in _SHUFFLING)
    )


def _chosen(model: Model, function: Function, called: ast.expr) -> bool:
    """Whether a variable holds the class: `sampler = RandomSampler if local_rank == -1 else DistributedSampler`."""
    return isinstance(called, ast.Name) and any(
        isinstance(value, ast.IfExp)
        and _SAMPLER in (model.resolve(function.module, arm) for arm in (value.body, value.orelse))
        for value in assignments(function).get(called.id, ())
    )


def _shuffles(
    loops: Loops, function: Function, call: ast.Call, name: str, position: int | None
) -> bool:
    calls = [each for _, each in loops.calls_of(function)]
    kept_out = [each for each in calls if keeps_out(each, function, call)]
    if calls and len(kept_out) == len(calls):
        return False
    given = keyword_values(loops.model.program, function, call, name)
    if given is None:  # what is handed on may hold it
        return False
    maker = makes_sampler(loops.model, function.module, call)
    if maker is not None and not (
        (given or maker.shuffles) and _divides(loops, function, call, maker)
    ):
        return False
    if not given and position is not None:
        given = call.args[position : position + 1]
    # An argument (`shuffle=args.shuffle`) may be anything: silent unless some caller turns it on.
    return (
        not given
        or any(loops.may_be_true(function, each, kept_out=kept_out) for each in given)
        or _trains_as_set(function, call, given[0])
    )


def _divides(loops: Loops, function: Function, call: ast.Call, maker: LoaderMaker) -> bool:
    """Whether a loader is told to divide: by a test, by True, or by a parameter that some call sets."""
    return all(
        any(
            isinstance(each, ast.Compare | ast.Attribute) or loops.may_be_true(function, each)
            for each in keyword_values(loops.model.program, function, call, flag) or ()
        )
        for flag in maker.flags
    )


def _trains_as_set(function: Function, call: ast.Call, flag: ast.expr) -> bool:
    """Whether a setting decides of the data that is trained on, by its name: nobody writes it to leave it off.

    KAIR fc1732f main_train_psnr.py:123: `train_sampler = DistributedSampler(…, shuffle=dataset_opt[…])`.
    """
    names = [holder_of(function, call), *map(ast.unparse, call.args[:1])]
    return isinstance(flag, ast.Attribute | ast.Subscript) and any("train" in n for n in names if n)


def _for_evaluation(function: Function, call: ast.Call) -> bool:
    names = [n for n in (holder_of(function, call),) if n]
    if not any(epoch_loops(function)) and "train" not in function.name:
        names.append(function.name)  # dino 7c446df eval_linear.py trains a classifier
    names += [ast.unparse(a) for a in call.args[:1]]
    names += [ast.unparse(k.value) for k in call.keywords if k.arg == "dataset"]
    return any(word in name.lower() for name in names for word in _EVALUATION)


def _kept_elsewhere(model: Model, function: Function, call: ast.Call) -> bool:
    """Whether an object of another library than torch gets the sampler, and may tell it the epoch.

    torchtune 0.6.1 torchtune/data/_utils.py:228: torchdata.nodes.SamplerWrapper calls `set_epoch` whenever it begins
    anew.
    """
    holder = holder_of(function, call)
    for user in own_nodes(function, ast.Call):
        match user:
            case ast.Call(func=func, args=args, keywords=keywords) if user is not call:
                given = [*args, *(keyword.value for keyword in keywords)]
                if not any(each is call or ast.unparse(each) == holder for each in given):
                    continue
                name = last_name(func)
                # A function may print it; a class keeps it. What loads in batches only draws from it.
                keeps = name[:1].isupper() and not name.endswith(("Loader", "BatchSampler"))
                if keeps and not isinstance(model.resolve(function.module, func), Class):
                    return True
    return False


def _told_by_callee(model: Model, function: Function, call: ast.Call) -> bool:
    """Whether a function of the project that gets the sampler itself tells it each epoch.

    trlx 3340c2f trlx/trainer/nemo_ppo_trainer.py:354: `infinite_dataloader(loader, sampler=sampler)`, a generator
    of trlx/utils that no loop over epochs calls.
    """
    holder = holder_of(function, call)
    for user in own_nodes(function):
        if not isinstance(user, ast.Call) or user is call:
            continue
        callee = model.resolve(function.module, user.func)
        if not isinstance(callee, Function):
            continue
        for name in _told_parameters(callee):
            given = argument_of(user, callee, name)
            if given is not None and (given is call or ast.unparse(given) == holder):
                return True
    return False


def _gives_way(function: Function, call: ast.Call) -> bool:
    """Whether a sampler is told the epoch in a loop that has another one in its place before it draws."""
    holder = holder_of(function, call)
    return any(
        holder == told_epoch(node) and call.lineno < node.lineno for node in told_in_vain(function)
    )


def _is_left_unused(function: Function, sampler: ast.Call) -> bool:
    """Whether a sampler is put into a variable that nothing reads, but what makes a batch sampler that nothing reads.

    FDRFNet 93b531d src/train.py:282: the loaders get neither, and shuffle themselves.
    """
    held = [
        node.targets[0]
        for node in own_nodes(function, ast.Assign)
        if len(node.targets) == 1 and node.value is sampler
    ]
    if not held or not all(isinstance(target, ast.Name) for target in held):
        return False
    names = {target.id for target in held if isinstance(target, ast.Name)}
    reads = [
        node
        for node in walk(function.module.source.tree, ast.Name)
        if node.id in names and isinstance(node.ctx, ast.Load)
    ]
    into = {
        id(part): call
        for call in own_nodes(function, ast.Call)
        if last_name(call.func) == "BatchSampler"
        for part in call.args
    }
    return all(id(read) in into and _is_left_unused(function, into[id(read)]) for read in reads)


def _told_parameters(function: Function) -> list[str]:
    """The parameters of a function that it tells the epoch in a loop of its own: once is no epoch."""
    told = {
        target
        for loop in own_nodes(function, ast.For, ast.While)
        for node in walk(loop)
        if (target := told_epoch(node)) is not None
    }
    return [name for name in function.parameters if name in told]


def _by_framework(model: Model, function: Function) -> bool:
    return function.cls is not None and facts.is_training_class(model.program.mro(function.cls)[1])


def _never_told(model: Model, user: Function) -> Iterator[Related]:
    """The tests that never hold, around calls that would tell a sampler the epoch."""
    tests = (test for test, node in never_run(model.program, user) if told_epoch(node) is not None)
    for test in dict.fromkeys(tests):
        holds = fixed_option(model.program, user.module, test)
        why = "never holds: this is True or False"
        if holds is not None:
            why = (
                f"{'always' if holds else 'never'} holds: the command line gives it one value only"
            )
        elif contradicts(user.module, test):
            why = "never holds: one process"
        yield related(user.module, test, why)
    for node in told_in_vain(user):
        yield related(user.module, node, "this sampler is replaced before anything draws from it")


def _who(model: Model, module: Module, call: ast.Call) -> str:
    maker = makes_sampler(model, module, call)
    if maker is None:
        return "this sampler"
    return "the sampler of its loader" if maker.sampler else "this loader"


def _finding(
    loops: Loops,
    function: Function,
    call: ast.Call,
    user: Function,
    loop: EpochLoop,
    *,
    at_loop: bool = False,
) -> Finding:
    module, where = function.module, user.module
    fix = repaired(loops.model, function, call, user, loop)
    if at_loop:
        return Finding(
            CODE,
            NAME,
            SEVERITY,
            "The sampler of this loop's data is told the epoch in other loops and not in this one: every "
            f"rank sees its samples in the same order in each epoch. {fix.message}.",
            place_of(where, loop),
            (related(module, call, "the sampler"),),
            fix,
        )
    if fix.edits and where is not module:
        fix = replace(fix, path=where.path)
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"no one tells {_who(loops.model, module, call)} the epoch: every rank sees its samples in the same order in each "
        f"epoch. {fix.message}.",
        place_of(module, call),
        (related(where, loop, "the epochs"), *_never_told(loops.model, user)),
        fix,
    )
