"""Where one rank goes first and the others follow: sections, and what is only reached through them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ir import CallSite
from distlint.analysis.interpreter.ranks import MAIN, NODE_MAIN, OTHER
from distlint.analysis.live.joint_entry import BARRIERS, groups_of, maybe_guarded
from distlint.analysis.program.definitions import Class, Function, Module, last_name
from distlint.analysis.program.memory import all_remembered, remembered
from distlint.analysis.program.syntax import literals, mentions_rank, own_nodes
from distlint.analysis.questions.filesystem import entered_together
from distlint.knowledge import facts
from distlint.nodes import walk
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram

_FIRST: Final = ("process_first", "rank_zero_first", "rank_0_first", "master_first")
"""Ends of the names of context managers that let one rank go first."""
_MAX_CALLERS: Final = 3


@dataclass(frozen=True, slots=True)
class Section:
    """Lines of a function that one rank runs before the others do."""

    function: Function
    first: int
    last: int

    def holds(self, site: CallSite) -> bool:
        """Whether a call stands in it."""
        return site.function is self.function and self.first <= site.node.lineno <= self.last


def first_blocks(live: LiveProgram) -> list[tuple[Function, ast.With | ast.AsyncWith]]:
    """The `with` blocks that one rank runs before the others, by the tables (`main_process_first`).

    Also by the name: projects hold copies of these context managers.
    """
    found: list[tuple[Function, ast.With | ast.AsyncWith]] = []
    for call in live.calls():
        block = _block_of(call.site)
        if block is not None and (
            any(row.first for row in call.site.rows) or call.site.method.endswith(_FIRST)
        ):
            found.append((call.site.function, block))
    return found


def first_sections(live: LiveProgram) -> list[Section]:
    """All of them: the blocks of the tables, those of the project's own managers, and turnstiles."""
    found = [_body(function, block) for function, block in live.answer(first_blocks)]
    managers: dict[Function, bool] = {}
    for call in live.calls():
        block = _block_of(call.site)
        opened = _opened(live, call.site) if block is not None else None
        if block is not None and opened is not None:
            enters, leaves = opened
            if enters not in managers:
                managers[enters] = _lets_one_first(live, enters, leaves)
            if managers[enters]:
                found.append(_body(call.site.function, block))
    for summaries in live.functions():
        found.extend(_turnstiles(live, summaries.function))
    return found


def in_turn(live: LiveProgram, site: CallSite) -> bool:
    """Whether a call is made in such a section, here or where all that call the function stand, at any depth.

    yolov10 453c6e3 ultralytics/models/yolo/detect/train.py:48: seven calls lead from there to what writes the labels.
    """
    return _in_turn(live, site, frozenset())


def _in_turn(live: LiveProgram, site: CallSite, below: frozenset[Function]) -> bool:
    if any(section.holds(site) for section in live.answer(first_sections)):
        return True
    callers = live.callers.get(site.function, ())
    # Where several ranks are known to call, who may call on one process does not count:
    # yolov5 5081342 segment/train.py:163 has its data set checked in turn, and val.py by itself.
    entered = live.answer(entered_together)
    callers = [each for each in callers if each.function in entered] or callers
    # Nor who comes as rank 0 alone: DNABERT b6da04e examples/run_pretrain.py:505, under `local_rank in [-1, 0]`.
    callers = [each for each in callers if not _is_of_main(live, each)] or callers
    below |= {site.function}
    return bool(callers) and all(
        caller.function not in below and _in_turn(live, caller, below) for caller in callers
    )


def _is_of_main(live: LiveProgram, site: CallSite) -> bool:
    """Whether rank 0 alone, or that of each machine, makes a call."""
    group = live.call_at(site.node)
    return group is not None and group.classes - {NODE_MAIN} == {MAIN}


def after_main(live: LiveProgram, site: CallSite) -> bool:
    """Whether rank 0 has called the function of a call alone, and all have waited, before the others call it.

    EasyAnimate c2a70d1 easyanimate/video_caption/compute_text_score.py:21: a first section by hand. What is only done
    where it is not done yet is then done.
    """
    return _after_main(live, site.function, _MAX_CALLERS)


