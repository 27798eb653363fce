"""What one rank does to a file while the others, whom nothing makes wait, already use it."""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Iterator
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ir import CallSite, Guard, Summary
from distlint.analysis.interpreter.ranks import MAIN, OTHER
from distlint.analysis.interpreter.values import Variance
from distlint.analysis.live.joint_entry import ComingTo, called, groups_of, maybe_guarded
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.environment import blocks_of
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import (
    assignments,
    mentions_rank,
    own_nodes,
    statement_with_test,
)
from distlint.analysis.questions.carried import left_to_main
from distlint.analysis.questions.filesystem import (
    appended,
    asked_paths,
    asks_existence,
    effects_of,
    on_the_other_arm,
    read_by,
    written_by_one,
)
from distlint.analysis.questions.paths import Parts, bound, holds, object_of, parts_of
from distlint.analysis.questions.sections import in_turn
from distlint.knowledge import facts
from distlint.knowledge.schema import Effect
from distlint.knowledge.sinks import MAKE_FOLDER
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.knowledge.schema import CallRow

_PREPARES: Final = (Effect.WRITE, Effect.DELETE, Effect.CREATE_DIR, Effect.DOWNLOAD)
_WAITS: Final = pattern("barrier|wait|synchronize|sync_|process_first", re.IGNORECASE)
_OF_DEVICE: Final = pattern(r"torch\.\w+\.synchronize")
"""Waits of a rank for its own device: `torch.cuda.synchronize()` holds no other rank."""
_LOADS: Final = pattern("load|read|from_pretrained|from_file|restore")
_MAX_STEPS: Final = 600
_MAX_DEPTH: Final = 4


@dataclass(slots=True, eq=False)
class Step:
    """One thing in the order in which a rank does it. Never changed; there are tens of thousands.

    effect   what happens to the file; None for a point where ranks wait for each other
    node     the path, as the call has it
    site     the call itself
    through  the calls that lead to it from the function that the trace belongs to, innermost first,
             each with the function that it calls
    chosen   whether the call itself lets rank 0 alone do it
    """

    effect: Effect | None
    node: ast.expr | None
    site: CallSite
    through: tuple[tuple[CallSite, Function], ...] = ()
    chosen: bool = False

    @property
    def outer(self) -> CallSite:
        """The call in the function that the trace belongs to, which leads to `site`."""
        return self.through[-1][0] if self.through else self.site

    @property
    def sites(self) -> tuple[CallSite, ...]:
        """The call itself and those that lead to it."""
        return self.site, *(site for site, _ in self.through)

    @property
    def path(self) -> Parts:
        """The file, in terms of the function that the trace belongs to."""
        if self.node is None:
            return ()
        path = parts_of(self.node, self.site.function)
        for call, callee in self.through:
            path = bound(path, arguments_of(call, callee))
        return path


@dataclass(frozen=True, slots=True, eq=False)
class Race:
    """Rank 0 prepares a file; the other ranks use it, and nothing in between makes them wait."""

    prepared: Step
    used: Step
    function: Function

    @property
    def calls(self) -> int:
        """How many calls lead from the function to the two: fewest where they are near each other."""
        return len(self.prepared.through) + len(self.used.through)


class Traces:
    """The file and waiting steps of runs, with the calls that they make followed."""

    def __init__(self, live: LiveProgram) -> None:
        self._live = live
        self._known: dict[Summary, list[Step]] = {}
        self._own: dict[tuple[CallSite, bool], tuple[Step, ...]] = {}
        """What a call does itself, by whether the function that it calls is known."""
        self._leading = ComingTo(self._has_steps)

    def _has_steps(self, summary: Summary) -> bool:
        return any(self._own_of(site, None) for site in summary.calls)

    def _own_of(self, site: CallSite, inner: Summary | None) -> tuple[Step, ...]:
        own = self._own.get((site, inner is None))
        if own is None:
            own = self._own[site, inner is None] = tuple(_own(site, inner))
        return own

    def of(self, summary: Summary, depth: int = _MAX_DEPTH) -> list[Step]:
        """The steps of a run in order."""
        if summary in self._known:
            return self._known[summary]
        self._known[summary] = []  # a recursive call adds nothing of its own
        if summary not in self._leading:
            return []
        steps: list[Step] = []
        children: dict[int, Summary] = {}
        if depth:
            for site, child in called(summary):
                children.setdefault(id(site), child)
        for site in sorted(summary.calls, key=lambda s: s.order):
            if len(steps) > _MAX_STEPS:
                break
            inner = children.get(id(site))
            if inner is not None:
                steps += self._inside(site, inner, depth)
            steps += self._own_of(site, inner)
        if depth == _MAX_DEPTH or not children:
            self._known[summary] = steps
        else:
            del self._known[summary]
        return steps

    def _inside(self, site: CallSite, child: Summary, depth: int) -> Iterator[Step]:
        here = (site, child.function)
        for step in self.of(child, depth - 1):
            yield Step(step.effect, step.node, step.site, (*step.through, here), step.chosen)


