"""The loops over epochs in which a sampler is used, and which of them tell it the epoch."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Set
from typing import Final

from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Class, Function, Module, dotted_name, last_name
from distlint.analysis.program.environment import statements
from distlint.analysis.program.handed import argument_of, callers_by_name, namings
from distlint.analysis.program.memory import all_remembered, remembered
from distlint.analysis.program.syntax import assignments, default_of, own_nodes, target_names
from distlint.analysis.questions.evaluating import evaluates
from distlint.analysis.questions.loaders import may_be_loader
from distlint.analysis.questions.never import never_run
from distlint.analysis.questions.unset_options import is_settled
from distlint.knowledge.conventions import LOADER
from distlint.nodes import walk
from distlint.patterns import pattern

from .configured import configured_as
from .kinds import cannot_be_told

_TRAINING: Final = ("train", "fit", "step", "backward", "run_", "learn")
"""Words in the names of what a loop calls to train."""
_RUNS_EPOCH = ("train", "epoch", "fit")
_OF_LIST: Final = frozenset(dir(list))
_TRAINS = frozenset({"train", "training", "is_train", "is_training", "istrain"})
"""Flags that are true for the data that is trained on."""
_NO_SAMPLERS: Final = pattern(
    r"(?:set|sets?_(?:train|tr|val|valid|eval|test)|criterion|loss|loss_f(?:n|unc)|optimi[sz]er|optim|scheduler|lr_sched|meter|logger)$",
    re.I,
)
"""What an object is called that draws no samples for a loader, whatever epoch it is told."""
_OF_EVALUATION: Final = pattern(
    r"(?<![a-z])(?:val|valid|validation|eval|evaluation|test|dev)(?:_?(?:data|set|dataset))?_?(?:sampler|loader|dataloader)(?![a-z])"
)
"""Names of samplers and loaders for evaluation: generative-recommenders 2e81fab
generative_recommenders/research/trainer/train.py:307 tells the one to train and `eval_data_sampler`."""
_EVALUATES: Final = pattern(
    r"^_?(?:test|eval|evaluate|evaluation|val|valid|validate|validation)(?:_|$)"
)
"""Names of functions that evaluate: what they tell the epoch is no sampler to train on (monst3r 574cc77
dust3r/training.py:485, `test_one_epoch()`). A loop over epochs in one trains (dino 7c446df eval_linear.py)."""
_ITERATES = ("__iter__", "__next__")
"""Methods that a loop over an object runs, whoever writes the loop."""
_ONLY_SHOW: Final = frozenset(
    [
        "print",
        "enumerate",
        "range",
        "len",
        "int",
        "float",
        "round",
        "str",
        "format",
        "tqdm",
        "time",
        "perf_counter",
        "info",
        "debug",
        "set_description",
    ]
)
"""Functions and methods that count, time and show."""
_BARS: Final = frozenset({"tqdm", "trange", "track"})
_EPOCHS: Final = pattern(
    r"(?!.*per_?epoch)(?:.*epochs|(?:n|nb|num|max|total|end|last|final|stop)?_?epoch|epochs?_(?:num|count|number))$"
)
"""How the number of epochs is called; that of the steps in one epoch is another."""

_PLACE_OF_SAMPLER: Final = 3
"""Where `DataLoader` is given a sampler: torch 2.13.0 torch/utils/data/dataloader.py:242."""

EpochLoop = ast.For | ast.While | ast.Try
"""What runs through the data again and again: a loop over epochs, a generator's endless loop, or the `try` that
begins anew where an iterator has ended."""


class Loops:
    """The loops over epochs of files that belong together, and what each of them reaches."""

    def __init__(self, model: Model, modules: Iterable[Module]) -> None:
        self.model = model
        self._functions = [f for m in modules for f in m.all_functions]
        self._by_name: dict[str, list[Function]] = {}
        for function in self._functions:
            self._by_name.setdefault(function.name, []).append(function)
        self._callers: dict[Function, set[Function]] = {}
        self._handed_over: set[Function] = set()
        self._leading: dict[Function, list[tuple[ast.Call, set[Function]]]] = {}
        self._only: dict[tuple[str, bool], list[Function]] = {}
        for function in self._functions:
            known, unknown = _callees(model, function)
            for callee in (*known, *(f for each in unknown for f in self._surely_named(*each))):
                self._callers.setdefault(callee, set()).add(function)
            for callee in self._handed_in(function):
                self._callers.setdefault(callee, set()).add(function)
                self._handed_over.add(callee)
        # Whoever hands batches out for ever counts no epochs: any `set_epoch` may be meant for it.
        self._all = [(f, loop) for f in self._functions for loop in self._over_epochs(f)]
        counting = {f for f, _ in self._all}
        telling = [f for f in self._functions if any(self._told(f, _telling(f)))]
        self._evaluating = {f for f in telling if f not in counting and _EVALUATES.search(f.name)}
        self._sets = [f for f in telling if f not in self._evaluating]
        self._counted = {id(loop) for _, loop in self._all}
        self._once = {id(loop) for f, loop in self._all if _is_one_pass(model, f, loop)}
        if not self._sets:
            self._all += [(f, loop) for f in self._functions for loop in self._endless(f)]

    def untold(
        self, function: Function, sampler: ast.Call
    ) -> tuple[list[tuple[Function, EpochLoop]], bool]:
        """The loops of a sampler in which nobody tells it the epoch, and whether these are all of its loops.

        A loop is the sampler's where it is of its function, else where calls join the two. Where neither is
        seen, any loop of the file that tells some sampler speaks for all.
        """
        own = [(f, loop) for f, loop in self._all if f is function] or list(
            self._begun_anew(function)
        )
        if not own:
            above = self._above(function)
            own = [(f, loop) for f, loop in self._all if not above.isdisjoint(self._above(f))]
        # Whose data a library hands out for ever, only a script that makes the sampler says (deepspeed 0.19.8
        # deepspeed/runtime/dataloader.py:18), or a worker that joins the group.
        run = any(map(_is_run, self._above(function)))
        own = [(f, loop) for f, loop in own if run or id(loop) in self._counted]
        joined = bool(own)
        if not own:
            own = [
                (f, o)
                for f, o in self._all
                if f.module is function.module and epoch_of(f, o) and id(o) not in self._once
            ]
        own = [
            (f, loop)
            for f, loop in own
            if self._uses(f, loop, function, sampler)
            and not _draws_without_sampler(f, loop)
            and not _goes_through_a_batch(f, loop)
            and not self._only_evaluates(f, loop)
            and not self._ends_before(f, function)
        ]
        own = [(f, loop) for f, loop in own if id(loop) not in self._once]
        if own and all(_reads_no_sample(loop) for _, loop in own):
            return [], False
        untold = [(f, loop) for f, loop in own if not self._is_told(f, loop)]
        if len(untold) < len(own) and not joined:
            return [], False
        return untold, len(untold) == len(own)

    def _over_epochs(self, function: Function) -> Iterator[EpochLoop]:
        loops = _turning(function)
        turning = [node for node in loops if isinstance(node, ast.While)]
        found = list(
            epoch_loops(function, self._given_loaders(function))
            if turning
            else _own_loops(function)
        )
        yield from found
        yield from (o for o in turning if o not in found and self._calls_a_pass(function, o))
        for loop in loops:
            if isinstance(loop, ast.For) and loop not in found and self._hands_on(function, loop):
                yield loop

    def _calls_a_pass(self, function: Function, loop: ast.While) -> bool:
        """Whether each turn of a loop calls a function that trains from all of a loader, which counts the epochs or the steps.

        ParallelWaveGAN issue 177: `while True: self._train_epoch(); if self.finish_train: break`.
        """
        calls = (s.value for s in loop.body if isinstance(s, ast.Expr | ast.Assign))
        return any(
            _trains_through_a_loader(callee)
            for call in calls
            if isinstance(call, ast.Call)
            for callee in self._meant(function, call.func, surely=True)
        )

    def _hands_on(self, function: Function, loop: ast.For) -> bool:
        """Whether a loop counts, and each turn hands its number and a loader made above it to what trains from all of that.

        LAVENDER 139860e main_qaoe_mlm.py:195: `for e in iter_tqdm(range(args.size_epoch)): agent.go_dl(e + 1, dl_tr, True)`.
        """
        count = counter(loop)
        for call in (_called_in_turn(s) for s in loop.body if count):
            if call is None or not any(_mention([each], {count}) for each in _given(call)):
                continue
            handed = [each for each in _given(call) if isinstance(each, ast.Name)]
            made = {n.id for n in handed if self._is_loader_made_above(function, loop, n.id)}
            if made and any(
                _trains_from(callee, name)
                for callee in self._meant(function, call.func, surely=True)
                for name in callee.parameters
                if isinstance(given := argument_of(call, callee, name), ast.Name)
                and given.id in made
            ):
                return True
        return False

    def _is_loader_made_above(self, function: Function, loop: ast.For, name: str) -> bool:
        """Whether what a variable is made by makes a loader, and does not stand in a loop: `train, test = loaders(args)`."""
        values = assignments(function).get(name, ())
        inside = {id(part) for part in walk(loop)}
        return bool(values) and all(
            id(value) not in inside
            and any(
                self.model.resolve(maker.module, node.func) == LOADER
                for maker in self._reached(function, walk(value), surely=True)
                for node in _calls_in(maker)
            )
            for value in values
        )

    def _endless(self, function: Function) -> Iterator[EpochLoop]:
        given = self._given_loaders(function) if function.is_generator else frozenset()
        return endless_loops(function, given)

    def _begun_anew(self, function: Function) -> Iterator[tuple[Function, EpochLoop]]:
        """Where a run that makes a sampler, itself or in what it calls, begins its loader anew when it ends.

        BiSeNet 6b4b67a old/train.py:119: `except StopIteration: epoch += 1; sampler.set_epoch(epoch); diter = iter(dl)`,
        and other scripts of the project tell theirs.
        """
        for user in self._above(function):
            if any(f is user for f, _ in self._all):
                continue
            given = self._begun(user)
            yield from ((user, o) for o in endless_loops(user, given) if isinstance(o, ast.Try))

    def _begun(self, function: Function) -> Set[str]:
        """What a function makes iterators of that may be a loader, whatever it is called."""
        begun = (
            given
            for node in own_nodes(function, ast.Call)
            if last_name(node.func) == "iter"
            for given in node.args
        )
        return {dotted_name(each) for each in begun if may_be_loader(self.model, function, each)}

    def _given_loaders(self, function: Function) -> Set[str]:
        """What a function goes through that is a loader by the calls that hand it or make it, whatever it is called."""
        given = {name for name in function.parameters if self._is_given_loader(function, name)}
        init = function.cls.methods.get("__init__") if function.cls is not None else None
        # ALPRO 4ff6163 src/datasets/dataloader.py:166: `self.iterable = iterable`, and `InfiniteIterator(train_loader)`.
        given |= {
            path
            for path, values in (assignments(init).items() if init is not None else ())
            if path.startswith("self.")
            and any(isinstance(v, ast.Name) and self._is_given_loader(init, v.id) for v in values)
        }
        gone = (
            gone_through(function, inner.iter)
            for loop in own_nodes(function, ast.While)
            for inner in loop.body
            if isinstance(inner, ast.For)
        )
        return given | {
            path
            for each in gone
            if (path := dotted_name(each))
            and path not in given
            and may_be_loader(self.model, function, each)
        }

    def _is_given_loader(self, function: Function | None, name: str) -> bool:
        """Whether a call hands a function a loader, by what it is called, for a parameter."""
        return (
            function is not None
            and name in function.parameters
            and any(
                (argument := argument_of(call, function, name)) is not None and _is_loader(argument)
                for _, call in callers_by_name(self.model.program, function)
            )
        )

    def named_alike(self, function: Function) -> list[tuple[Function, EpochLoop]]:
        """The loops over epochs through a loader of the name that what makes a sampler is kept under.

        ZoeDepth d87f17b train_mono.py:98: `train_loader = DepthDataLoader(config, "train").data` goes to a trainer that
        is imported by the name of a setting, which goes through `self.train_loader` in each epoch. Where a configuration
        holds it, the loop need not count: cosmos-predict1 4d7ba2a cosmos_predict1/utils/trainer.py:151.
        """
        kept = {
            name
            for user, call in callers_by_name(self.model.program, function)
            if self.model.resolve(user.module, call.func) in (function, function.cls)
            for name, values in assignments(user).items()
            if _is_loader(ast.Name(name))
            and any(part is call for value in values for part in walk(value))
        }
        configured = configured_as(self.model, function)
        return [
            (user, loop)
            for user, loop in self._all
            if (names := kept | configured if epoch_of(user, loop) else configured)
            and not _reads_no_sample(loop)
            and not self._ends_before(user, function)
            and any(last_name(n) in names for n in walk(loop, ast.Name, ast.Attribute))
        ]

    def _uses(self, user: Function, loop: EpochLoop, function: Function, sampler: ast.Call) -> bool:
        """Whether a loop names what its function made with the sampler, where that can be seen."""

        def makes(value: ast.expr) -> bool:
            if user is function:
                return any(node is sampler for node in walk(value))
            return function in self._reached(user, walk(value), surely=True)

        flows = assignments(user)
        names = {name for name, values in flows.items() if any(map(makes, values))}
        if not names:
            return True
        counted = _gone_through_by_number(user)
        kept = {id(v) for name in counted for v in flows.get(name, ()) if not makes(v)}
        while (
            more := {
                name
                for name, values in flows.items()
                if any(
                    _mention([v], names)
                    and id(v) not in kept
                    and not self._collects(user, v, names)
                    for v in values
                )
            }
            - names
        ):
            names |= more
        # ResNeSt 1dfb3e8 scripts/torch/train.py:196: `def train(epoch):` in the function that makes the loader.
        called = {last_name(n.func) for n in walk(loop, ast.Call)}
        inside = [part for part in walk(user.node, ast.FunctionDef) if part.name in called]
        return _mention([loop, *inside], names)

    def _ends_before(self, user: Function, function: Function) -> bool:
        """Whether whoever calls both has a loop done with before the sampler is made.

        NeuralSpeech 8cf4fbc AdapterASR/train.py:518: behind `train(dataloaders, …)` the data of each language is loaded
        anew, to decode what there is to test.
        """
        parted = False
        for caller in self._above(user) & self._above(function):
            to_loop = self._calls_to(caller, user)
            to_sampler = self._calls_to(caller, function)
            if not to_loop or not to_sampler or to_loop & to_sampler:
                continue
            if max(c.lineno for c in to_loop) >= min(c.lineno for c in to_sampler):
                return False
            for turn in own_nodes(caller, ast.For, ast.While):
                inside = set(walk(turn))
                if inside & to_loop and inside & to_sampler:
                    return False
            parted = True
        return parted

    def _calls_to(self, caller: Function, function: Function) -> set[ast.Call]:
        """The calls by which a function comes to another."""
        return {
            node
            for node in own_nodes(caller, ast.Call)
            if function in self._reached(caller, [node], surely=True)
        }

    def _collects(self, user: Function, value: ast.expr, loaders: set[str]) -> bool:
        """Whether an expression has gone through a loader once and keeps what came out: nobody draws from it any more.

        modulus 878fd04 examples/cfd/external_aerodynamics/xaeronet/volume/train.py:122: `parallel_partitioning()` makes
        lists of its batches, through which the epochs go.
        """
        match value:
            case ast.ListComp(generators=[first, *_]):
                return _mention([first.iter], loaders)
            case ast.Call(func=ast.Name(id="list"), args=[given]):
                return _mention([given], loaders)
            case ast.Call(func=func):
                called = list(self._meant(user, func, surely=True))
                return len(called) == 1 and _goes_through_once(called[0], value, loaders)
        return False

    def may_be_true(
        self,
        function: Function,
        node: ast.expr,
        depth: int = 3,
        kept_out: Collection[ast.Call] = (),
    ) -> bool:
        """Whether some call hands a flag to a function as True, written out there or in a list; `kept_out` are calls that
        do not come to it."""
        match node:
            case ast.Constant(value=value):
                return value is True
            case ast.Compare(ops=[ast.Eq()], comparators=[ast.Constant(value=str(split))]):
                return "train" in split.lower()
            case ast.Name() | ast.Attribute() if last_name(node).lower() in _TRAINS:
                return True
            case ast.List(elts=elements) | ast.Tuple(elts=elements):
                return any(self.may_be_true(function, e, depth, kept_out) for e in elements)
            case ast.Attribute(value=ast.Name(id="self")) if depth > 0 and function.cls is not None:
                # sam2 2b90b9f training/dataset/sam2_datasets.py:166: `shuffle=self.shuffle`, which a constructor is given
                init = self.model.program.find_method(function.cls, "__init__")
                kept = assignments(init).get(ast.unparse(node), ()) if init is not None else ()
                return init is not None and any(
                    self.may_be_true(init, value, depth - 1) for value in kept
                )
            case ast.Subscript(slice=ast.Constant(value=str())) if depth > 0:
                # TAP 352891f pythia/datasets/multi_dataset.py:277: `other_args["shuffle"] = True`
                return any(
                    self.may_be_true(function, value, depth - 1)
                    for value in _put_into(function, node)
                )
            case ast.Name(id=name) if depth > 0:
                # YOLOv6 yolov6/data/data_load.py: a parameter that is set to False in one case.
                return any(
                    self.may_be_true(function, each, depth - 1, kept_out)
                    for value in assignments(function).get(name, ())
                    for each in _elements_of(value)
                ) or any(
                    self.may_be_true(caller, given, depth - 1)
                    for caller, given in self._handed(function, name, kept_out)
                )
        return False

    def _handed(
        self, function: Function, name: str, kept_out: Collection[ast.Call]
    ) -> Iterator[tuple[Function, ast.expr]]:
        """What the calls of a function give for a name, where it is a parameter."""
        if name not in function.parameters:
            return
        default = default_of(function, name)
        if default is not None:
            yield function, default
        for caller, node in self.calls_of(function):
            given = argument_of(node, function, name) if node not in kept_out else None
            if given is not None:
                yield caller, given

    def calls_of(self, function: Function) -> Iterator[tuple[Function, ast.Call]]:
        """The calls that surely mean a function, each with who makes it."""
        for caller in self._callers.get(function, ()):
            for node in own_nodes(caller, ast.Call):
                if function in self._meant(caller, node.func, surely=True):
                    yield caller, node

    def _is_told(self, function: Function, loop: EpochLoop) -> bool:
        """Whether some sampler is told the epoch in a loop, in what it calls, or where nothing shows who calls."""
        others = [node for _, each in self._all if each is not loop for node in walk(each)]
        elsewhere = {id(node) for node in others} - {id(node) for node in walk(loop)}
        if any(id(n) not in elsewhere for n in self._told(function, own_nodes(function))):
            return True
        reached = self._reached(function, walk(loop), surely=False)
        if any(
            (setter in reached or self._is_hook(setter))
            and not self._is_never_made(setter, function)
            for setter in self._sets
        ):
            return True
        apart = any(_OF_EVALUATION.search(told_epoch(node) or "") for node in walk(loop))
        apart = apart or not self._evaluating.isdisjoint(reached)
        text = ast.unparse(loop).lower()
        return apart and "train" not in text and ".backward(" not in text

    def _only_evaluates(self, function: Function, loop: EpochLoop) -> bool:
        """Whether all that a loop hands a loader to goes through it without gradients: no order of samples matters there.

        RFdiffusion2 03c4653 rf2aa/SE3Transformer/se3_transformer/runtime/inference.py:135: a measurement of how fast it is.
        """
        calls = list(walk(loop, ast.Call))
        through = [call for call in calls if any(map(_is_loader, _given(call)))]
        inner = (n for n in walk(loop, ast.For, ast.While) if n is not loop)
        callees = [list(self._meant(function, call.func, surely=True)) for call in through]
        return (
            bool(through)
            and not any(inner)
            and not any(
                word in last_name(call.func).lower() for call in calls for word in _TRAINING
            )
            and all(found and all(map(evaluates, found)) for found in callees)
        )

    def _is_hook(self, setter: Function) -> bool:
        """Whether something that is not seen calls a function which tells the epoch outside of any loop.

        One with loops of its own is a program: jepa 51c59d5 app/vjepa/train.py:345 tells its sampler where to go
        on, and nothing of those of evals/video_classification_frozen/eval.py.
        """
        outside = all(f is not setter for f, _ in self._all)
        # s1 finetune/gpt-accelera/data_utils/common_utils.py:196: the `__next__` of a loader without an end.
        unseen = setter.name in _ITERATES or setter in self._handed_over
        unseen = unseen or not self._callers.get(setter) or self._is_hook_of_base(setter)
        return outside and not setter.is_module_body and unseen

    def _is_hook_of_base(self, setter: Function) -> bool:
        """Whether a method stands in for a base's that another method of the base calls, and whoever calls that is not seen.

        FocalsConv e7b68e4 CenterPoint/det3d/torchie/trainer/hooks/sampler_seed.py:5: `before_epoch()`, which `before_train_epoch()`
        of the base calls, and a trainer calls that by `getattr(hook, name)(self)`.
        """
        bases = self.model.program.mro(setter.cls)[0][1:] if setter.cls is not None else []
        return any(
            caller.cls in bases and not self._callers.get(caller)
            for caller in self._callers.get(setter, ())
        )

    def _is_never_made(self, setter: Function, function: Function) -> bool:
        """Whether what tells the epoch when it is gone through is of a class of which nothing that runs with a loop makes an object.

        LAVENDER 139860e utils/data_sampler.py:214: the one function that makes an `IterationBasedBatchSampler` is called by
        one that nobody names.
        """
        cls = setter.cls
        if cls is None or setter.name not in _ITERATES or cls.node.decorator_list:
            return False
        named = [
            namings(self.model.program, each.name)
            for each in (cls, *self.model.program.subclasses(cls))
        ]
        if any(each.others for each in named):
            return False
        runs = self._above(function)
        return all(self._never_runs(user, runs) for each in named for user, _ in each.calls)

    def _never_runs(self, function: Function, runs: set[Function]) -> bool:
        """Whether all that leads to a function are functions of files that nothing names, beside what is known to run."""
        first = [each for each in self._above(function) if not self._callers.get(each)]
        return bool(first) and all(
            each not in runs
            and each.cls is None
            and not each.is_module_body
            and not each.decorators
            and namings(self.model.program, each.name) == ((), False)
            for each in first
        )

    def _told(self, function: Function, nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
        """The calls among nodes that tell some sampler the epoch, without those of one that is always None."""
        never: set[int] | None = None
        for node in nodes:
            told = told_epoch(node)
            if (
                told is not None
                and not _OF_EVALUATION.search(told)
                and not self._is_never_given(function, told)
                and not cannot_be_told(self.model, function, told)
            ):
                if never is None:
                    never = {id(each) for _, each in never_run(self.model.program, function)}
                    never |= {id(call) for call in told_in_vain(function)}
                if id(node) not in never:
                    yield node

    def _is_never_given(self, function: Function, told: str) -> bool:
        """Whether a name is a parameter whose default None no call replaces, or an attribute made of one.

        Score-Entropy-Discrete-Diffusion 0605786 data.py:16: `def cycle_loader(dataloader, sampler=None)`, and both
        calls give the loader alone.
        """
        owner, name = function, told
        if told.startswith("self.") and function.cls is not None:
            found = self.model.program.find_method(function.cls, "__init__")
            values = self._values_of(function.cls, told)
            if found is None or len(values) != 1 or not isinstance(values[0], ast.Name):
                return False
            owner, name = found, values[0].id
        default = default_of(owner, name) if name in owner.parameters else None
        if not (isinstance(default, ast.Constant) and default.value is None):
            return False
        if assignments(owner).get(name) or owner in self._handed_over:
            return False
        calls = callers_by_name(self.model.program, owner)
        return bool(calls) and not any(_may_give(call, owner, name) for _, call in calls)

    def _values_of(self, cls: Class, attribute: str) -> list[ast.expr]:
        own, _ = self.model.program.mro(cls)
        methods = [method for each in own for method in each.methods.values()]
        return [v for method in methods for v in assignments(method).get(attribute, ())]

    def _above(self, function: Function) -> set[Function]:
        found = {function}
        work = [function]
        while work:
            current = work.pop()
            for caller in self._callers.get(current, ()):
                if caller not in found:
                    found.add(caller)
                    work.append(caller)
        return found

    def _reached(
        self, function: Function, nodes: Iterable[ast.AST], *, surely: bool
    ) -> set[Function]:
        found: set[Function] = set()
        work = list(self._called(function, nodes, surely=surely))
        while work:
            callee = work.pop()
            if callee not in found:
                found.add(callee)
                nodes = own_nodes(callee, ast.Call, ast.For, ast.comprehension)
                work += self._called(callee, nodes, surely=surely)
        return found

    def _called(
        self, function: Function, nodes: Iterable[ast.AST], *, surely: bool
    ) -> Iterator[Function]:
        """The functions that nodes call; where it matters, only those that surely are the ones."""
        for node in nodes:
            if isinstance(node, ast.Call):
                yield from self._meant(function, node.func, surely=surely)
            elif isinstance(node, (ast.For, ast.comprehension)) and not surely:
                yield from self._by_name.get("__iter__", ())

    def _handed_in(self, function: Function) -> Iterator[Function]:
        """The functions that a function hands to whoever calls them: `mp.spawn(worker, args=…)`, `launch(main)`."""
        for name, argument in _named_arguments(function):
            if name in self._by_name:
                found = self.model.resolve(function.module, argument)
                if isinstance(found, Function):
                    yield found

    def _meant(self, function: Function, func: ast.expr, *, surely: bool) -> Iterator[Function]:
        known = _meanings(self.model, function)
        found = known[func] if func in known else _meaning(self.model, function, func)
        if found is not None:
            yield from found
            return
        name, of_method = _name_of(func)
        yield from self._surely_named(name, of_method) if surely else self._named(name, of_method)

    def _named(self, name: str, of_method: bool) -> list[Function]:
        named = self._by_name.get(name, [])
        return [found for found in named if found.cls is not None] if of_method else named

    def _surely_named(self, name: str, of_method: bool) -> list[Function]:
        """The functions of a name, or methods, of which each call by that name is one of them."""
        key = name, of_method
        if key not in self._only:
            named = self._named(*key)
            self._only[key] = named if len(named) == 1 or self._stand_in(named) else []
        return self._only[key]

    def _stand_in(self, named: list[Function]) -> bool:
        """Whether all methods of a name stand in for one of them: whoever calls it calls that one or what overrides it.

        the_well 215f55d the_well/data/datamodule.py:37, beside an abstract class with the same methods.
        """
        owners = [method.cls for method in named if method.cls is not None]
        families = [set(self.model.program.mro(cls)[0]) for cls in owners]
        return bool(families) and any(
            all(first in family for family in families) for first in owners
        )


@remembered
def _meanings(model: Model, function: Function) -> dict[ast.expr, tuple[Function, ...] | None]:
    """What a function calls, as far as it is known."""
    return {call.func: _meaning(model, function, call.func) for call in _calls_in(function)}


@remembered
def _callees(
    model: Model, function: Function
) -> tuple[tuple[Function, ...], tuple[tuple[str, bool], ...]]:
    """What a function is known to call, and the names of what else it calls, each with whether as a method."""
    known: dict[Function, None] = {}
    unknown: dict[tuple[str, bool], None] = {}
    for func, found in _meanings(model, function).items():
        if found is None:
            unknown[_name_of(func)] = None
        else:
            known.update(dict.fromkeys(found))
    return tuple(known), tuple(unknown)


def _name_of(func: ast.expr) -> tuple[str, bool]:
    """The name by which something is called, and whether as a method."""
    if isinstance(func, ast.Attribute):
        return func.attr, True
    return dotted_name(func), False


@all_remembered
def _named_arguments(function: Function) -> Iterator[tuple[str, ast.expr]]:
    """What the calls of a function hand on that may be a function, each with its name."""
    for call in _calls_in(function):
        for argument in _given(call):
            if isinstance(argument, ast.Name | ast.Attribute):
                yield last_name(argument), argument


@all_remembered
def _turning(function: Function) -> Iterator[ast.For | ast.While]:
    yield from (node for node in own_nodes(function, ast.For, ast.While))


@all_remembered
def _own_loops(function: Function) -> Iterator[EpochLoop]:
    yield from epoch_loops(function)


@all_remembered
def _telling(function: Function) -> Iterator[ast.AST]:
    """The calls of a function that may tell a sampler the epoch."""
    yield from (node for node in _calls_in(function) if told_epoch(node) is not None)


@all_remembered
def _calls_in(function: Function) -> Iterator[ast.Call]:
    yield from (node for node in own_nodes(function, ast.Call))


def _meaning(model: Model, function: Function, func: ast.expr) -> tuple[Function, ...] | None:
    """The functions that a call may go to; None where only its name says."""
    program = model.program
    named = isinstance(func, ast.Name) and func.id == "cls"
    own = function.cls if named and function.has_decorator("classmethod") else None
    inside = _defined_inside(function, func.id) if isinstance(func, ast.Name) else None
    match own or inside or model.resolve(function.module, func):
        case Function() as found:
            return (found,)
        case Class() as cls:
            made = (program.find_method(cls, name) for name in ("__init__", *_ITERATES))
            return tuple(method for method in made if method is not None)
    if (made_of := _class_of(model, function, func)) is not None:
        # ICML25_10807_BiSSL 3bdeed4 bissl.py:420: `bissl_trainer(samplers=…, epoch=epoch)`, an object
        called = program.find_method(made_of, "__call__")
        return (called,) if called is not None else None
    if not isinstance(func, ast.Attribute):
        return None
    owner = _class_of(model, function, func.value)
    method = program.find_method(owner, func.attr) if owner is not None else None
    if method is None or owner is None:
        return None
    # yolov10 453c6e3 ultralytics/engine/trainer.py:279: `self.get_dataloader(…)`, which each task overrides
    below = program.subclasses(owner)
    return (method, *(cls.methods[func.attr] for cls in below if func.attr in cls.methods))


def _defined_inside(function: Function, name: str) -> Function | None:
    """The function that a name means which is defined in a function, or in one around it."""
    around = (each.nested for each in function.outward() if not each.is_module_body)
    return next((nested[name] for nested in around if name in nested), None)


def _class_of(model: Model, function: Function, receiver: ast.expr) -> Class | None:
    """The class of what a method is called on: `self`, or a variable that is made of one class."""
    match receiver:
        case ast.Name(id="self"):
            return function.cls
        case ast.Call():
            made = [receiver]
        case _:
            made = [
                v
                for v in assignments(function).get(dotted_name(receiver), ())
                if isinstance(v, ast.Call)
            ]
    if len(made) != 1:
        return None
    meaning = model.resolve(function.module, made[0].func)
    return meaning if isinstance(meaning, Class) else None


def _elements_of(value: ast.expr) -> list[ast.expr]:
    """What a loop over a value runs through: of `zip(a, b)` both."""
    match value:
        case ast.Call(func=ast.Name(id="zip" | "enumerate" | "list"), args=args):
            return args
    return [value]


def _mention(nodes: Iterable[ast.AST], names: set[str]) -> bool:
    return any(
        isinstance(part, (ast.Name, ast.Attribute)) and dotted_name(part) in names
        for node in nodes
        for part in walk(node)
    )


def _gone_through_by_number(function: Function) -> set[str]:
    """The lists of a function whose elements a loop takes by number, `for i in range(len(data))`: a loader has none."""
    return {
        name
        for node in own_nodes(function, ast.For)
        for part in walk(node.iter, ast.Call)
        if last_name(part.func) == "len"
        for name in map(dotted_name, part.args)
        if any(
            dotted_name(each.value) == name
            and _mention([each.slice], set(target_names(node.target)))
            for each in walk(node, ast.Subscript)
        )
    }


def _goes_through_once(function: Function, call: ast.Call, loaders: set[str]) -> bool:
    """Whether a function is handed a loader, goes through it, and returns something else."""
    given = {
        name
        for name in function.parameters
        if (value := argument_of(call, function, name)) is not None and _mention([value], loaders)
    }
    nodes = list(own_nodes(function))
    returned = [n.value for n in nodes if isinstance(n, ast.Return) and n.value is not None]
    return (
        bool(returned)
        and not function.is_generator
        and any(isinstance(n, ast.For) and _mention([n.iter], given) for n in nodes)
        and not _mention(
            returned, {n for n, v in assignments(function).items() if _mention(v, given)} | given
        )
    )


def _put_into(function: Function, place: ast.Subscript) -> Iterator[ast.expr]:
    """What a function puts into a place of a dict."""
    text = ast.unparse(place)
    for node in own_nodes(function, ast.Assign):
        if text in map(ast.unparse, node.targets):
            yield node.value


def _is_run(function: Function) -> bool:
    """Whether a function is a run of a program: the body of a file, or a worker whose file makes the process group.

    Score-Entropy-Discrete-Diffusion 0605786 run_train.py:42, which another file spawns.
    """
    if function.is_module_body:
        return True
    return function.cls is None and "init_process_group(" in function.module.source.text


def _may_give(call: ast.Call, function: Function, parameter: str) -> bool:
    """Whether a call hands a function something for a parameter, or may in what it unpacks."""
    unpacks = any(isinstance(a, ast.Starred) for a in call.args)
    if unpacks or any(keyword.arg is None for keyword in call.keywords):
        return True
    given = argument_of(call, function, parameter)
    return given is not None and not (isinstance(given, ast.Constant) and given.value is None)


def told_epoch(node: ast.AST) -> str | None:
    """Whom a node tells the epoch, if it may be a sampler: a data set draws samples in its own way.

    A criterion or an optimizer has no sampler to tell (AVID-CMA main-avid.py:131: `train_criterion.set_epoch(epoch)`).
    """
    match node:
        case ast.Call(func=ast.Attribute(value=told, attr="set_epoch")):
            return None if _NO_SAMPLERS.search(last_name(told)) else ast.unparse(told)
    return None


def _is_one_pass(model: Model, function: Function, loop: EpochLoop) -> bool:
    """Whether a loop counts one epoch, in every call that the program makes: there is no second to shuffle anew.

    Siamese-Image-Modeling main_logistic.py:314: `make_embeddings(…, epochs=1)` computes features, and no caller of the
    script says otherwise.
    """
    match loop:
        case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[count])):
            if isinstance(count, ast.Constant):
                return count.value == 1
            return is_settled(model.program, function, count, 1)
    return False


@remembered
def told_in_vain(function: Function) -> tuple[ast.Call, ...]:
    """The calls that tell a sampler the epoch which the same turn of the loop replaces before anything draws from it.

    MeMOTR 7de13f4 train_engine.py:97: `sampler.set_epoch(epoch)`, then `sampler = build_sampler(dataset)`, of epoch 0.
    """
    found: list[ast.Call] = []
    for loop in own_nodes(function):
        if not isinstance(loop, ast.For | ast.While):
            continue
        for number, statement in enumerate(loop.body):
            calls = [n for n in walk(statement, ast.Call) if (told_epoch(n) or "").isidentifier()]
            for call in calls if len(calls) == 1 else ():
                name = told_epoch(call) or ""
                after = (s for s in loop.body[number + 1 :] if _mention([s], {name}))
                match next(after, None):
                    case ast.Assign(targets=[ast.Name(id=made)], value=ast.Call() as value) if (
                        made == name
                        and not _mention([value], {name})
                        and not any("epoch" in ast.unparse(a) for a in _given(value))
                    ):
                        found.append(call)
    return tuple(found)


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def epoch_loops(function: Function, loaders: Set[str] = frozenset()) -> Iterator[EpochLoop]:
    """The loops of a function that run through epochs.

    Args:
        function: where they stand.
        loaders: parameters and attributes that are given loaders, whatever they are called.
    """
    for node in _turning(function):
        if (epoch_of(function, node) and _runs_epochs(node)) or _passes_again(
            function, node, loaders
        ):
            yield node


def _draws_without_sampler(function: Function, loop: EpochLoop) -> bool:
    """Whether all that each turn goes through, or else hands on, are loaders that the function itself makes, and hands no
    sampler.

    OpenRLHF f5c137f openrlhf/trainer/ppo_trainer.py:277: `DataLoader(self.replay_buffer, …, shuffle=True)`, whose sampler
    shuffles anew in each epoch. sngp-segmentation 83be6ea sngp_segmentation/train.py:538: handed to `train_ddp(…)`.
    """
    through = [each.iter for part in loop.body for each in walk(part, ast.For)]
    flows = assignments(function)
    if not through:
        through = [
            given
            for part in loop.body
            for call in walk(part, ast.Call)
            for given in _given(call)
            if "loader" in last_name(given).lower()
        ]
    made = [flows.get(dotted_name(gone_through(function, each)), []) for each in through]
    return bool(made) and all(
        len(values) == 1
        and isinstance(call := values[0], ast.Call)
        and last_name(call.func) == "DataLoader"
        and len(call.args) <= _PLACE_OF_SAMPLER
        and not any(k.arg in ("sampler", "batch_sampler", None) for k in call.keywords)
        for values in made
    )


def _goes_through_a_batch(function: Function, loop: EpochLoop) -> bool:
    """Whether a loop stands in one through a loader, and names no loader itself: what it goes through again is of one batch.

    rl-llm-grpo-ppo 9990c2d main_grpo.py:313: `for ppo_epoch in range(ppo_num_epoch)`, over what was generated for the batch.
    """
    return not any(
        "load" in last_name(n).lower() for n in walk(loop, ast.Name, ast.Attribute)
    ) and any(
        outer is not loop
        and _is_loader(gone := gone_through(function, outer.iter))
        and not last_name(gone).lower().endswith("s")
        and any(node is loop for node in walk(outer, type(loop)))
        for outer in own_nodes(function, ast.For)
    )


def _reads_no_sample(loop: EpochLoop) -> bool:
    """Whether a loop over epochs only counts and shows the batches, whose order then is nobody's matter.

    EasyNLP a4ee956 examples/test_odps_reader/main.py:146: a test of a reader, with a line for every 50 batches.
    """
    through = [node for part in loop.body for node in walk(part, ast.For)]
    calls = (node for part in loop.body for node in walk(part, ast.Call))
    return (
        bool(through)
        and all(last_name(call.func) in _ONLY_SHOW for call in calls)
        and not any(_mention(each.body, _drawn(each.target)) for each in through)
    )


def _drawn(target: ast.expr) -> set[str]:
    """The names of what a loop draws, without the number that `enumerate` gives it."""
    match target:
        case ast.Tuple(elts=[ast.Name(), drawn]):
            return set(target_names(drawn))
    return set(target_names(target))


def _passes_again(function: Function, loop: EpochLoop, loaders: Set[str]) -> bool:
    """Whether each turn of a loop goes through all of a loader, until enough steps are done.

    ProphetNet 5cf70eb GENIE/train_util/train_util.py:172: `epoch_iterator = tqdm(train_dataloader)` in each turn.
    """
    match loop:
        case ast.While(
            test=ast.Compare()
            | ast.Constant(value=True | 1)
            | ast.UnaryOp()
            | ast.BoolOp()
            | ast.Name()
            | ast.Attribute(),
            body=body,
        ):
            # Who hands batches out for ever trains nothing itself: `endless_loops`.
            return any(
                isinstance(s, ast.For)
                and _is_loader(each := gone_through(function, s.iter), loaders)
                and not _hands_out(s, {dotted_name(each)})
                for s in body
            ) or any(_begins_a_pass(s, body, loaders) for s in body)
    return False


def _begins_a_pass(statement: ast.stmt, body: list[ast.stmt], loaders: Set[str]) -> bool:
    """Whether a turn of a loop makes an iterator of a loader, and a loop in it draws from this to its end.

    cosmos-predict1 4d7ba2a cosmos_predict1/utils/trainer.py:151: `batches = iter(dataloader_train)`, then `while True:` with
    `next(batches)` and `except StopIteration: break`.
    """
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="iter"), args=[loader])
        ) if _is_loader(loader, loaders):
            return any(
                isinstance(node, ast.Call)
                and last_name(node.func) == "next"
                and any(isinstance(a, ast.Name) and a.id == name for a in node.args)
                for inner in body
                if isinstance(inner, ast.For | ast.While)
                for node in walk(inner)
            )
    return False


def gone_through(
    function: Function, iterable: ast.expr, passed: Set[str] = frozenset()
) -> ast.expr:
    """What a loop goes through, without what counts its turns or shows how far it is.

    wavegrad c3d54c8 src/wavegrad/learner.py:105: `tqdm(self.dataset) if self.is_master else self.dataset`. A bar may take
    over the name of what it goes through: `loader = tqdm(loader)`; `passed` are the names that were asked already.
    """
    name = dotted_name(iterable)
    if name and name in passed:
        return iterable
    passed = {*passed, name}
    match _kept(function, iterable):
        case ast.Call(func=func, args=[inner, *_]) if last_name(func) in ("enumerate", "tqdm"):
            return gone_through(function, inner, passed)
        case ast.IfExp(body=body, orelse=orelse):
            one, other = (gone_through(function, arm, passed) for arm in (body, orelse))
            return one if ast.unparse(one) == ast.unparse(other) else iterable
    return iterable


def _kept(function: Function, iterable: ast.expr) -> ast.expr:
    """The bar that a function keeps under a name before it goes through it: `epochs = trange(number)`."""
    match assignments(function).get(dotted_name(iterable)):
        case [ast.Call(func=func) as bar] if last_name(func) in _BARS:
            return bar
    return iterable


def epoch_of(function: Function, loop: EpochLoop) -> str:
    """What counts the epochs of a loop; "" where nothing does.

    sam2 2b90b9f training/trainer.py: `while self.epoch < self.max_epochs`, with `self.epoch += 1` at its end;
    tevatron src/tevatron/megatron/driver/train.py: `while global_step < total_steps`, with `epoch += 1` there;
    vq-vae-2-pytorch ef5f67c train_vqvae.py: `for i in range(args.epoch)`; EasyNLP a4ee956 examples/X-STA/run_xqa.py:289:
    `for epc in train_iterator`, which is a `trange`; CodeBERT c0de43d CodeBERT/codesearch/run_classifier.py:94:
    `for idx, _ in enumerate(train_iterator)`.
    """
    match loop:
        case ast.For(target=ast.Name() | ast.Attribute() as target, iter=turns) if _is_epoch(
            target
        ) or _counts_epochs(_kept(function, turns)):
            return ast.unparse(target)
        case ast.For(
            target=ast.Tuple(elts=[ast.Name(id=number), _]),
            iter=ast.Call(func=ast.Name(id="enumerate"), args=[turns]),
        ) if _counts_epochs(_kept(function, turns)):
            return number
        case ast.While(test=ast.Compare(left=ast.Name() | ast.Attribute() as counter)) if _is_epoch(
            counter
        ):
            text = ast.unparse(counter)
            counts = any(
                isinstance(s, ast.Assign | ast.AugAssign) and text in map(ast.unparse, _targets(s))
                for s, _ in statements(loop.body)
            )
            return text if counts else ""
        case ast.While(body=body):
            return next((each for s in body if (each := _counted(s))), "")
    return ""


def counter(loop: EpochLoop) -> str:
    """What counts the turns of a loop over a range, which something may show: `for turn in shown(range(number))`."""
    match loop:
        case ast.For(
            target=ast.Name(id=name),
            iter=ast.Call(func=ast.Name(id="range"))
            | ast.Call(args=[ast.Call(func=ast.Name(id="range"))]),
        ):
            return name
    return ""


def _called_in_turn(statement: ast.stmt) -> ast.Call | None:
    """The call that a statement of a loop is."""
    match statement:
        case ast.Expr(value=ast.Call() as call) | ast.Assign(value=ast.Call() as call):
            return call
    return None


def _counts_epochs(turns: ast.expr) -> bool:
    """Whether what a loop runs through are the numbers of the epochs: `range(start, args.epochs)`."""
    match turns:
        case ast.Call(func=func, args=[stop] | [_, stop] | [_, stop, _]) if last_name(func) in (
            "range",
            "trange",
        ):
            return any(map(_is_number_of_epochs, walk(stop)))
        case ast.Call(func=func, args=[ast.Call() as inner, *_]) if last_name(func) in _BARS:
            return _counts_epochs(inner)
    return False


def _is_number_of_epochs(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return _EPOCHS.match(name.lower()) is not None
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return _EPOCHS.match(name.lower()) is not None
    return False


def _counted(statement: ast.stmt) -> str:
    """The number of epochs that a statement raises by one."""
    match statement:
        case ast.AugAssign(
            target=ast.Name() | ast.Attribute() as counter,
            op=ast.Add(),
            value=ast.Constant(value=1),
        ) if _is_epoch(counter):
            return ast.unparse(counter)
    return ""


def _is_epoch(counter: ast.Name | ast.Attribute) -> bool:
    return "epoch" in last_name(counter).lower()


def _targets(statement: ast.Assign | ast.AugAssign) -> list[ast.expr]:
    return statement.targets if isinstance(statement, ast.Assign) else [statement.target]


def _runs_epochs(loop: ast.For | ast.While) -> bool:
    """Whether each turn goes through data, itself or in a call that is named after it or is handed a loader.

    AVID-CMA 4538e40 main-avid.py:136: `run_phase("train", train_loader, …)`.
    """
    return any(
        isinstance(s, (ast.For, ast.While))
        or (isinstance(s, ast.Expr | ast.Assign) and _runs_epoch(s))
        for s, _ in statements(loop.body)
    )


def endless_loops(function: Function, loaders: Set[str] = frozenset()) -> Iterator[EpochLoop]:
    """Where a function hands out the batches of a loader again and again, and counts no epochs.

    stylegan2-pytorch bef283a train.py:59: `while True: for batch in loader: yield batch`; MiniGPT-4
    minigpt4/datasets/datasets/dataloader_utils.py: `except StopIteration: self.iter_loader = iter(…)`.

    Args:
        function: where they stand.
        loaders: parameters that are given loaders, whatever they are called: Self-Forcing 33593df
            utils/dataset.py:218 goes through `dl`, and trainer/ode.py says `cycle(dataloader)`.
    """
    for node in own_nodes(function, ast.While, ast.Try):
        match node:
            case ast.While(test=ast.Constant(value=True | 1), body=body) if any(
                _hands_out(each, loaders) for each in body
            ):
                yield node
            case ast.While(body=body) if function.name == "__iter__" and any(
                map(_draws_again, body)
            ):
                yield node
            case ast.Try(handlers=handlers) if any(_begins_anew(h, loaders) for h in handlers):
                yield node


@remembered
def _trains_through_a_loader(function: Function) -> bool:
    """Whether a function goes through all of a loader, and does what training does with the batches."""
    return any(_is_loader(gone) for gone in _trained_from(function))


@remembered
def _trains_from(function: Function, parameter: str) -> bool:
    """The same of what a function is handed."""
    return any(dotted_name(gone) == parameter for gone in _trained_from(function))


def _trained_from(function: Function) -> Iterator[ast.expr]:
    """What a function goes through in its own body to train."""
    if function.is_generator or _EVALUATES.search(function.name):
        return
    for s in function.body:
        if isinstance(s, ast.For) and any(
            any(word in last_name(n).lower() for word in _TRAINING) for n in walk(s, ast.Call)
        ):
            yield gone_through(function, s.iter)


def _hands_out(statement: ast.stmt, loaders: Set[str] = frozenset()) -> bool:
    """Whether a statement yields each batch of a loader."""
    match statement:
        case ast.For(iter=loader, body=body) if _is_loader(loader, loaders):
            return any(isinstance(part, ast.Yield) for inner in body for part in walk(inner))
        case ast.Expr(value=ast.YieldFrom(value=loader)):
            return _is_loader(loader, loaders)
    return False


def _draws_again(statement: ast.stmt) -> bool:
    """Whether a sampler hands out all that another one draws, as it does again in the next turn of its loop.

    maskrcnn-benchmark 57eec25 maskrcnn_benchmark/data/samplers/iteration_based_batch_sampler.py:24, and what is made of it:
    `while iteration <= self.num_iterations: … for batch in self.batch_sampler: … yield batch`.
    """
    match statement:
        case ast.For(iter=ast.Attribute(value=ast.Name(id="self"), attr=attr), body=body):
            return attr.lower().endswith("sampler") and any(
                isinstance(part, ast.Yield) for inner in body for part in walk(inner)
            )
    return False


def _begins_anew(handler: ast.ExceptHandler, loaders: Set[str]) -> bool:
    """Whether a handler of the end of an iterator makes another of the same loader."""
    if handler.type is None or last_name(handler.type) != "StopIteration":
        return False
    return any(
        isinstance(s, ast.Assign)
        and (begun := _begun_by(s.value)) is not None
        and all(_is_loader(each, loaders) for each in begun)
        for s, _ in statements(handler.body)
    )


def _begun_by(value: ast.expr) -> list[ast.expr] | None:
    """What an expression makes an iterator of: `iter(loader)`, `loader.__iter__()`; None for others.

    PepHAR 4a809d5 utils/misc.py:80.
    """
    match value:
        case ast.Call(func=ast.Attribute(value=loader, attr="__iter__"), args=[]):
            return [loader]
        case ast.Call(func=func, args=args) if last_name(func) == "iter":
            return args
    return None


def _is_loader(node: ast.expr, loaders: Set[str] = frozenset()) -> bool:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        node = node.value  # one of several: `self.data_loader["train"]`
    return "load" in last_name(node).lower() or dotted_name(node) in loaders


def _runs_epoch(statement: ast.Expr | ast.Assign) -> bool:
    value = statement.value
    return isinstance(value, ast.Call) and _is_an_epoch(value)


def _is_an_epoch(call: ast.Call) -> bool:
    """Whether a call goes through data by what it is called or handed; what a list is given is asked by itself.

    Conv-MAE 5ebd764 pretrain.py:126: `epoch_train_losses.append(np.mean(losses))`, to plot what a log says.
    """
    if isinstance(call.func, ast.Attribute) and call.func.attr in _OF_LIST:
        return any(_is_an_epoch(each) for given in _given(call) for each in walk(given, ast.Call))
    name = ast.unparse(call.func).lower()
    if name.endswith(".set_epoch"):
        return False
    named = any(word in name for word in _RUNS_EPOCH)
    return named or any(
        isinstance(a, ast.Name | ast.Attribute) and _is_loader(a) for a in _given(call)
    )