def _after_main(live: LiveProgram, function: Function, depth: int) -> bool:
    callers = {caller.function for caller in live.callers.get(function, ())} - {function}
    return bool(depth and callers) and all(
        _main_goes_first(live, each, function) or _after_main(live, each, depth - 1)
        for each in callers
    )


def _main_goes_first(live: LiveProgram, caller: Function, called: Function) -> bool:
    summaries = live.summaries_of(caller)
    groups = groups_of(summaries) if summaries is not None else []
    for _, group in groups:
        runs = dict(group)
        if MAIN not in runs or OTHER not in runs:
            return False
        mains, others = runs[MAIN].calls, runs[OTHER].calls
        # A test that was not followed lets some in: Feature-Distillation 2115145 models/deit.py:25,
        # `int(dist.get_rank()) % torch.cuda.device_count() == 0`, the first of each machine.
        shared = {id(s.node) for s in others if _is_wait(s) or not maybe_guarded(s)}
        alone = [s for s in mains if s.callee is called and id(s.node) not in shared]
        firsts = {id(s.node) for s in alone}
        waits = {s.node.lineno for s in mains if _is_wait(s) and id(s.node) in shared}
        for later in (s for s in others if s.callee is called and id(s.node) not in firsts):
            if not any(
                first.node.lineno < line < later.node.lineno and _same_arguments(first, later)
                for first in alone
                for line in waits
            ):
                return False
    return True


def _same_arguments(one: CallSite, other: CallSite) -> bool:
    """Whether two calls give the same, but for the device."""
    first, second = (
        (
            [ast.unparse(argument) for argument in site.node.args],
            {k.arg: ast.unparse(k.value) for k in site.node.keywords if k.arg != "device"},
        )
        for site in (one, other)
    )
    return first == second


def _block_of(site: CallSite) -> ast.With | ast.AsyncWith | None:
    """The `with` statement that enters what a call gives."""
    match site.statement:
        case ast.With(items=items) | ast.AsyncWith(items=items) as block if any(
            item.context_expr is site.node for item in items
        ):
            return block
    return None


def _body(function: Function, block: ast.With | ast.AsyncWith) -> Section:
    return Section(function, block.body[0].lineno, block.end_lineno or block.lineno)


def _opened(live: LiveProgram, site: CallSite) -> tuple[Function, Function] | None:
    """What of the project runs on entering and on leaving the context manager that a call makes."""
    if site.callee is not None and site.callee.is_generator:
        return site.callee, site.callee
    meaning = live.resolve(site.module, site.node.func)
    if isinstance(meaning, Class) and {"__enter__", "__exit__"} <= meaning.methods.keys():
        return meaning.methods["__enter__"], meaning.methods["__exit__"]
    return None


def _lets_one_first(live: LiveProgram, enters: Function, leaves: Function) -> bool:
    """Whether the others wait on entering, and rank 0 on leaving."""
    others, mains = _waits(live, enters)[1], _waits(live, leaves)[0]
    if enters is not leaves:
        return bool(others and mains)
    yields = [n.lineno for n in own_nodes(enters, ast.Yield, ast.YieldFrom)]
    return any(other < y for other in others for y in yields) and any(
        y < main for main in mains for y in yields
    )


@all_remembered
def _turnstiles(live: LiveProgram, function: Function) -> Iterator[Section]:
    """`if rank != 0: barrier()` … `if rank == 0: barrier()`: what lies between the two.

    Up to the last of rank 0's before the others wait again: each arm may have one (FastChat 0e6d3e4
    fastchat/train/train_flant5.py:291).
    """
    mains, others = _waits(live, function)
    for other in others:
        again = min((line for line in others if line > other), default=None)
        behind = [main for main in mains if main > other and (again is None or main < again)]
        if behind:
            yield Section(function, other + 1, max(behind) - 1)
    if not (mains or others):
        yield from _turnstiles_by_one_test(function)