def _own(site: CallSite, child: Summary | None) -> Iterator[Step]:
    chosen = written_by_one(site)
    touched = [Step(Effect.WRITE, chosen, site, chosen=True)] if chosen is not None else []
    touched += [
        Step(effect, known, site)
        for effect, row, path in effects_of(site)
        if not row.locked and (known := path or _handed_on(site, row)) is not None
    ]
    if (added := appended(site, by_default=True)) is not None:
        # Its folder has to be there: KAN-TTS 66202d0 kantts/utils/log.py:7, `logging.FileHandler(log_file)`.
        touched.append(Step(Effect.WRITE, added, site))
    if not touched and child is None and _LOADS.search(site.method):
        # Who loads reads before it meets the others, if it does: `from_pretrained` under ZeRO-3.
        read = read_by(site)
        for argument in site.node.args[:1] if read is None else (read,):
            if not isinstance(argument, (ast.Starred, ast.Constant)):
                yield Step(Effect.READ, argument, site)
    waits = _WAITS.search(site.method) and not _OF_DEVICE.fullmatch(site.name)
    if waits or facts.is_collective(site.rows):
        yield Step(None, None, site)
    yield from touched


def _handed_on(site: CallSite, row: CallRow) -> ast.expr | None:
    """The path of a call that hands on all that its function gets: `torch.save(*args, **kwargs)` writes to `args[1]`.

    D-FINE 4a1f73a src/misc/dist_utils.py:123, `save_on_master`, which dozens of detectors have from detr.
    """
    match site.node.args:
        case [ast.Starred(value=ast.Name(id=name))] if isinstance(
            row.path, int
        ) and name == _taking_all(site.function):
            return _element(site.function, name, row.path)
    return None


def _taking_all(function: Function) -> str | None:
    """The parameter of a function that takes nothing else by position: `args` of `def save(*args, **kwargs)`."""
    match function.node:
        case ast.FunctionDef(
            args=ast.arguments(posonlyargs=[], args=[], vararg=ast.arg(arg=name))
        ) if function.cls is None:
            return name
    return None


@remembered
def _element(_: Function, name: str, position: int) -> ast.expr:
    return ast.parse(f"{name}[{position}]", mode="eval").body


def arguments_of(site: CallSite, callee: Function) -> dict[Hashable, Parts]:
    """The paths that a call passes for the parameters of what it calls."""
    names = callee.parameters
    skipped = 1 if callee.cls is not None and names[:1] in (["self"], ["cls"]) else 0
    found: dict[Hashable, Parts] = {}
    if (rest := _taking_all(callee)) is not None:
        for position, given in enumerate(site.node.args):
            if isinstance(given, ast.Starred):
                break
            element = parts_of(_element(callee, rest, position), callee)
            found[element[0]] = parts_of(given, site.function)
    for position, name in enumerate(names[skipped:]):
        node = site.argument_node(position, name)
        if node is not None:
            found["parameter", id(callee), name] = parts_of(node, site.function)
            if (kept := object_of(node, site.function)) is not None:
                found["object", id(callee), name] = (kept,)
    return found


def races(live: LiveProgram) -> Iterator[Race]:
    """Files that rank 0 alone prepares and that other ranks use without having waited for it."""
    traces = live.answer(Traces)
    found: dict[tuple[int, int], Race] = {}
    for summaries in live.functions():
        for _, group in groups_of(summaries):
            main = next((summary for rank, summary in group if rank is MAIN), None)
            other = next((summary for rank, summary in group if rank is OTHER), None)
            if main is None or other is None:
                continue
            steps = traces.of(main)
            if main is other and not any(step.chosen for step in steps):
                continue
            for prepared, used in unordered(live, steps, traces.of(other)):
                key = (id(prepared.site.node), id(used.site.node))
                race = Race(prepared, used, summaries.function)
                if _returns(prepared) and _made_elsewhere(live, prepared.site.function, set()):
                    continue
                if _is_awaited(prepared):
                    continue
                if key not in found or race.calls < found[key].calls:
                    found[key] = race
    yield from found.values()


