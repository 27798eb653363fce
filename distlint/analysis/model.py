"""The analysed project, as rules see it.

    for site in model.calls():            # every call that some rank makes, with who makes it
        if site.name == "torch.save" and len(site.classes) > 1: ...
    for site in model.attributes(): ...   # attributes of wrapped models
    for divergence in model.divergences(): ...   # where the collectives of two rank classes part

Only what live runs did is there: a function that the project calls only under `if rank == 0` is followed
for rank 0 alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Set
from contextlib import suppress
from functools import cached_property
from typing import Final

from distlint.analysis.live.joint_entry import JointEntry, evidence
from distlint.analysis.live.processes import is_behind_one, is_of_tests, is_program
from distlint.analysis.live.program import LiveProgram
from distlint.analysis.live.several import asks_for_several
from distlint.analysis.live.summaries import CallGroup, Problem
from distlint.analysis.program.definitions import Function, Module
from distlint.analysis.program.linked import importers, leading_to, linked
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.places import innermost_at, place_of, related, source_of, span_of
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import assignments
from distlint.analysis.questions.configured_trainers import leads_to_by, made_below
from distlint.analysis.questions.entry_points import divides_nothing, entries_to, shown
from distlint.analysis.questions.filesystem import FileCall, file_calls
from distlint.analysis.questions.launched import (
    expects_several,
    looks_on,
    may_train_on_several,
    one_gpu_each,
    root_paths,
    roots,
    starts_ranks_in_fit,
)
from distlint.analysis.questions.leftover import (
    cannot_be_read,
    holds_several_programs,
    is_left_over,
    is_read_by_none,
)
from distlint.analysis.questions.machines import speaks_of_machines, submits_jobs
from distlint.analysis.questions.never import is_unreached
from distlint.analysis.questions.no_wait import hangs_on_purpose, is_of_one_process, starts_mpi
from distlint.analysis.questions.sections import first_blocks
from distlint.analysis.questions.sharding import may_shard
from distlint.analysis.questions.starting import is_before_ranks
from distlint.analysis.questions.switched_off import makes_no_group
from distlint.analysis.questions.unset_options import is_for_unset_option
from distlint.analysis.questions.version_arms import arms_for_old_versions
from distlint.analysis.questions.without_group import (
    is_beside_ranks,
    is_never_led_to,
    is_without_group,
    options_asked,
)
from distlint.analysis.traces.divergence import Divergence, divergences_of
from distlint.analysis.traces.graph import Graphs
from distlint.findings import Place
from distlint.knowledge.configuration.launchers import OF_TORCH
from distlint.knowledge.facts import Knowledge
from distlint.knowledge.hooks import AFTER_FAILURE, STARTED_BY
from distlint.launch.commands import Launch
from distlint.launch.engines import (
    Engine,
    Start,
    first_start,
    only_starts_one,
    order,
    start_of_several,
    starts_one_on_each_machine,
    starts_several,
    waits_for_one,
)
from distlint.launch.project import LaunchFiles
from distlint.launch.trainers import Run, classes_below, runs
from distlint.patterns import pattern

__all__ = ["CallGroup", "Model", "evidence", "place_of", "related", "source_of", "span_of"]

_OF_TYPES: Final = pattern(r"DistributedDataParallelKwargs|DistributedType|\.distributed_type")
"""What a program says of the type of a launch: it is meant for several."""


class Model(LiveProgram):
    """The analysed project."""

    read_launch: Callable[[], LaunchFiles] = LaunchFiles
    """What reads the scripts and configurations beside the code when a rule asks for them."""

    def __init__(self, program: Program, knowledge: Knowledge) -> None:
        super().__init__(program, knowledge)
        self.graphs = Graphs(self.summaries.final)

    def ask_ahead(self) -> None:
        """Find what rules of most families ask for: processes that are forked then have it in common."""
        with suppress(Exception):  # the rule that asks meets it, too
            list(self.calls())
            self.of_several  # noqa: B018
            self.joint_entries  # noqa: B018
            self.file_calls  # noqa: B018

    @property
    def launch(self) -> LaunchFiles:
        """The scripts and configurations beside the code."""
        return self.read_launch()

    def is_left_over(self, path: str, line: int) -> bool:
        """Whether no program comes to a place: to its file or function, by an option that none sets, or with an old library."""
        return any(
            cannot_be_read(self.program, module)
            or is_read_by_none(self.program, module)
            or holds_several_programs(module)
            or is_unreached(module, line)
            or is_left_over(self, module, line)
            or is_for_unset_option(self, module, line)
            or self._is_for_old_version(module, line)
            for module in self.modules
            if module.path == path
        )

    def _is_for_old_version(self, module: Module, line: int) -> bool:
        """Whether a place is in a branch for a library older than what the project asks for."""
        return any(
            arm.first <= line <= arm.last
            and not self.launch.older_than(arm.package, arm.version, module.path)
            for arm in arms_for_old_versions(module)
        )

    def is_of_one_process(self, path: str, line: int) -> bool:
        """Whether entry points lead to a place, and nothing shows that any of them is started on several processes.

        Or where they do not make the process group: in the branch of an option.
        """
        return any(
            module.path == path and self._only_one_comes(module, line) for module in self.modules
        )

    def _only_one_comes(self, module: Module, line: int) -> bool:
        function = innermost_at(module, line)
        if function in self.alone or is_behind_one(function, line):
            return True
        entries = entries_to(self.program, module, line)
        if entries is None:
            return self.launch.is_for_one_gpu(module.path) and not any(
                self.launch.launches(told=True)
            )
        if is_before_ranks(self.program, module, line) and not any(
            self._is_launched(each, module) for each in entries
        ):
            return True
        if is_beside_ranks(self.program, entries) and not any(
            self._is_launched(each, module) for each in entries
        ):
            return True
        several = [
            each
            for each in sorted(entries, key=lambda each: each.path)
            if (self._shows_several(each) or self._is_launched(each, module))
            and not makes_no_group(self.program, each)
        ]
        return all(
            is_never_led_to(self.program, each, module, line)
            or self._waits_for_one(each, module, line)
            for each in several
        ) or is_without_group(self.program, module, line, entries)

    def _waits_for_one(self, entry: Module, module: Module, line: int) -> bool:
        """Whether a line runs only with an option that the launches of an entry point on several processes leave out."""
        asked = options_asked(self.program, entry, module, line)
        return bool(asked) and waits_for_one(self.launch, entry.source.path, self._paths, asked)

    def _shows_several(self, entry: Module) -> bool:
        """Whether an entry point's code shows several processes, and no page says that it has a single GPU.

        What works on one process as well, and would do the same on each of several, is started as a page tells it.
        """
        signs, path = shown(self.program, entry), entry.source.path
        return (
            bool(signs)
            and not self.launch.is_for_one_gpu(path)
            and not (
                divides_nothing(self.program, entry) and bool(self.launch.alone(path, told=True))
            )
        )

    def _is_launched(self, entry: Module, module: Module) -> bool:
        """Whether a script or page starts an entry point with a launcher, on more processes than one as far as is seen.

        Or whether a run of it that the project shows tells a Trainer of Lightning of several devices, and leads to a file.
        """
        return starts_several(
            self.launch, entry.source.path, self._paths
        ) or self._is_configured_for_several(entry, module)

    def _is_configured_for_several(self, entry: Module, module: Module) -> bool:
        """Whether a configuration, or the words of a command, tell a Trainer of Lightning of several devices."""
        tops = sorted({run.top for run in self.runs_on_several(entry)})
        return any(
            entry is module or leads_to_by(self.program, entry, module, self.classes_below(top))
            for top in tops
        )

    @remembered
    def classes_below(self, top: str) -> frozenset[str]:
        """The classes that configurations in a folder, or below, name; of all configurations where that is empty."""
        return classes_below(self.launch, top)

    @remembered
    def runs_on_several(self, entry: Module) -> tuple[Run, ...]:
        """The runs of a file that the project shows which tell a Trainer of Lightning of several devices."""
        made = made_below(self.program, entry)
        if made is None:
            return ()
        found = runs(self.launch, entry.source.path, made.sections, made.roots, made.named)
        return tuple(run for run in found if run.several)

    @remembered
    def is_launched(self, path: str) -> bool:
        """Whether a script, a page or a configuration beside the code starts a file, or what imports it, on several
        processes, or a number in one of these does: `Trainer(devices=2)`. Or whether no script and no page is there to tell.

        Of 95 findings on files that all ranks write whose evidence was code that works on one process, too (a barrier, a
        wrap, a hook), and whose scripts no launch names, 27 were true; of 76 with a launch 57 (docs/precision.md).
        """
        return not self.launch.pages or any(
            asks_for_several(each)
            or self._is_launched(each, module)
            or self.launch.on_several(each.source.path)
            for module in self.modules
            if module.path == path
            for each in leading_to(self.program, module)
        )

    def launched(self, module: Module) -> Place | None:
        """Where a script or page beside the code surely starts a file on several processes."""
        return start_of_several(self.launch, module.source.path)

    @cached_property
    def _paths(self) -> frozenset[str]:
        """The paths of all files of the program."""
        return frozenset(each.source.path for each in self.program.modules.values())

    def starts_several(self, module: Module) -> bool:
        """Whether a file shows that it is started on several processes: by its words, or by a launch."""
        return expects_several(module) or self.launch.on_several(module.source.path)

    @cached_property
    def programs(self) -> frozenset[str]:
        """The paths of the files that people start with options of their own, and in which pytest calls nothing."""
        return frozenset(module.path for module in self.modules if is_program(module))

    def starts_one(self, module: Module, entry: JointEntry | None = None) -> bool:
        """Whether all scripts that lead to a file say nothing of ranks, train nothing and are started as one process.

        What a helper of theirs does on several, for others that call it, is not theirs. Nor is what a class does that
        they use, where that is all the `entry` shows, and no launch names them. What the one process spawns are several:
        NSVF ecd0808 render.py, which README.md starts by `python`, and which has `call_main(args, main)` start the ranks.
        """
        if entry is not None and entry.begun is not None and entry.begun.name in STARTED_BY:
            return False
        known = self._paths
        above = self.answer(roots)[module]
        started = bool(above) and all(
            not may_train_on_several(each) and only_starts_one(self.launch, each.source.path, known)
            for each in above
        )
        if started or entry is None or not entry.inside or entry.module is module:
            return started
        users = {*above, module} if module.is_script else above
        lookers = [each for each in users if not is_of_tests(each)]
        return bool(lookers) and all(
            looks_on(each) and not self.launch.starting(each.source.path, known) for each in lookers
        )

    def fetched_by_first(self, entry: JointEntry) -> bool:
        """Whether ranks come by the constructor of a module of Lightning's that the first process runs before the others.

        What it fetches, or finds missing and makes, is there when `fit` has started them. Not where a launcher starts
        all of them at once.
        """
        return (
            isinstance(entry.node, ast.FunctionDef)
            and entry.node.name == "__init__"
            and "ightning" in entry.module.source.text
            and self.ranks_come_in_fit(entry.module)
        )

    def ranks_come_in_fit(self, module: Module) -> bool:
        """Whether all scripts that lead to a file have `fit` of Lightning start their ranks, and no launcher is known."""
        above = self.answer(roots)[module]
        return bool(above) and all(
            starts_ranks_in_fit(self, each) and not self.launch.starting(each.source.path)
            for each in above
        )

    def is_before(self, package: str, version: tuple[int, ...], module: Module) -> bool:
        """Whether a file runs with an older version of a package: with the program's own copy, or by what is asked for.

        salesforce/CodeRL ec3c526 has transformers 4.16.1 in the folder `transformers`.
        """
        own = self.program.modules.get(package)
        written = assignments(own.body).get("__version__", ()) if own is not None else ()
        match written:
            case [ast.Constant(value=str() as text)]:
                return tuple(int(part) for part in re.findall(r"\d+", text)[:3]) < version
        return self.launch.older_than(package, version, module.path)

    def starts_in_engine(self, module: Module) -> bool:
        """Whether every launch that leads to a file asks for FSDP or DeepSpeed.

        A test may import what is launched: robust-llm-2024 0062a38 robust_llm/__main__.py.
        """
        folder = module.path.rpartition("/")[0]
        above = sorted(each.path for each in importers(self.program, module))
        return self.launch.in_engine(above, self._paths, folder)

    def runs_in_engines(self, module: Module) -> bool:
        """Whether all launches that lead to a file, and all configurations of accelerate, ask for FSDP or DeepSpeed.

        EasyContext 6b0d310 README.md:110: `accelerate launch --config_file accelerate_configs/deepspeed_inference.yaml
        eval_needle.py`, and no configuration of another type. Not so of a program that tells the types apart, or DDP how to
        run: ConsisID 60429e4 train.py:1254, `distributed_type == DistributedType.DEEPSPEED or accelerator.is_main_process`.
        """
        return (
            self.launch.configured_in_engines
            and self.starts_in_engine(module)
            and not any(_OF_TYPES.search(m.source.text) for m in linked(self.program, module))
        )

    def has_device_0_alone(self, module: Module) -> bool:
        """Whether no two ranks in a file are given the same GPU as `cuda:0`: each sees one, or is alone on its machine."""
        paths = root_paths(self, module)
        return self.answer(one_gpu_each) or (
            bool(paths)
            and all(starts_one_on_each_machine(self.launch, path, self._paths) for path in paths)
        )

    def launches_to(self, module: Module) -> list[Launch]:
        """The launches of the files that lead to a file, and that nothing imports."""
        return [
            launch for path in root_paths(self, module) for _, launch in self.launch.starting(path)
        ]

    def shares_a_disk(self, module: Module) -> bool:
        """Whether each launch that the project shows of what leads to a file is of one machine, or by submitit, which hands
        the job to all machines in a folder (OmniSAM ed7ff75 sam/training/train.py:164).

        A script of which no launch is shown must not speak of machines.
        """
        above = [each.path for each in importers(self.program, module)]
        shown = {path for path in above if self.launch.shown(path)}
        if not all(map(self.launch.on_one_machine_alone, shown)):
            return False
        return submits_jobs(self.program) or (
            bool(shown)
            and not any(
                root.path not in shown and speaks_of_machines(root)
                for root in self.answer(roots)[module]
            )
        )

    def starts_by_torch(self, module: Module) -> bool:
        """Whether torch's own launchers start all that leads to a file, or else, where no launch does, all of the project.

        They set LOCAL_RANK on one process as well, and none of the variables by which `accelerate launch` chooses the
        precision or an engine.
        """
        launches = self.launches_to(module) or [
            launch for _, launch in self.launch.launches(told=True)
        ]
        return bool(launches) and all(launch.launcher in OF_TORCH for launch in launches)

    def start_in(self, engines: Set[Engine], module: Module) -> Start | None:
        """The first launch in one of `engines` that starts a file, or each of whose like leads to it.

        None where a script leads to the file that no such launch starts: who calls its functions is not known.
        """
        own = first_start(self.launch, module.path, engines)
        if own is not None:
            return own
        found = [first_start(self.launch, path, engines) for path in root_paths(self, module)]
        known = [start for start in found if start is not None]
        return min(known, key=order) if known and len(known) == len(found) else None

    @cached_property
    def may_shard(self) -> bool:
        """Whether the program, or a script or configuration beside it, speaks of FSDP, DeepSpeed or the like."""
        scripts, configurations = self.launch.scripts, self.launch.configurations
        return may_shard(self, [*(s.text for s in scripts), *(c.text for c in configurations)])

    @cached_property
    def _divergences(self) -> list[Divergence]:
        found, problems = divergences_of(self.of_several, self.graphs)
        for function, reason in problems:
            text = f"{function.qualname}: not compared to its end, {reason}"
            self.problems.append(Problem(function.module.path, text, function.qualname, reason))
        return found

    def divergences(self) -> Iterator[Divergence]:
        """Where the traces of two rank classes part, in the reported modules; each origin once."""
        return (
            d
            for d in self._divergences
            if d.module.source.reported
            and not self._takes_leave(d.function)
            and not hangs_on_purpose(self.program, d)
            and not (is_of_one_process(self, d) and not self._starts_mpi())
        )

    def _starts_mpi(self) -> bool:
        """Whether a script beside the code starts processes by MPI's launcher."""
        return starts_mpi(script.text for script in self.launch.scripts)

    def _takes_leave(self, function: Function) -> bool:
        """Whether a framework calls a method where a run has failed."""
        if function.cls is None:
            return False
        outside = self.program.mro(function.cls)[1]
        return any((base, function.name) in AFTER_FAILURE for base in outside)

    @property
    def file_calls(self) -> list[FileCall]:
        """Every call of the reported modules that touches a file, in source order."""
        return self.answer(file_calls)

    @property
    def first_blocks(self) -> list[tuple[Function, ast.With | ast.AsyncWith]]:
        """The `with` blocks of the reported modules that one rank runs before the others."""
        return self.answer(first_blocks)
