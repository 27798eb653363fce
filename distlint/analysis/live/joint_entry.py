"""Which functions several ranks are known to enter together, and what shows it.

A function with a path among its parameters may be called by anybody: under a guard, in a script that runs
on one process, in a notebook. Only where the program itself shows that the ranks come here together is it
a defect that all of them write. What shows it: the function performs a collective, it tells the ranks
apart by a test, a framework calls it on every rank, or such a function calls it under no test of the rank.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from functools import cached_property
from typing import Final

from distlint.analysis.interpreter.ir import CallSite, Guard, Summary
from distlint.analysis.interpreter.ranks import MAIN, RankClass
from distlint.analysis.interpreter.values import NUMBERED, Closure, Variance
from distlint.analysis.live.data_sets import made_by_name, run_by_constructor
from distlint.analysis.live.modes import never_both
from distlint.analysis.live.processes import is_pytests, runs_alone, trains_on_one_device
from distlint.analysis.live.several import (
    asks_if_sharded,
    is_one_kernel,
    never_launched,
    says_nothing,
    trains_alone,
    trains_on_one,
    works_alone,
)
from distlint.analysis.live.summaries import FunctionSummaries
from distlint.analysis.program.definitions import Class, Function, Module, dotted_name, last_name
from distlint.analysis.program.handed import is_told_rank
from distlint.analysis.program.linked import importers
from distlint.analysis.program.memory import Memory, all_remembered, remembered, remembered_of_nodes
from distlint.analysis.program.places import related
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import (
    asks_if_missing,
    assignments,
    default_of,
    literals,
    mentions_rank,
    own_nodes,
)
from distlint.findings import Place, Related
from distlint.knowledge import facts, hooks
from distlint.knowledge.libraries import canonical_name
from distlint.knowledge.schema import Effect
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass

BARRIERS: Final = frozenset({"barrier", "wait_for_everyone"})
_MAKES_GROUP: Final = pattern(
    r"(?<!__)init(?:_|ialize|$)|set_?up|spawn|launch|prepare|Accelerator|Fabric|Trainer|State|Engine",
    re.IGNORECASE,
)
"""Names of what makes a process group, or may."""
MAKES_RANKS: Final = pattern(
    r"(?i:init\w*_?(?:dist|ddp|group|megatron|parallel|device_mesh)|set_?up(?:$|\w*(?:dist|ddp))|(?:dist|ddp)\w*_?set_?up|spawn|launch)"
    r"|(?i:deepspeed|hvd|horovod|colossalai|fairscale|paral?lel)\w*\.\w*init\w*$"
    r"|(?:Accelerator\w*|Fabric|Trainer|PartialState|TrainingArguments|Engine|parse_args_into_dataclasses)$"
)
"""Names of what makes ranks of processes, or hands them on, where a collective waits to be told that there are any."""
_IN_MESH: Final = pattern(r"(?:shard|replicate|replica)_(?:idx|index|id)$")
"""Names of a rank's coordinates in a mesh of devices."""
_SETS_UP: Final = pattern(r"(?i)init|set_?up|dist|ddp|launch|group")
_DOES_MORE: Final = pattern(r"(?i)train|main|run|work|eval|test|infer")
"""Names of functions that make the process group and come back, and of those that go on with it."""
_FOR_SEVERAL: Final = pattern(
    r"(?i)dist|ddp|fsdp|multi|gpu|world|rank|launch|parallel|from_torch|nodes|init|deepspeed"
)
"""Words of a condition under which a program makes its process group, and goes on behind it."""
_ASKS_IF_SEVERAL: Final = pattern(
    r"(?<![a-z])initialized|is_dist|is_(?:\w+_)?distributed|is_multi|(?:is|use|using)_ddp|world_size|num_processes"
)
"""What asks whether there are other processes at all."""
_SPAWNS: Final = frozenset({"torch.multiprocessing.spawn", "torch.multiprocessing.start_processes"})
"""What starts the ranks in interpreters of their own, unless it is told another method."""
_STARTERS: Final = frozenset(
    {"spawn", "start_processes", "notebook_launcher", "Process", "elastic_launch"}
)
"""Calls that run a function in other processes, by their usual names."""
_WORKER: Final = frozenset({"fn", "target", "function", "entrypoint"})
"""The parameters by which they get it."""
_RANKS: Final = frozenset({"rank", "global_rank", "local_rank"})
"""Parameters that say which rank the caller is."""
_DEVICES: Final = frozenset(
    {"gpu", "gpu_id", "gpu_index", "device", "device_id", "device_index", "current_device"}
)
"""Names of the number of a process's GPU: `device == 0` in PyTorch-StudioGAN 947b35e src/metrics/preparation.py:183,
`torch.cuda.current_device() == 0` in A-ViT 120c9cb engine_act.py:125."""
_ENGINES: Final = pattern(r"fsdp|deepspeed|zero_?[123]")
"""Names of engines that keep a part of the model on every rank."""
_OF_COMMANDS: Final = frozenset({"callback", "command", "group", "main", "staticmethod"})
"""Decorators that are no test of the rank, whatever they are of: `@hydra.main(…)` (hydra-core 1.3.2 hydra/main.py),
`@main.command()` (click 8.3 click/core.py)."""
_RANKS_OTHERS: Final = pattern(r"(?:re)?rank(?:ing|er|ed)s?|rerank")
"""Words of functions that put something in an order: `rerank()`, `evaluate_ranking()`."""
_ASKS_FOR_GROUP: Final = frozenset(
    {"is_initialized", "is_available", "is_dist_avail_and_initialized"}
)
_TRAINERS: Final = ("transformers.", "lightning.", "composer.", "mmengine.", "mmcv.runner.")
"""Libraries whose trainers call the hooks; a plain module or dataset is used on one process too."""
_LIGHTNING_MODULE: Final = "lightning.pytorch.LightningModule"
_TRAINS: Final = pattern(r"\bTrainer\b|\.fit\(|\.validate\(|LightningCLI")
"""What makes a Trainer of Lightning train, or validate."""
_STAGES: Final = {
    "test": pattern(r"\.test\(|LightningCLI|getattr\(trainer"),
    "predict": pattern(r"\.predict\(|LightningCLI|getattr\(trainer"),
}
"""What makes it run other hooks, by a word of their names."""
_NOT_ON_ALL: Final = frozenset({"_save", "push_to_hub", "create_model_card"})
"""Methods of `transformers.Trainer` that up to 4.57 only the writing rank entered (trainer.py)."""


@dataclass(frozen=True, slots=True, eq=False)
class JointEntry:
    """Why several ranks are known to enter a function: a clause for messages, and where that shows."""

    text: str
    module: Module
    node: ast.AST
    all_ranks: bool
    """Whether every rank must come: for a collective, or because a framework calls on every rank."""
    by_collective: bool = False
    """Whether the function, or one that it always calls, performs a collective under no condition: one that
    needs several ranks, and so tells of its callers as well."""
    inside: bool = False
    """Whether the collective is in a function that is called, not in the function itself."""
    call: CallSite | None = None
    """The call by which a function that shows it leads here; None where the function itself shows it."""
    starts: bool = False
    """Whether the function makes the process group, or calls what does: where there are ranks, all of them come."""
    if_any: bool = False
    """Whether the collective is made only where somebody has made a process group: one process passes by."""
    launch: Place | None = None
    """The command of a script or page that starts the program on several processes, where that shows it."""
    on_import: bool = False
    """Whether the ranks come here while they import the script that spawned them: who they are, they learn later."""
    begun: CallSite | None = None
    """The call that starts the ranks or makes their group, where that is what shows it."""
    below_start: bool = False
    """Whether the function, or what leads to it, makes the group as well, though something else shows it better."""

    @property
    def is_start(self) -> bool:
        """Whether this is how the ranks begin: what starts them or makes their group, not what only works among them."""
        return (
            self.starts
            or self.on_import
            or self.below_start
            or self.begun is not None
            or self.launch is not None
        )

    def leads_to(self, site: CallSite) -> bool:
        """Whether no option lets a run come either to what begins the ranks, or to a call.

        benchmark 0e83c44 userbenchmark/dynamo/dynamobench/common.py:4947: `os.unlink()` in the else arm of `args.only`,
        under which the ranks are spawned.
        """
        return self.begun is None or not never_both(self.begun, site)