def _is_awaited(prepared: Step) -> bool:
    """Whether the other ranks ask for what one of them prepares until it is there."""
    site = prepared.outer
    return any(
        mentions_rank(guard.node)
        and (loop := waits_on_other_arm(site.function, guard)) is not None
        and prepared.path in [parts_of(asked, site.function) for asked in asked_paths(loop.test)]
        for guard in site.guards
    )


def waits_on_other_arm(function: Function, guard: Guard) -> ast.While | None:
    """The loop that asks for a file until it is there, on the arm of a condition that is not taken."""
    statement = statement_with_test(function, guard.node)
    if statement is None:
        return None
    arm = statement.orelse if guard.taken else statement.body
    return next(
        (node for each in arm for node in walk(each, ast.While) if asked_paths(node.test)),
        None,
    )


def folders_of_main(live: LiveProgram) -> Iterator[Race]:
    """Folders that rank 0 alone makes and into which all ranks write, whether or not they wait for it."""
    traces = live.answer(Traces)
    found: dict[int, Race] = {}
    for summaries in live.functions():
        for _, group in groups_of(summaries):
            runs = dict(group)
            if MAIN not in runs or OTHER not in runs:
                continue
            others = [traces.of(run) for rank, run in group if rank is not MAIN]
            main = traces.of(runs[MAIN])
            if all(step.effect is not Effect.CREATE_DIR for step in main):
                continue
            made = {id(step.site.node) for steps in others for step in steps}
            before: set[tuple[int, ...]] = set()
            for step in main:
                before.add(way(step))
                if (
                    step.effect is not Effect.CREATE_DIR
                    or id(step.site.node) in made
                    or not _names_main(step)
                    or _made_on_each_machine(step, others)
                ):
                    continue
                steps = traces.of(runs[OTHER])
                used = _written_below(step, steps, before)
                if used is None and summaries.function.name == "__init__":
                    used = _written_by_methods(live, traces, step, summaries.function)
                race = Race(step, used, summaries.function) if used is not None else None
                key = id(step.site.node)
                if race is not None and (key not in found or race.calls < found[key].calls):
                    found[key] = race
    yield from found.values()


def _made_on_each_machine(folder: Step, others: list[list[Step]]) -> bool:
    """Whether some other rank makes the folder in another place: the first of its machine, where it asks for that.

    LightningDiT 2725fed inference.py:126: `if rank == 0: os.makedirs(…)`, by `local_process_index`, behind a first try by
    `process_index`.
    """
    return any(
        step.effect is Effect.CREATE_DIR and step.path == folder.path
        for steps in others
        for step in steps
    )


def _names_main(step: Step) -> bool:
    """Whether a test of the rank lets rank 0 alone make the folder, here or where the function is called."""
    return any(
        guard.value.variance is Variance.RANK_DEPENDENT or mentions_rank(guard.node)
        for site in step.sites
        for guard in site.guards
    )


def _written_below(folder: Step, steps: list[Step], before: set[tuple[int, ...]]) -> Step | None:
    """Where another rank writes a file into a folder that it does not make, nor asks for.

    What rank 0 itself writes before it comes to make the folder finds one that something else has made: Oscar 266075f
    oscar/run_gqa.py:1018, behind the training, in which `evaluate()` makes it on each machine.
    """
    for step in steps:
        if step.effect is Effect.CREATE_DIR and holds(folder.path, step.path):
            return None
    making: list[Step] = []
    for step in steps:
        inside = step.effect is Effect.WRITE and holds(folder.path, step.path)
        if inside and _makes_folder(step.site):
            making.append(step)
        elif inside and not step.chosen and step.path != folder.path and way(step) not in before:
            if any(asks_existence(site) for site in step.sites):
                return None
            return None if any(_whenever(each, step) for each in making) else step
    return None


def _makes_folder(site: CallSite) -> bool:
    """Whether a call makes its folder on each rank that comes to it.

    GaLore 2cc66f8 run_glue.py:722: `save_pretrained(args.output_dir, is_main_process=…)`, and a file of it below.
    """
    return site.method in MAKE_FOLDER and not site.name.startswith("peft.")