def _turnstiles_by_one_test(function: Function) -> Iterator[Section]:
    """The same by a test that is not known to be one of the rank: where it fails the ranks wait above, where it holds below.

    imaginaire c6f7480 imaginaire/evaluation/common.py:270: `is_local_master()` is `torch.cuda.current_device() == 0`.
    """
    if not _names_barrier(function.module):
        return
    waiting = [
        (node, frozenset(_alike(part, holds) for part, holds in literals(node.test, True)))
        for node in own_nodes(function, ast.If)
        if not node.orelse and _only_waits(node)
    ]
    for last, held in waiting:
        for first, failed in waiting:
            (text, holds), *more = held - failed or {("", True)}
            if (
                first.lineno < last.lineno
                and not more
                and failed - held == {(text, not holds)}
                and not isinstance(last.test, ast.Constant)
            ):
                yield Section(function, (first.end_lineno or first.lineno) + 1, last.lineno - 1)


@remembered
def _names_barrier(module: Module) -> bool:
    return any(word in module.source.text for word in BARRIERS)


def _alike(part: ast.expr, holds: bool) -> tuple[str, bool]:
    """A condition as written and how it came out; `rank != 0` that holds is `rank == 0` that does not.

    A process of rank -1 is alone and waits for nobody: CodeBERT c0de43d CodeExecutor/pretrain/run.py:355,
    `args.local_rank not in [-1, 0]`, behind `args.local_rank += args.node_index * args.gpu_per_node`.
    """
    match part:
        case ast.Compare(
            left=left,
            ops=[ast.In() | ast.NotIn() as op],
            comparators=[ast.List() | ast.Tuple() as among],
        ) if sorted(map(ast.unparse, among.elts)) == ["-1", "0"]:
            return f"{ast.unparse(left)} == 0", holds is isinstance(op, ast.In)
        case ast.Compare(left=left, ops=[ast.NotEq() | ast.Gt()], comparators=[right]):
            return f"{ast.unparse(left)} == {ast.unparse(right)}", not holds
    return ast.unparse(part), holds


def _only_waits(node: ast.If) -> bool:
    """Whether all that stands under a test is a call that waits for the other ranks."""
    match node.body:
        case [ast.Expr(value=ast.Call(func=called))]:
            return last_name(called) in BARRIERS
    return False


def _waits(live: LiveProgram, function: Function) -> tuple[list[int], list[int]]:
    """The lines on which rank 0 alone, and the others alone, wait for the rest."""
    summaries = live.summaries_of(function)
    mains: set[int] = set()
    others: set[int] = set()
    for _, group in groups_of(summaries) if summaries is not None else ():
        by_rank = {
            rank: {s.node.lineno for s in summary.calls if _is_wait(s)}
            for rank, summary in group
            if rank in (MAIN, OTHER)
        }
        if len(by_rank) == 2:
            mains |= by_rank[MAIN] - by_rank[OTHER]
            others |= by_rank[OTHER] - by_rank[MAIN]
    return sorted(mains), sorted(others)


def _is_wait(site: CallSite) -> bool:
    if site.callee is None or facts.is_collective(site.rows):
        return site.method in BARRIERS
    return _does_nothing_else(site.callee)


@remembered
def _does_nothing_else(function: Function) -> bool:
    """Whether all that a function of the project does is to wait: `if is_initialized(): torch.distributed.barrier()`.

    EasyCV 901ff18 easycv/utils/dist_utils.py:52, which its context manager `dist_zero_exec` calls.
    """
    if function.is_generator:
        return False
    tests = [node.test for node in own_nodes(function, ast.If)]
    waits = [c for c in own_nodes(function, ast.Call) if last_name(c.func) in BARRIERS]
    beside = {id(part) for each in (*tests, *waits) for part in walk(each, ast.Call)}
    return (
        bool(waits)
        and not any(map(mentions_rank, tests))
        and all(id(call) in beside for call in own_nodes(function, ast.Call))
    )