class Together(tuple[tuple[RankClass, Summary], ...]):
    """The runs of a function that ranks make together, and what is found of them."""

    memory: Memory

    def __new__(cls, runs: Iterable[tuple[RankClass, Summary]]) -> Together:
        made = super().__new__(cls, runs)
        made.memory = {}
        return made


"""Runs of one function that the classes of ranks make together."""

Group = tuple[Function, Hashable]
"""A function with the arguments that matter, as all classes of ranks enter it together."""


def joint_entries(
    program: Program,
    live: Mapping[Function, FunctionSummaries],
    alone: frozenset[Function],
    launched: Callable[[Module], Place | None],
) -> dict[Group, JointEntry]:
    """What several ranks enter together, each with its reason; nothing of what one process runs.

    `launched` says where a script is started on several processes.
    """
    groups = {
        (f, family): summaries
        for f, all_ in live.items()
        if not (f in alone or runs_alone(f) or is_one_kernel(f.module) or _has_stand_in(program, f))
        for family, summaries in groups_of(all_)
    }
    by_function: dict[Function, list[Group]] = {}
    for group in groups:
        by_function.setdefault(group[0], []).append(group)
    found: dict[Group, JointEntry] = {}
    started: dict[Group, JointEntry] = {}
    origins = _Origins(program, groups)
    on_main = _hooks_of_main(groups.values()) | _threads_of_main(program, groups.values())
    for (function, family), summaries in groups.items():
        for known, why in _reasons(program, function, summaries):
            if known in on_main or may_come_alone(program, known):
                continue
            if why.if_any and not origins.have_group(known):
                continue
            if known is function:
                found.setdefault((function, family), why)
                continue
            for group in by_function.get(known, ()):
                found.setdefault(group, why)
                if why.is_start:
                    started.setdefault(group, why)
        begun = _start(summaries, starts_group)
        if begun is not None:
            started.setdefault(
                (function, family),
                _of_start(function, begun),
            )
    workers = {
        worker
        for f in {f for f, _ in groups}
        for written in _workers(f)
        if isinstance(worker := program.resolve_dotted(f.module, written), Function)
    }
    for group in groups:
        if group[0] in workers:
            text = f"`{group[0].name}()` runs in processes of its own"
            started.setdefault(group, JointEntry(text, group[0].module, group[0].node, True))
    # A test shows who comes to the function that holds it, not what is so in each that it calls: some
    # are reached in the modes alone that run on one process (accelerate 1.15.0, big_modeling.py).
    _lead_further(program, groups, found, [g for g, reason in found.items() if reason.all_ranks])
    callers = _callers(groups)
    _lead_further(program, groups, found, _performed_inside(groups, callers, found, origins))
    _lead_further(program, groups, found, list(_launched(groups, found, launched)))
    _lead_further(program, groups, found, list(_built_by_name(program, groups, found)))
    _performed_inside(groups, callers, started, origins)
    _lead_further(program, groups, started, list(started))
    return {
        group: replace(why, below_start=True) if group in started and not why.is_start else why
        for group, why in found.items()
    }


@remembered
def _has_stand_in(program: Program, function: Function) -> bool:
    """Whether a subclass has another method in place of one, and the program takes the subclass for several processes.

    mmfewshot af4fad5 mmfewshot/classification/apis/train.py:123: `DistMetaTestEvalHook if distributed else
    MetaTestEvalHook`, and `evaluate` of the former saves under `rank == 0`.
    """
    cls = function.cls
    if cls is None or cls.name not in (taken := _taken_for_several(program)):
        return False
    return any(
        other.name in taken[cls.name]
        and (method := other.methods.get(function.name)) is not None
        and not any(last_name(node.func) == function.name for node in own_nodes(method, ast.Call))
        for other in program.subclasses(cls)
    )


@remembered
def _taken_for_several(program: Program) -> dict[str, frozenset[str]]:
    """What is named on the other arm of a choice by whether there are several processes, and what stands for it there."""
    found: dict[str, frozenset[str]] = {}
    for module in program.modules.values():
        for node in walk(module.source.tree, ast.IfExp):
            one, several = last_name(node.orelse), last_name(node.body)
            if one and several and _FOR_SEVERAL.search(ast.unparse(node.test)):
                if isinstance(node.test, ast.UnaryOp):
                    one, several = several, one
                found[one] = found.get(one, frozenset()) | {several}
    return found


def _launched(
    groups: Mapping[Group, Together],
    found: dict[Group, JointEntry],
    launched: Callable[[Module], Place | None],
) -> Iterator[Group]:
    """Add, and yield, the bodies of the scripts that are started on several processes: all of them run each line.

    textgen 172fc00 README.md:158: `torchrun --nproc_per_node 2 training_chatglm_demo.py`.
    """
    for group in groups:
        function = group[0]
        module = function.module
        if not function.is_module_body or not _does_something(module):
            continue
        if group in found and found[group].all_ranks:
            continue
        place = launched(module)
        if place is not None:
            text = f"`{place.path}` line {place.line} starts `{module.path}` on several processes"
            first = module.source.tree.body[0]
            found[group] = JointEntry(text, module, first, True, launch=place)
            yield group


@remembered
def _does_something(module: Module) -> bool:
    """Whether a file calls anything when it is started: how it is launched is asked of no other, whose answers then last."""
    return any(
        isinstance(node, ast.Call)
        for statement in module.source.tree.body
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for node in walk(statement)
    )


def calling(runs: Iterable[tuple[Function, Summary]]) -> dict[Function, set[Function]]:
    """The functions that lead to each function in some run, by one call."""
    callers: dict[Function, set[Function]] = {}
    for function, summary in runs:
        for child in summary.children:
            if child.function is not function:
                callers.setdefault(child.function, set()).add(function)
    return callers


def leading(callers: Mapping[Function, set[Function]], function: Function) -> Iterator[Function]:
    """The functions that nothing calls, from which calls lead to a function; itself where it is one."""
    seen, work = {function}, [function]
    while work:
        each = work.pop()
        above = callers.get(each, set())
        if not above:
            yield each
        work.extend(above - seen)
        seen |= above