def _whenever(first: Step, later: Step) -> bool:
    """Whether a step is made whenever a later one is: under no other condition."""
    return _conditions(first) <= _conditions(later)


def _conditions(step: Step) -> set[tuple[str, bool]]:
    return {
        (ast.unparse(guard.node), guard.taken)
        for site in step.sites
        for guard in site.guards
        if not guard.exits and guard.value.truthiness() is None
    }


def _written_by_methods(
    live: LiveProgram, traces: Traces, folder: Step, constructor: Function
) -> Step | None:
    """Where another method, which all ranks come to, writes below a folder that the constructor made on rank 0.

    detr 29901c5 datasets/panoptic_eval.py:18: `self.output_dir = output_dir`, and `update()` writes into it.
    """
    cls = constructor.cls
    kept = _kept(constructor) if cls is not None else {}
    made = bound(folder.path, kept)
    steps: list[Step] = []
    for method in cls.methods.values() if cls is not None and kept else ():
        summaries = live.summaries_of(method) if method is not constructor else None
        for family, group in groups_of(summaries) if summaries is not None else ():
            if live.joint_entries.get((method, family)) is not None:
                steps += [s for rank, run in group if rank is OTHER for s in traces.of(run)]
    below = [step for step in steps if holds(made, bound(step.path, kept))]
    if any(step.effect is Effect.CREATE_DIR for step in below):
        return None
    return next(
        (
            step
            for step in below
            if step.effect is Effect.WRITE
            and not step.chosen
            and bound(step.path, kept) != made
            and _by_all(step)
        ),
        None,
    )


def _by_all(step: Step) -> bool:
    """Whether nothing says that a step is another rank's to leave out: a folder that it asks for, or its rank.

    LMFlow f3597db src/lmflow/pipeline/utils/raft_trainer.py:3487: `if not self.is_world_process_zero() or …: return`.
    """
    return not any(asks_existence(site) or maybe_guarded(site) for site in step.sites)


def _kept(constructor: Function) -> dict[Hashable, Parts]:
    """The paths that a constructor, and no other method, keeps in attributes: `self.folder = folder`."""
    cls = constructor.cls
    assert cls is not None
    return {
        path: parts_of(values[0], constructor)
        for name, values in assignments(constructor).items()
        if name.startswith("self.")
        and len(values) == 1
        and cls.self_assigned.get(name[5:]) == [constructor]
        for path in parts_of(ast.parse(name, mode="eval").body, constructor)
    }


def _returns(step: Step) -> bool:
    """Whether rank 0 leaves the function where it has prepared a file, with what it made."""
    blocks = (statement_with_test(step.site.function, guard.node) for guard in step.site.guards)
    return any(
        isinstance(last, ast.Return) and last.value is not None
        for block in blocks
        if block is not None
        for last in block.body[-1:]
    )


def _made_elsewhere(live: LiveProgram, function: Function, seen: set[Function]) -> bool:
    """Whether only the constructor of a class that the program makes no object of leads to a function.

    Who makes the objects may let rank 0 go first: megatron-core 0.19.2 hands its datasets' classes to
    blended_megatron_dataset_builder.py:487, which has a barrier between rank 0's and the others'.
    """
    seen.add(function)
    callers = {site.function for site in live.callers.get(function, ())}
    if not callers:
        return function.name == "__init__"
    return all(caller in seen or _made_elsewhere(live, caller, seen) for caller in callers)


def unordered(
    live: LiveProgram, main: list[Step], other: list[Step]
) -> Iterator[tuple[Step, Step]]:
    """What rank 0 prepares and another rank uses, in the order of their steps, with no wait between."""
    # Both may come to one call by different ways, and with different paths: lingua 437d680 apps/main/train.py:565,
    # where `dump_config` writes into the folder of rank 0, and later all write into another with it.
    theirs = {way(step): step for step in other if step.effect is not None and not step.chosen}
    calls = {call for call, *_ in theirs}
    waiting: list[Step] = []
    for step in main:
        if step.effect is None:
            waiting = []
            continue
        if way(step) not in theirs:
            if id(step.site.node) not in calls and _prepares(live, step):
                waiting.append(step)
            continue
        for prepared in waiting:
            if (
                _conflict(prepared, step)
                and not _made_by_others(prepared, theirs[way(step)], other)
                and not any(map(left_to_main, step.sites))
                and not _on_other_arms(prepared, step)
                and not _renamed_between(prepared, step)
            ):
                yield prepared, theirs[way(step)]
                waiting.remove(prepared)
                break