class _Origins:
    """Whether what leads to a function may have made a process group before."""

    def __init__(self, program: Program, groups: Mapping[Group, Together]) -> None:
        self._program = program
        self._groups = groups
        self._of_body: dict[Function, bool] = {}

    @cached_property
    def _callers(self) -> dict[Function, set[Function]]:
        return calling((f, run) for (f, _), runs in self._groups.items() for _, run in runs)

    def have_group(self, function: Function) -> bool:
        """Whether some caller is unknown, or the body of a script that makes a group, as far as is seen.

        nanoVLM 4e0c096 run_evaluation.py:59: the helper has a barrier for those who have initialized a group; this
        script has not. molmo 793fa38 scripts/dataset_visualize.py:114: `barrier()` does nothing on one process.
        """
        return any(map(self._starts, leading(self._callers, function)))

    def _starts(self, function: Function) -> bool:
        module = function.module
        if not function.is_module_body or not module.is_script:
            return True
        if function not in self._of_body:
            runs = [s for (f, _), each in self._groups.items() if f is function for _, s in each]
            self._of_body[function] = _calls_any(runs, MAKES_RANKS, self._is_own) or (
                importers(self._program, module) != {module} and not all(map(_only_as_script, runs))
            )
        return self._of_body[function]

    def _is_own(self, name: str) -> bool:
        """Whether a name is of a class of the program that is made of no library's trainer: it makes what its code says.

        ReMD 4564fde main.py:20: a `ReMDTrainer`, in whose methods `if dist.is_initialized():` is above the barrier.
        """
        meaning = self._program.lookup(name)
        return isinstance(meaning, Class) and not self._program.mro(meaning)[1]


def _only_as_script(body: Summary) -> bool:
    """Whether the body of a file calls what the program has only where it is run itself: who imports it does it not.

    FoundationVision/Infinity 4c27bbb tools/run_infinity.py:397, which other scripts take functions from.
    """
    return all(
        any(asks_for_script(guard.node) for guard in site.guards)
        for site in body.calls
        if site.callee is not None
    )


def _built_by_name(
    program: Program, groups: Mapping[Group, Together], found: dict[Group, JointEntry]
) -> Iterator[Group]:
    """Add, and yield, the constructors of what all ranks build by a name, and the methods in them."""
    entered = {function for (function, _), why in found.items() if why.all_ranks}
    begins = {function for (function, _), why in found.items() if why.is_start}
    by_function: dict[Function, list[Group]] = {}
    for group in groups:
        by_function.setdefault(group[0], []).append(group)
    for made in made_by_name(program, entered.__contains__):
        text = f"every rank builds `{made.what.name}`, which {made.by} makes by its name"
        begun = made.maker in begins
        why = JointEntry(text, made.maker.module, made.node, False, below_start=begun)
        for function in run_by_constructor(program, made.what):
            known = by_function.get(function, [])
            # With what a configuration passes, not with what a demo does.
            for group in [g for g in known if g[1] is None] or known:
                if group not in found:
                    found[group] = why
                    yield group


def _lead_further(
    program: Program,
    groups: dict[Group, Together],
    found: dict[Group, JointEntry],
    work: list[Group],
) -> None:
    """Add what the functions of `work` call under no test of the rank, and what those call."""
    while work:
        group = work.pop()
        if found[group].inside and is_pytests(group[0]):
            # pi-zero-pytorch 42e1d7f tests/test_pi_zero.py:492: a test makes its data, in front of the trainer whose
            # constructor has the collective.
            continue
        summaries = groups.get(group, Together(()))
        calls = {id(site.node) for site in together(summaries)}
        for _, summary in summaries:
            for site, child in called(summary):
                callee = (child.function, family_of(child.context))
                known = found.get(callee)
                # A test of the rank in the callee says less than a caller from which all come.
                reason = found[group]
                if (
                    id(site.node) in calls
                    and (known is None or (reason.all_ranks and not known.all_ranks))
                    and id(site.node) not in in_handlers(site.function)
                    and not _asks_for_object_of_main(program, site)
                ):
                    if reason.inside and any(
                        g.value.truthiness() is None and not asks_for_script(g.node)
                        for g in site.guards
                    ):
                        # A condition may hang on what the collective's function gave back (mosaicml
                        # 0.32.1 composer/callbacks/checkpoint_saver.py: `if not saved_path: return`).
                        continue
                    if not reason.leads_to(site) or (
                        reason.starts and _of_another_mode(summaries, site)
                    ):
                        continue
                    # Below what a setup's caller calls, a condition may be one of the rank that nobody sees.
                    inside = reason.inside or (
                        reason.starts
                        and reason.call is None
                        and not _sets_up(summaries, reason.node)
                    )
                    found[callee] = replace(reason, call=reason.call or site, inside=inside)
                    work.append(callee)


def _of_another_mode(summaries: Together, call: CallSite) -> bool:
    """Whether an option keeps a call from each run in which the function makes the process group.

    llama-cookbook faae2fd src/llama_cookbook/utils/train_utils.py:248: `if not train_config.enable_fsdp:`, and the group is
    made `if train_config.enable_fsdp:`.
    """
    starts = [each for _, run in summaries for each in run.calls if starts_group(each)]
    return bool(starts) and all(never_both(each, call) for each in starts)


@remembered
def in_handlers(function: Function) -> frozenset[int]:
    """The nodes, by their identity, that answer a failure: the rank on which it happened comes there, and perhaps no other.

    icefall egs/aishell/ASR/pruned_transducer_stateless2/train.py: `except: display_and_save_batch(batch)`, which keeps
    the batch that has failed.
    """
    return frozenset(
        id(node) for handler in own_nodes(function, ast.ExceptHandler) for node in walk(handler)
    )


def _callers(groups: Mapping[Group, Together]) -> dict[Group, list[Group]]:
    """What always calls each function, on every rank."""
    callers: dict[Group, list[Group]] = {}
    for group, summaries in groups.items():
        for callee in _always_called(summaries):
            callers.setdefault(callee, []).append(group)
    return callers


@all_remembered
def _always_called(summaries: Together) -> Iterator[Group]:
    if all(rank is MAIN for rank, _ in summaries):
        return
    calls = {
        id(site.node)
        for site in together(summaries)
        if site.callee
        and (not _open(site) or _sets_up_for_several(site))
        and not _is_as_one_rank(site, site.callee)
        and not _is_the_only_process(site)
    }
    if calls:
        for _, summary in summaries:
            for site, child in called(summary):
                if id(site.node) in calls:
                    yield child.function, family_of(child.context)


def _performed_inside(
    groups: Mapping[Group, Together],
    callers: Mapping[Group, list[Group]],
    found: dict[Group, JointEntry],
    origins: _Origins,
) -> list[Group]:
    """Add, and return, the functions that always call one in which every rank calls a collective.

    The body of a script among them: what stands above `main()` runs on every rank too (BLIP
    train_retrieval.py:343, where `main` is what sets up the process group).
    """
    work = [
        group
        for group, why in found.items()
        if (why.by_collective or why.starts) and why.call is None
    ]
    added: list[Group] = []
    while work:
        group = work.pop()
        for caller in callers.get(group, ()):
            if _answers_requests(caller[0]):
                continue
            if found[group].if_any and not origins.have_group(caller[0]):
                continue
            if caller not in found or not found[caller].all_ranks:
                # Who calls the setup itself goes on with it, whatever the settings; further up, who knows?
                starts = found[group].starts or group[0] in _setups(groups[caller])
                inside = not (starts and _stands_in(groups[group], found[group].node))
                found[caller] = replace(found[group], call=None, inside=inside, starts=starts)
                work.append(caller)
                added.append(caller)
    return added


def _stands_in(summaries: Together, node: ast.AST) -> bool:
    """Whether a function itself makes a call."""
    return any(site.node is node for _, summary in summaries for site in summary.calls)


def starts_group(site: CallSite) -> bool:
    """Whether a call makes the process group: a library's, or a function of the project that does so and comes back.

    mozilla/TTS e9e0784 TTS/bin/train_tacotron.py:557: `if num_gpus > 1: init_distributed(…)`, of another file.
    """
    callee = site.callee
    if callee is None:
        return site.name in facts.GROUP_STARTS
    return (
        not callee.name.startswith("__")
        and _SETS_UP.search(callee.name) is not None
        and _DOES_MORE.search(callee.name) is None
        and _has_start(callee)
    )


@remembered
def _setups(summaries: Together) -> frozenset[Function]:
    """The functions of the project that runs call to make the process group."""
    return frozenset(
        site.callee
        for site in together(summaries)
        if site.callee is not None and _sets_up_for_several(site)
    )


def _sets_up_for_several(site: CallSite) -> bool:
    """Whether a function makes the process group under conditions that ask for ranks: who calls it goes on with them."""
    asked = _open(site)
    return starts_group(site) and all(
        _FOR_SEVERAL.search(ast.unparse(guard.node)) is not None
        for guard in site.guards
        if id(guard.node) in asked
    )


@remembered
def _has_start(function: Function, steps: int = 3) -> bool:
    """Whether a function has a call by the name of one that makes the process group, or a method of its class has.

    modulus 878fd04 physicsnemo/distributed/manager.py:400: `DistributedManager.initialize()` calls `initialize_env()`, which
    calls `setup()`, and there the group is made.
    """
    calls = list(own_nodes(function, ast.Call))
    if any(last_name(call.func) in facts.GROUP_START_WORDS for call in calls):
        return True
    return steps > 0 and any(
        _SETS_UP.search(method.name) is not None
        and _DOES_MORE.search(method.name) is None
        and _has_start(method, steps - 1)
        for method in _own_methods(function, calls)
    )


def _own_methods(function: Function, calls: list[ast.Call]) -> Iterator[Function]:
    """The methods of its own class that a method calls: `self.setup()`, `Manager.setup()`."""
    cls = function.cls
    if cls is None:
        return
    for call in calls:
        match call.func:
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if (
                owner in ("self", "cls", cls.name) and name in cls.methods
            ):
                yield cls.methods[name]


def _sets_up(summaries: Together, start: ast.AST) -> bool:
    """Whether a function makes the process group itself, or calls a setup that has that call."""
    return _stands_in(summaries, start) or any(
        node is start for setup in _setups(summaries) for node in own_nodes(setup)
    )


def _is_as_one_rank(site: CallSite, callee: Function) -> bool:
    """Whether a call hands a function the number of one rank: who calls is that rank, in a process of its own.

    Lumina-T2X 1c60696 lumina_t2i/utils/cli.py:276: `load_model(ckpt, dtype, master_port, 0, …)` makes a group of one.
    """
    names = callee.parameters[1:] if callee.cls is not None else callee.parameters
    return any(
        isinstance(given := site.argument_node(position, name), ast.Constant)
        and type(given.value) is int
        for position, name in enumerate(names)
        if name in _RANKS
    )


def _is_the_only_process(site: CallSite) -> bool:
    """Whether a call stands where no processes are started for the same function: the arm of one GPU.

    ULIP f194ddb models/pointnext/PointNeXt/examples/segmentation/main.py:727: `mp.spawn(main, …)`, else `main(0, cfg)`.
    What a launcher has numbered calls it with its number.
    """
    return ast.unparse(site.node.func) in _workers(site.function) and not any(
        mentions_rank(given) or "environ" in ast.unparse(given)
        for given in (*site.node.args, *(keyword.value for keyword in site.node.keywords))
    )


@remembered
def _workers(function: Function) -> frozenset[str]:
    """What a function starts as processes of their own, as it is written."""
    return frozenset(
        ast.unparse(each)
        for node in own_nodes(function, ast.Call)
        if last_name(node.func) in _STARTERS
        for given in (*node.args[:2], *(k.value for k in node.keywords if k.arg in _WORKER))
        for each in (given, *(given.args[:1] if isinstance(given, ast.Call) else ()))
    )


def family_of(context: Hashable) -> Hashable:
    """A variant without the arguments that the rank decides, or a file that all ranks read alike: the classes
    of ranks enter it together."""
    if not isinstance(context, tuple) or len(context) != 3:
        return None
    cls, bound, free = context
    bound, free = (
        tuple(part for part in parts if part[1][0] != "ranked" and part[1][:2] != ("local", "file"))
        for parts in (bound, free)
    )
    return (cls, bound, free) if cls or bound or free else None


@remembered
def groups_of(summaries: FunctionSummaries) -> list[tuple[Hashable, Together]]:
    """The runs of a function that ranks make together: alike but for what the rank decides."""
    groups: dict[Hashable, list[tuple[RankClass, Summary]]] = {}
    for context, by_rank in summaries.contexts.items():
        groups.setdefault(family_of(context), []).extend(by_rank.items())
    in_order = sorted(groups.items(), key=lambda group: _order_of(group[0]))
    return [(family, Together(group)) for family, group in in_order]


def _order_of(family: Hashable) -> tuple[str, ...]:
    """A place for a kind of arguments that does not depend on who calls first: the plainest comes first."""
    if not isinstance(family, tuple) or len(family) != 3:
        return ()
    cls, bound, free = family
    # A third element is the identity of a function, which differs from run to run.
    parts = [str(each) for name, part in (*bound, *free) for each in (name, *part[:2])]
    return (cls or "", *parts)


def callers_of(functions: Iterable[Iterable[CallSite]]) -> dict[Function, list[CallSite]]:
    """The calls that rank 0 and other ranks make together, by the project function that is called."""
    callers: dict[Function, list[CallSite]] = {}
    for sites in functions:
        for site in sites:
            if site.callee is not None:
                callers.setdefault(site.callee, []).append(site)
    return callers


class ComingTo:
    """The runs that come to something: in them, or in the runs that they call at any depth."""

    def __init__(self, holds: Callable[[Summary], bool]) -> None:
        self._holds = holds
        self._known: dict[Summary, bool] = {}

    def __contains__(self, summary: Summary) -> bool:
        if summary not in self._known:
            below = [summary]
            seen = {summary}
            for run in below:
                if self._known.get(run) or (run not in self._known and self._holds(run)):
                    self._known[run] = self._known[summary] = True
                    return True
                new = [child for child in run.children if child not in seen]
                seen.update(new)
                below += new if run not in self._known else ()
            self._known.update(dict.fromkeys(seen, False))
        return self._known[summary]


def called(summary: Summary) -> Iterator[tuple[CallSite, Summary]]:
    """The calls of project functions in a run, each with the run that it leads to."""
    by_function: dict[Function, list[Summary]] = {}
    for child in summary.children:
        by_function.setdefault(child.function, []).append(child)
    sites: dict[Function, list[CallSite]] = {}
    for site in summary.calls:
        if site.callee is not None:
            sites.setdefault(site.callee, []).append(site)
    for function, made in sites.items():
        children = by_function.get(function, [])
        if len(made) == len(children):
            yield from zip(made, children, strict=True)
        else:  # properties and context managers have runs without a call
            yield from ((site, child) for site in made for child in children)