def _made_by_others(prepared: Step, used: Step, other: list[Step]) -> bool:
    """Whether another rank makes a folder, or one in it, itself before it uses it."""
    before = takewhile(lambda step: step is not used, other)
    return prepared.effect is Effect.CREATE_DIR and any(
        step.effect is Effect.CREATE_DIR and holds(prepared.path, step.path) for step in before
    )


def _renamed_between(prepared: Step, used: Step) -> bool:
    """Whether a variable that the path comes from gets another value between two calls of one function.

    StreamPETR 95f6470 projects/mmdet3d_plugin/core/apis/test.py:105: `tmpdir = tmpdir + "_mask"`.
    """
    above = zip(reversed(prepared.sites), reversed(used.sites), strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0].node is pair[1].node, above))
    if common >= min(len(prepared.sites), len(used.sites)):
        return False  # one is inside of the other
    inside = replace(prepared, through=prepared.through[: len(prepared.through) - common])
    first, second = inside.outer, list(reversed(used.sites))[common]
    function = first.function
    if function is not second.function:
        return False
    if _given_other_ends(inside, second):
        return True
    given = _given_for(inside)
    return any(
        isinstance(node.ctx, ast.Store)
        and node.id in given
        and first.node.lineno < node.lineno < second.node.lineno
        for node in own_nodes(function, ast.Name)
    )


def _given_other_ends(prepared: Step, used: CallSite) -> bool:
    """Whether two calls of a function that changes its path as well hand it paths that end in different words.

    Panoptic-SegFormer cdb9b68 easymd/apis/test.py:221: `collect(…, tmpdir + "_bbox")`, and then `tmpdir + "_segm"`.
    """
    if not prepared.through:
        return False
    call, callee = prepared.through[-1]
    if used.callee is not callee:
        return False
    for name in callee.parameters:
        if ("name", id(callee), name) in prepared.path:
            ends = [_literal_end(argument_of(site.node, callee, name)) for site in (call, used)]
            first, second = ends
            return bool(
                first
                and second
                and "/" not in first + second
                and not first.endswith(second)
                and not second.endswith(first)
            )
    return False


def _literal_end(path: ast.expr | None) -> str:
    """The text that is written out at the end of a path: `tmpdir + "_bbox"`."""
    match path:
        case ast.BinOp(op=ast.Add(), right=ast.Constant(value=str(text))):
            return text
        case ast.JoinedStr(values=[*_, ast.Constant(value=str(text))]):
            return text
        case ast.Constant(value=str(text)):
            return text
    return ""


def _given_for(step: Step) -> set[str]:
    """The variables of the function that a trace belongs to from which the path of a step comes.

    Of a parameter that its function changes as well, the path names the variable of that function.
    """
    path, outer = step.path, step.outer
    found = {
        node.id
        for node in walk(outer.node, ast.Name)
        if not set(parts_of(node, outer.function)).isdisjoint(path)
    }
    if step.through:
        _, callee = step.through[-1]
        for name in callee.parameters:
            given = argument_of(outer.node, callee, name)
            if given is not None and ("name", id(callee), name) in path:
                found |= {node.id for node in walk(given, ast.Name)}
    return found


def _on_other_arms(prepared: Step, used: Step) -> bool:
    """Whether the calls that lead to two steps stand on arms of one condition that exclude each other.

    MM-Interleaved ac539d0 mm_interleaved/engine/lmm_trainer.py:1495 and 1516: `if … == "generate_texts":` collects the
    files of all ranks and removes them, `elif … == "generate_images":` writes others. So do two conditions of one text:
    D-FINE 4a1f73a src/solver/det_solver.py:144 and 170, above and below `epoch >= stop_epoch`.
    """
    return any(
        first.function is second.function
        and (on_the_other_arm(second, first) or _contradict(first, second))
        for first, second in zip(reversed(prepared.sites), reversed(used.sites), strict=False)
    )


def _contradict(first: CallSite, second: CallSite) -> bool:
    """Whether a condition that lets one call through, and stands there twice, keeps the other one out."""
    taken = {ast.unparse(guard.node): guard.taken for guard in first.guards}
    return any(
        taken.get(ast.unparse(guard.node), guard.taken) is not guard.taken
        for guard in second.guards
        if guard.value.variance is Variance.UNIFORM
    )