@remembered
def together(summaries: Together) -> list[CallSite]:
    """The calls that rank 0 and other ranks make, under no condition of the rank; each once."""
    by_node: dict[int, tuple[CallSite, set[RankClass]]] = {}
    for rank, summary in summaries:
        for site in summary.calls:
            counts = (
                site.rows
                or site.callee is not None
                or site.method in hooks.ANY_REGISTRARS
                or site.name in hooks.STARTED_BY
                or site.method == "state_dict"
            )
            if counts and not ranked(site):
                by_node.setdefault(id(site.node), (site, set()))[1].add(rank)
    return [site for site, ranks in by_node.values() if MAIN in ranks and len(ranks) > 1]


def _is_collective(site: CallSite) -> bool:
    """A collective in every mode, or a project's own barrier by one of the usual names.

    A method of a model that only some launches shard is none in the others (llama-cookbook faae2fd
    src/llama_cookbook/model_checkpointing/checkpoint_handler.py:287: `state_dict()` in a function for one device).
    """
    wraps = site.receiver.wraps if site.receiver is not None else ()
    if wraps and not any(wrap.always for wrap in wraps):
        return False
    if site.method in BARRIERS or id(site.node) in _asked_for_state(site.function):
        return True
    sharded = any(guard.taken and asks_if_sharded(guard.node) for guard in site.guards)
    return any(
        row.effect is Effect.COLLECTIVE or (sharded and row.effect is Effect.SHARDED_COLLECTIVE)
        for row in site.rows
    )


@remembered
def _asked_for_state(function: Function) -> frozenset[int]:
    """The calls of a function that gather the state of a model in FSDP: `with FSDP.state_dict_type(model, …):`.

    llama-recipes faae2fd src/llama_cookbook/model_checkpointing/checkpoint_handler.py:135.
    """
    return frozenset(
        id(call)
        for node in own_nodes(function, ast.With)
        if any(
            isinstance(item.context_expr, ast.Call)
            and last_name(item.context_expr.func) == "state_dict_type"
            for item in node.items
        )
        for statement in node.body
        for call in walk(statement, ast.Call)
        if last_name(call.func) == "state_dict"
    )


def _always_collective(site: CallSite) -> bool:
    """A collective under no condition: one branch for FSDP says nothing of the rest."""
    return _is_collective(site) and not _open(site)


def _asks_if_several(program: Program, guard: Guard) -> bool:
    """Whether a condition asks for other processes, by itself or through a function of the project."""
    if NUMBERED in guard.value.tags or _ASKS_IF_SEVERAL.search(ast.unparse(guard.node)):
        return True
    asked = (
        program.resolve_dotted(guard.module, dotted_name(node.func))
        for node in walk(guard.node, ast.Call)
    )
    return any(
        _ASKS_IF_SEVERAL.search(ast.unparse(statement.value)) is not None
        for each in asked
        if isinstance(each, Function)
        for statement in each.body
        if isinstance(statement, ast.Return) and statement.value is not None
    )


def _open(site: CallSite) -> dict[int, bool]:
    """The conditions that decide whether the call is made, other than those of the rank, with the arm."""
    return {
        id(guard.node): guard.taken
        for guard in site.guards
        if not guard.exits and guard.value.truthiness() is None and not asks_for_script(guard.node)
    }


def asks_for_script(test: ast.expr) -> bool:
    """`__name__ == "__main__"`, which holds wherever a script runs."""
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == "__name__"
    )


def imported_again(site: CallSite) -> JointEntry | None:
    """What makes every rank run a call at the top of a script: the processes that it spawns import it again.

    MedSAM d71e8a1 train_multi_gpus.py:199: `wandb.init()` above `mp.spawn(main_worker, …)`. A block for
    `__name__ == "__main__"` is the parent's alone.
    """
    if not site.function.is_module_body or any(asks_for_script(g.node) for g in site.guards):
        return None
    spawn = spawn_of(site.module)
    if spawn is None:
        return None
    text = f"every process that `{last_name(spawn.func)}()` starts imports this file again"
    return JointEntry(text, site.module, spawn, True, on_import=True)


@remembered
def spawn_of(module: Module) -> ast.Call | None:
    """The call of a script that starts its ranks in new interpreters: `mp.spawn(main_worker, nprocs=8)`."""
    if not module.is_script:
        return None
    return next(
        (node for node in walk(module.source.tree, ast.Call) if _starts_interpreters(module, node)),
        None,
    )


def _starts_interpreters(module: Module, call: ast.Call) -> bool:
    root, _, rest = dotted_name(call.func).partition(".")
    name = f"{module.imports.get(root, '')}.{rest}".removesuffix(".")
    return name in _SPAWNS and not any(keyword.arg == "start_method" for keyword in call.keywords)


def beside_a_collective(site: CallSite, group: Together) -> JointEntry | None:
    """The collective that every rank performs whenever it comes to a call: under no other condition."""
    if is_one_kernel(site.module):
        return None
    conditions = _open(site)
    for other in together(group):
        if (
            _is_collective(other)
            and not works_alone(other)
            and not trains_alone(other)
            and _open(other).items() <= conditions.items()
            and _has_group(other.function, group)
        ):
            text = f"every rank calls `{other.method}()`"
            return JointEntry(text, other.module, other.node, True, begun=_makes_group(other))
    return None


def _has_group(function: Function, summaries: Together) -> bool:
    """Whether there may be a process group: not in the body of a script that nowhere makes one.

    Open-Sora-Plan f7fa604 opensora/dataset/__init__.py:141: a barrier at the end of a developer's
    `__main__` block, which would raise.
    """
    if not function.is_module_body or not function.module.is_script:
        return True
    return _calls_any((summary for _, summary in summaries), _MAKES_GROUP)


def _calls_any(
    runs: Iterable[Summary],
    names: re.Pattern[str],
    left_out: Callable[[str], bool] = lambda _: False,
) -> bool:
    """Whether a run, or what it leads to, calls anything of such a name but what is left out."""
    work, seen = list(runs), set[int]()
    while work:
        summary = work.pop()
        if id(summary) not in seen:
            seen.add(id(summary))
            if any(names.search(site.name) and not left_out(site.name) for site in summary.calls):
                return True
            work.extend(summary.children)
    return False


def _only_if_any(program: Program, site: CallSite, summaries: Together) -> bool:
    """Whether a collective is made only where there are other processes: here, or in what is called to make it."""
    if any(
        guard.value.truthiness() is not None and _asks_if_several(program, guard)
        for guard in site.guards
    ):
        return True
    inner = [
        each
        for _, summary in summaries
        for call, child in called(summary)
        if call.node is site.node
        for each in child.calls
        if _is_collective(each)
    ]
    return bool(inner) and all(
        _only_if_any(program, each, Together(()))
        # Infinity 4c27bbb infinity/utils/dist.py:126: `if __initialized:`, which the file's own start of the group sets.
        or any(_asks_if_several(program, guard) for guard in each.guards)
        for each in inner
    )


def ranked(site: CallSite) -> bool:
    """Whether who makes the call depends, or may depend, on the rank."""
    return any(
        g.value.variance is Variance.RANK_DEPENDENT
        and not (_asks_for_number(g.node) and _is_asserted(g, site.function))
        for g in site.guards
    ) or maybe_guarded(site)


def maybe_guarded(
    site: CallSite, left: Set[str] = frozenset(), known: Collection[Guard] = ()
) -> bool:
    """Whether a condition in force may be one of the rank that the analysis could not follow.

    By its words, or because it is a position in a subgroup: then one rank or many may get through. `left` are the
    parameters of the function that nobody gives, `known` the conditions that one has looked at.
    """
    if any(
        may_be_about_rank(guard)
        and not _left_at_default(guard, site.function, left)
        and not _is_asserted(guard, site.function)
        for guard in site.guards
        if guard not in known
    ):
        return True
    cls = site.function.cls
    if site.guards and cls is not None and (of_main := _of_main(cls.module).get(cls.name)):
        asked = (literals(guard.node, guard.taken) for guard in site.guards)
        if any(_asks_for(part, so) in of_main for parts in asked for part, so in parts):
            return True
    return _sounds_like_one_rank(site.function)


def _asks_for_object_of_main(program: Program, site: CallSite) -> bool:
    """Whether a call is made only where an object that the function has made has what it gets on rank 0 alone.

    STMOTR f1d2f13 main.py:37: `trainer = Trainer(cfg)`, and `if trainer.writer is not None:`.
    """
    for guard in site.guards:
        for part, so in literals(guard.node, guard.taken):
            owner, _, attr = _asks_for(part, so).rpartition(".")
            made = assignments(site.function).get(owner, ()) if owner else ()
            for each in made:
                cls = (
                    program.resolve_dotted(site.module, dotted_name(each.func))
                    if isinstance(each, ast.Call)
                    else None
                )
                if isinstance(cls, Class) and attr in _of_main(cls.module).get(cls.name, ()):
                    return True
    return False


def _asks_for(test: ast.expr, holds: bool) -> str:
    """The attribute that is there where a test comes out so: `self.writer is not None`, without `self`; "" for other tests."""
    match test:
        case ast.Compare(
            left=ast.Attribute() as asked,
            ops=[ast.Is() | ast.IsNot() as op],
            comparators=[ast.Constant(value=None)],
        ) if isinstance(op, ast.IsNot) is holds:
            pass
        case ast.Attribute() as asked if holds:
            pass
        case _:
            return ""
    return dotted_name(asked).removeprefix("self.")


@remembered
def _of_main(module: Module) -> dict[str, frozenset[str]]:
    """The attributes that the objects of classes get under tests of the rank alone, and that are None elsewhere.

    STMOTR f1d2f13 trainer.py:151: `self.writer`, under `cfg.board_enable and self.is_master_proc`.
    """
    found = {cls.name: _made_on_main(cls) for cls in module.all_classes}
    return {name: made for name, made in found.items() if made}


def _made_on_main(cls: Class) -> frozenset[str]:
    made, lacking, by_all = set[str](), set[str](), set[str]()
    for method in cls.methods.values():
        tested = {
            part
            for node in own_nodes(method, ast.If)
            if mentions_rank(node.test)
            for part in walk(node)
        }
        for node in own_nodes(method, ast.Assign):
            for target in node.targets:
                if not isinstance(target, ast.Attribute) or last_name(target.value) != "self":
                    continue
                if isinstance(node.value, ast.Constant) and node.value.value is None:
                    lacking.add(target.attr)
                else:
                    (made if node in tested else by_all).add(target.attr)
    return frozenset((made & lacking) - by_all)


@remembered
def _sounds_like_one_rank(function: Function) -> bool:
    """Whether the name or a decorator of a function sounds like a rank's: asked for each of its calls."""
    name = _RANKS_OTHERS.sub("", function.name.lower())
    return any(word in name for word in ("rank", "master", "on_main")) or any(
        mentions_rank(decorator)
        for decorator in function.decorators
        if last_name(decorator) not in _OF_COMMANDS
    )


def may_be_about_rank(guard: Guard) -> bool:
    """Whether a condition sounds like one of the rank, and was not followed as one."""
    value = guard.value
    if value.truthiness() is not None and (
        value.variance is Variance.RANK_DEPENDENT or NUMBERED in value.tags
    ):
        return False  # followed already: this rank got through, or each does
    if guard.taken and lets_engine_in(guard.node):
        return False
    return "rank" in guard.value.tags or mentions_rank(guard.node) or asks_for_first_gpu(guard.node)


@remembered_of_nodes
def asks_for_first_gpu(test: ast.expr) -> bool:
    """Whether a condition asks for the first GPU of a machine, by which a worker knows that it is the first.

    vissl 09270ed tests/test_state_checkpoint_conversion.py:128: `if gpu_id == 0:` in what `mp.spawn` starts.
    """
    return any(
        last_name(part.left) in _DEVICES
        and isinstance(part.ops[0], ast.Eq | ast.NotEq)
        and ast.unparse(part.comparators[0]) == "0"
        for part in walk(test, ast.Compare)
    )


def _left_at_default(guard: Guard, function: Function, left: Set[str]) -> bool:
    """Whether what sounds like a test of the rank asks a parameter that lets all ranks in, by its default.

    contriever 39fb220 src/beir_utils.py:172: `def evaluate_model(…, is_main=True)`, and train.py passes nothing for it.
    bergson 3c66bb5 examples/less/download_less.py:6: `def download_less(rank=0)`, and `if rank != 0: return`; who
    passes 0 itself is a run of one process (eg3d 7cf1fd1 eg3d/train.py:101).
    """
    parts = [p for p in literals(guard.node, guard.taken) if mentions_rank(p[0])]
    return (
        bool(parts)
        and "rank" not in guard.value.tags
        and all(_is_so_by_default(guard, function, *part, left) for part in parts)
    )


def _is_so_by_default(
    guard: Guard, function: Function, part: ast.expr, holds: bool, left: Set[str]
) -> bool:
    """Whether a part of a condition is what it has to be, where a parameter is left as it is."""
    match part:
        case ast.Name(id=name):
            wanted: object = True if holds else None
        case ast.Compare(
            left=ast.Name(id=name),
            ops=[ast.Eq() | ast.NotEq() as op],
            comparators=[ast.Constant(value=int(wanted))],
        ) if name in left and isinstance(op, ast.Eq) == holds:
            pass
        case _:
            return False
    default = default_of(function, name)
    return (
        name not in assignments(function)
        and isinstance(default, ast.Constant)
        and default.value is not None
        and default.value == wanted
        and type(default.value) is type(wanted)
        and not _holds_name(guard.value.key, name)
    )


def _is_asserted(guard: Guard, function: Function) -> bool:
    """Whether a condition is that of an assertion that does not ask who a rank is: none goes on without it.

    UniTok bb8012e eval/llamagen/autoregressive/train/train_c2i_fsdp.py:296: `assert z.shape[0] == c.shape[0]`, of a batch.
    doppelgangers b372942 train_multi_gpu.py:95: `assert args.gpu is not None`, which says that each has a number.
    """
    return (
        guard.exits
        and guard.node in _assertions(function)
        and (_asks_for_number(guard.node) or not mentions_rank(guard.node))
    )


def _asks_for_number(test: ast.expr) -> bool:
    """Whether a test asks if a process has any number."""
    return (
        isinstance(test, ast.Compare)
        and asks_if_missing(test.ops[0], test.comparators[0]) is not None
    )


@remembered
def _assertions(function: Function) -> frozenset[ast.expr]:
    return frozenset(node.test for node in own_nodes(function, ast.Assert))


def _holds_name(key: Hashable, name: str) -> bool:
    """Whether a value is made of an unknown parameter, by its key."""
    return key == name or (isinstance(key, tuple) and any(_holds_name(part, name) for part in key))