def way(step: Step) -> tuple[int, ...]:
    """The calls that lead to a step, by which the ranks' steps are told to be the same."""
    return tuple(id(site.node) for site in step.sites)


def _prepares(live: LiveProgram, step: Step) -> bool:
    """Whether a step of rank 0 alone makes or removes what others may use."""
    if step.effect not in _PREPARES or not by_rank(step):
        return False
    if step.effect is not Effect.CREATE_DIR and asks_existence(step.site):
        return False
    return not in_turn(live, step.site)


def by_rank(step: Step) -> bool:
    """Whether the call, or a test of the rank here or where the function is called, keeps the others out.

    In `is_main and not skip` rank 0 is left with what it does not know, which is no test of the rank.
    """
    return step.chosen or any(
        (guard.value.variance is Variance.RANK_DEPENDENT and guard.value.truthiness() is not None)
        or (
            guard.taken
            and isinstance(guard.node, ast.BoolOp)
            and isinstance(guard.node.op, ast.And)
            and any(mentions_rank(operand) for operand in guard.node.values)
        )
        for site in (step.site, step.outer)
        for guard in site.guards
    )


def _conflict(prepared: Step, used: Step) -> bool:
    if not holds(prepared.path, used.path):
        return False
    if prepared.effect is Effect.CREATE_DIR:
        # Who creates the directory too, if need be, does not depend on rank 0, nor who asks for it:
        # nothing is in it yet (BigVGAN 7d2b454 train.py:119). A file in it that is read is of an earlier run,
        # and so is the directory (REPA 67f7145 train.py:235); one of this run has its own writer.
        return (
            used.effect is Effect.WRITE
            and prepared.path != used.path
            and not any(asks_existence(site) for site in used.sites)
            and (not asks_existence(prepared.site) or is_next(prepared, used))
        )
    if prepared.effect is Effect.DELETE:
        return used.effect in (Effect.WRITE, Effect.READ, Effect.CREATE_DIR)
    return used.effect is Effect.READ and not (
        prepared.path == used.path and _looks_for_others(used.site)
    )


_FEW_STATEMENTS: Final = 3


def is_next(prepared: Step, used: Step) -> bool:
    """Whether ranks come at once from what rank 0 prepares, in a block of its own, to the use: a few statements below.

    research-contributions 21ed8e5 DAE/Pretrain_full_contrast/main_runner.py:469: `create_logger(args.output, …)`, and the
    folder of that is made nine lines above.
    """
    first, second = prepared.outer, used.outer
    return first.function is second.function and any(
        second.statement in below[: _FEW_STATEMENTS + 1] for below in _below(first)
    )


def is_behind_a_pause(prepared: Step, used: Step) -> bool:
    """Whether ranks sleep between what rank 0 prepares, in a block of its own, and the use: a folder is there by then.

    cvpr2024-face-anti-spoofing-challenge e18dae6 train_dist.py:131: `time.sleep(3)  # ensure dir create success`.
    """
    first, second = prepared.outer, used.outer
    return first.function is second.function and any(
        second.statement in below and any(map(_is_pause, below[: below.index(second.statement)]))
        for below in _below(first)
    )


def _is_pause(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=called, args=[ast.Constant(value=int(seconds))])):
            return last_name(called) == "sleep" and seconds > 0
    return False


def _below(site: CallSite) -> Iterator[list[ast.stmt]]:
    """What stands below a test of the rank around a call, in its block."""
    function = site.function
    for guard in site.guards:
        block = statement_with_test(function, guard.node) if not guard.exits else None
        if block is not None and mentions_rank(guard.node):
            nodes = (node for node in own_nodes(function) if isinstance(node, ast.stmt))
            inner = (each for node in nodes for each in blocks_of(node))
            for beside in (function.body, *inner):
                if block in beside:
                    yield beside[beside.index(block) + 1 :]


def _looks_for_others(site: CallSite) -> bool:
    """Whether a search of a folder is for files by a name of theirs: a model that is saved there has its own.

    axolotl 067b021 src/axolotl/utils/train.py:26: `Path(cfg.output_dir).glob("checkpoint-*")`.
    """
    match site.node:
        case ast.Call(func=ast.Attribute(attr="glob"), args=[ast.Constant(value=str() as pattern)]):
            return not pattern.startswith("*")
    return False