def lets_engine_in(test: ast.expr) -> bool:
    """Whether a test of the rank lets every rank in where an engine shards the model: `is_main or … == DEEPSPEED`.

    finetrainers f476c37 examples/_legacy/training/cogvideox/cogvideox_text_to_video_lora.py:759.
    """
    match test:
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_asks_for_engine(value) for value in values if not mentions_rank(value))
        case ast.BoolOp(op=ast.And(), values=values):
            # UniWorld-V1 8403e86 train_denoiser.py:1320: `(… or …) and global_step % args.checkpointing_steps == 0`.
            told = [value for value in values if mentions_rank(value)]
            return bool(told) and all(map(lets_engine_in, told))
    return False


def _asks_for_engine(test: ast.expr) -> bool:
    match test:
        case ast.Compare(ops=[ast.Eq() | ast.Is()], comparators=[asked]):
            named = asked.value if isinstance(asked, ast.Constant) else last_name(asked)
        case ast.Name() | ast.Attribute() | ast.Call():
            named = last_name(test)
        case _:
            return False
    return _ENGINES.search(str(named).lower()) is not None


@all_remembered
def _reasons(
    program: Program, function: Function, summaries: Together
) -> Iterator[tuple[Function, JointEntry]]:
    if all(rank is MAIN for rank, _ in summaries):
        return
    hook = _hook(program, function)
    if hook is not None:
        text = f"every rank runs `{hook}`"
        yield function, JointEntry(text, function.module, function.node, True)
    for site in together(summaries):
        if _always_collective(site) and _has_group(function, summaries):
            alone = works_alone(site)
            if trains_alone(site) or (alone and never_launched(program, function.module)):
                continue
            text = f"every rank calls `{site.method}()`"
            if_any = _only_if_any(program, site, summaries)
            yield (
                function,
                JointEntry(
                    text,
                    site.module,
                    site.node,
                    True,
                    not alone,
                    if_any=if_any,
                    begun=_makes_group(site),
                ),
            )
        for given in _registered(site):
            text = f"every rank runs what is given to `{site.method}()`"
            yield given, JointEntry(text, site.module, site.node, True)
        if (worker := _started(site)) is not None:
            text = f"`{site.method}()` runs `{worker.name}()` on every rank"
            why = JointEntry(text, site.module, site.node, True, begun=site)
            yield from ((each, why) for each in (worker, *_handed_on(site, worker)))
    start = _start(summaries, _makes_group)
    if start is not None:
        yield function, _of_start(function, start)
    for _, summary in summaries:
        reason = _test(program, summary)
        if reason is not None:
            yield function, reason
            return


def _of_start(function: Function, start: CallSite) -> JointEntry:
    """What the call that makes the process group shows: where there are ranks, all of them come to it.

    `if distributed: init_process_group()`.
    """
    place = "this script" if function.is_module_body else f"`{function.name}()`"
    text = f"every rank runs {place} to `{start.method}()`"
    return JointEntry(text, start.module, start.node, True, starts=True, begun=start)


@remembered
def _start(summaries: Together, makes: Callable[[CallSite], object]) -> CallSite | None:
    """The call that makes the process group, under whatever test that rank 0 and others pass."""
    of_main: list[CallSite] = []
    of_others: set[int] = set()
    for rank, summary in summaries:
        made = [site for site in summary.calls if makes(site)]
        if rank is MAIN:
            of_main += made
        else:
            of_others.update(id(site.node) for site in made)
    return next((site for site in of_main if id(site.node) in of_others), None)


def _makes_group(site: CallSite) -> CallSite | None:
    """A call, where it is what makes the process group in a library."""
    return site if site.name in facts.GROUP_STARTS else None


def _registered(site: CallSite) -> Iterator[Function]:
    """The functions that a call registers as hooks."""
    if site.method in hooks.ANY_REGISTRARS:
        for value in (*site.args, *site.keywords.values()):
            if isinstance(value.target, Closure):
                yield value.target.function


def _started(site: CallSite) -> Function | None:
    """The function that a call runs on every rank: av_hubert 258fb50 avhubert/infer_s2s.py:285, `call_main(cfg, main)`."""
    given = hooks.STARTED_BY.get(site.name)
    if given is not None and _scaled_to_one(site.module):
        return None
    value = site.argument(*given) if given is not None else None
    return (
        value.target.function if value is not None and isinstance(value.target, Closure) else None
    )


@remembered
def _scaled_to_one(module: Module) -> bool:
    """Whether a file has Ray start one worker, wherever it says how many: `ScalingConfig(num_workers=1)`."""
    if "ScalingConfig" not in module.source.text:
        return False
    told = [n for n in walk(module.source.tree, ast.Call) if last_name(n.func) == "ScalingConfig"]
    numbers = [[k.value for k in node.keywords if k.arg in (None, "num_workers")] for node in told]
    return bool(told) and all(
        not each or (isinstance(each[0], ast.Constant) and each[0].value == 1) for each in numbers
    )


def _handed_on(site: CallSite, worker: Function) -> Iterator[Function]:
    """The functions that what runs on every rank is handed, and calls without asking who it is.

    pytorch_transformer b7626b7 fsdp_inspect_attn_probs.py:166: `mp.spawn(distributed_worker, args=(func, …))`, and there
    `main_func(global_rank, …)`.
    """
    handed = site.argument(1, "args")
    if site.name not in _SPAWNS or handed is None:
        return
    asked = {
        part
        for node in own_nodes(worker, ast.If)
        if mentions_rank(node.test)
        for part in walk(node)
    }
    called = {
        node.func.id
        for node in own_nodes(worker, ast.Call)
        if isinstance(node.func, ast.Name) and node not in asked
    }
    for name, value in zip(worker.parameters[1:], handed.items or (), strict=False):
        if name in called and isinstance(value.target, Closure):
            yield value.target.function


def _hooks_of_main(groups: Collection[Together]) -> frozenset[Function]:
    """The hooks that rank 0 alone runs: from where they are registered nobody else comes to what runs them.

    kohya-ss/sd-scripts train_network.py:947: `save_state()` stands under `if is_main_process`. So does the one of a
    class whose first method registers the hook (ImageReward c1392c6 ImageReward/ReFL.py:474 and 782).
    """
    return frozenset(
        given
        for summaries in groups
        for site in together(summaries)
        if (runs := hooks.RUN_BY.get(site.method)) is not None
        and (
            {rank for rank, summary in summaries if any(_calls_below(summary, runs))}
            or _calling_in_class(groups, site.function.cls, runs)
        )
        == {MAIN}
        for given in _registered(site)
    )


def _run_in_thread(program: Program, site: CallSite, target: ast.expr | None) -> Iterator[Function]:
    """The functions of the file, or methods of the class, that a thread may run."""
    found = None
    match target:
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if site.function.cls is not None:
            found = program.find_method(site.function.cls, name)
        case ast.Name(id=name):
            found = site.module.functions.get(name)
        case ast.IfExp(body=one, orelse=other):
            yield from _run_in_thread(program, site, one)
            yield from _run_in_thread(program, site, other)
    if found is not None:
        yield found


def _threads_of_main(program: Program, groups: Collection[Together]) -> frozenset[Function]:
    """The functions that rank 0 alone runs in threads: what they ask of the rank says nothing of who comes.

    TurboDiffusion aaecff5 turbodiffusion/imaginaire/utils/checkpointer.py:88: `Thread(target=self._save_worker_local)`
    under `if get_rank() == 0`; cosmos-rl 89f2e5b cosmos_rl/utils/wfm/checkpointer.py:440 chooses one of two methods.
    """
    started: dict[Function, set[RankClass]] = {}
    for summaries in groups:
        for rank, summary in summaries:
            for site in summary.calls:
                target = site.argument_node(1, "target") if site.method == "Thread" else None
                for given in _run_in_thread(program, site, target):
                    told = maybe_guarded(site) or _leaves_shards_out(site)
                    started.setdefault(given, set()).add(MAIN if told else rank)
    return frozenset(function for function, ranks in started.items() if ranks == {MAIN})


def _leaves_shards_out(site: CallSite) -> bool:
    """Whether a function returns above a call on all ranks but those at some place in a mesh of devices.

    cosmos-transfer1 5005e82 cosmos_transfer1/checkpointer/fsdp_checkpointer.py:199: behind `replicate_idx == 0 and
    shard_idx == 0`.
    """
    return any(
        node.lineno < site.node.lineno
        and any(arm and isinstance(arm[-1], ast.Return) for arm in (node.body, node.orelse))
        and any(
            _IN_MESH.search(last_name(part.left)) and ast.unparse(part.comparators[0]) == "0"
            for part in walk(node.test, ast.Compare)
        )
        for node in own_nodes(site.function, ast.If)
    )


def _calling_in_class(groups: Iterable[Together], cls: Class | None, method: str) -> set[RankClass]:
    """The ranks that call a method from within a class."""
    return {
        rank
        for summaries in groups
        for rank, summary in summaries
        if cls is not None
        and summary.function.cls is cls
        and any(site.method == method for site in summary.calls)
    }


def _calls_below(root: Summary, method: str) -> Iterator[CallSite]:
    """The calls of a method that a run leads to."""
    seen = {root}
    work = [root]
    while work:
        summary = work.pop()
        yield from (site for site in summary.calls if site.method == method)
        for child in summary.children:
            if child not in seen:
                seen.add(child)
                work.append(child)


def _test(program: Program, summary: Summary) -> JointEntry | None:
    """A test of the rank in the function itself: it would not ask if one rank alone came here."""
    for guard in summary.rank_conditions:
        # A flag that the caller passes says nothing of where the caller calls, and one process
        # passes `not is_initialized() or get_rank() == 0` (open-instruct open_instruct/grpo_fast.py:2360).
        if (
            guard.value.variance is Variance.RANK_DEPENDENT
            and guard.value.origin is not None
            and not _holds_on_one_process(guard.node)
            and not _asks_for_launcher(guard.node)
            and not says_nothing(program, guard)
            and not _is_left_true(program, summary.function, guard.value.origin.node)
        ):
            text = f"`{ast.unparse(guard.node)}` tells the ranks apart"
            return JointEntry(text, guard.module, guard.node, False)
    return None


def _is_left_true(program: Program, function: Function, told: ast.AST) -> bool:
    """Whether what tells the ranks apart is a parameter that is true by its default, and that nobody gives.

    A copy of diffusers' `save_pretrained(…, is_main_process=True)` is called under `if accelerator.is_main_process`
    (Show-o 45a5a2d models/modeling_utils.py:341).
    """
    if not isinstance(told, ast.arg):
        return False
    default = default_of(function, told.arg)
    return (
        isinstance(default, ast.Constant)
        and default.value is True
        and not is_told_rank(program, function, told.arg)
    )


def _asks_for_launcher(test: ast.expr) -> bool:
    """Whether a test asks if the process has a number at all, which is so on all ranks or on none.

    wenet 0154699 wenet/bin/alignment.py: `args.gpu != -1`, in a script of one process. OpenNMT-py
    tools/LM_scoring.py:57: `opt.gpu > -1`; FastVideo benchmark_pipeline.py:318: `args.gpu is not None`; Semi-supervised-learning
    1ef4cbe train.py:295: `args.gpu == "None"`, as no number is a word.
    """
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _asks_for_launcher(operand)
        case ast.Compare(left=ast.Constant(value=str()), ops=[ast.In() | ast.NotIn()]):
            return True  # `"cuda" in device`
        case ast.Compare(
            ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant(value=str() as word)]
        ) if not word.isdigit():
            return True
        case ast.Compare(ops=[op], comparators=[right]):
            return asks_if_missing(op, right) is not None
    return False


def _holds_on_one_process(test: ast.expr) -> bool:
    """Whether a test says by itself that there may be no group: `not dist.is_initialized() or …`."""
    return any(
        isinstance(node.op, ast.Or)
        and any(
            isinstance(value, ast.UnaryOp)
            and isinstance(value.op, ast.Not)
            and last_name(value.operand) in _ASKS_FOR_GROUP
            for value in node.values
        )
        for node in walk(test, ast.BoolOp)
    )


def _hook(program: Program, function: Function) -> str | None:
    """The name by which a framework calls a method on every rank; None where it does not."""
    if function.cls is None:
        return None
    own, outside = program.mro(function.cls)
    bases = (*outside, *(canonical_name(c.full_name) for c in own[1:]))
    for base in facts.with_bases(bases):
        row = hooks.HOOKS.get(base)
        if (
            row is not None
            and base.startswith(_TRAINERS)
            and function.name in (*row.methods, "__init__")
            and function.name not in _NOT_ON_ALL
            and f"{base}.{function.name}" not in hooks.MAIN_ONLY_METHODS
            and not (base.startswith("transformers.") and trains_on_one(program, function.module))
            and not (
                base == _LIGHTNING_MODULE
                and (_is_never_run(program, function.name) or trains_on_one_device(program))
            )
        ):
            return f"{function.cls.name}.{function.name}"
    return None


@remembered
def _is_never_run(program: Program, method: str) -> bool:
    """Whether a program has scripts, and none that makes a Trainer of Lightning do what calls a module's hook.

    Lumina-T2X 1c60696 lumina_audio/models/autoencoder1d.py:148: demos build the module and decode with it. A library
    without scripts leaves the Trainer to who imports it.
    """
    modules = list(program.modules.values())
    stage = next((stage for stage in _STAGES if stage in method), "")
    if not stage and "train" not in method and "validation" not in method:
        return False
    starts = _STAGES.get(stage, _TRAINS)
    return any(m.is_script for m in modules) and not any(
        starts.search(m.source.text) for m in modules
    )


def _answers_requests(function: Function) -> bool:
    """Whether a server may call a method for a request: one rank serves, and the others take part elsewhere."""
    return function.cls is not None and any(
        target == server or target.startswith(f"{server}.")
        for target in function.module.imports.values()
        for server in hooks.SERVERS
    )


def may_come_alone(program: Program, function: Function) -> bool:
    """Whether a method is one that some versions of a trainer call on the writing rank only: what it asks of the
    rank inside says nothing of who comes.

    FlagEmbedding finetune/embedder/decoder_only/base/trainer.py: `_save()` asks `is_world_process_zero()` for the
    tokenizer alone.
    """
    return (
        function.cls is not None
        and function.name in _NOT_ON_ALL
        and facts.is_training_class(program.mro(function.cls)[1])
    )


def evidence(joint_entry: JointEntry) -> tuple[Related, ...]:
    """The places that show that several ranks come to a function."""
    where = joint_entry.launch
    found = [
        Related(where, "this launch")
        if where is not None
        else replace(
            related(joint_entry.module, joint_entry.node, joint_entry.text),
            supposed=not joint_entry.is_start,
        )
    ]
    if joint_entry.call is not None:
        text = f"and calls `{joint_entry.call.method}()`, which leads here"
        found.append(related(joint_entry.call.module, joint_entry.call.node, text))
    return tuple(found)
