"""What is lost, or fails, where all ranks write one file: the witness without which it is no more than untidy.

That all ranks write the same few lines does no harm where nothing reads them in the run, and whether they do cannot be
shown in most cases. So a write by all ranks counts as a defect where something shows the harm, and not where nothing
shows that there is none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.values import Variance
from distlint.analysis.program.definitions import Class, dotted_name
from distlint.analysis.program.handed import argument_of, calls_of
from distlint.analysis.program.places import related
from distlint.analysis.program.syntax import (
    assignments,
    mentions_rank,
    own_nodes,
    target_names,
)
from distlint.analysis.questions.contents import (
    is_fetched,
    is_handle,
    is_large,
    left_to_main,
    while_open,
    written,
)
from distlint.analysis.questions.filesystem import (
    FileCall,
    batch_names,
    counts_processes,
    handle_of,
    mode_of,
    tolerated,
)
from distlint.analysis.questions.held_by_main import filled_by_some
from distlint.analysis.questions.read_back import read_back
from distlint.analysis.questions.seeding import drawn_by_each
from distlint.analysis.questions.shares.program import shares
from distlint.findings import Related
from distlint.knowledge import sinks
from distlint.knowledge.schema import Effect
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function


@dataclass(frozen=True, slots=True)
class Harm:
    """What happens when several ranks write a file: a clause for messages, and where that shows.

    `of_share` says whether each has a part of the data in it, so that one writer would leave out the rest.
    """

    text: str
    at: tuple[Related, ...] = ()
    of_share: bool = False


OVERWRITTEN: Final = "what is left of the file is whatever the ranks happened to write last"
_RUNS_MODEL: Final = pattern(
    r"(?i)generate|forward|infer|predict|model|sample|decode|translate|transcribe|chat|loss|step"
)
"""Last names of calls that take long, and as long as the rank's own data want."""
_COUNTS: Final = pattern(r"range\(|epoch", re.IGNORECASE)
"""What a loop runs through that counts how often all of the data is gone through."""
_ON_MAIN: Final = pattern(r"on_(?:main|master)|rank_?zero|rank_?0|(?:main|master)_only")
"""Names of functions that rank 0 alone does something in: `save_on_master`, not NSVF's `_main(args, file)`."""
_DISPLAYS: Final = (ast.Dict, ast.List, ast.Tuple, ast.JoinedStr)
_LOGS: Final = pattern(r"(?i)handler$|^add_sink$")
"""What writes into an open file as long as the process runs."""


def harm_of(live: LiveProgram, found: FileCall) -> Harm | None:
    """What shows that several ranks which write a file do harm; None where nothing does."""
    if found.effect is Effect.UPLOAD:
        return Harm("each makes a commit of its own")
    witnesses = _OF_MAIN if _parts_of_main(found) else _WITNESSES
    return next((harm for each in witnesses if (harm := each(live, found)) is not None), None)


def _fails(_: LiveProgram, found: FileCall) -> Harm | None:
    """Calls that raise an error where the first rank has made what they make."""
    if "x" in mode_of(found.site) or (
        found.site.name in sinks.FAIL_WHERE_THERE and not tolerated(found.site)
    ):
        return Harm("the first rank makes it and the others raise FileExistsError")
    return None


def _is_fetched(_: LiveProgram, found: FileCall) -> Harm | None:
    if not is_fetched(found):
        return None
    return Harm("one that comes a little later finds half of what another is still fetching")


def _is_a_share(live: LiveProgram, found: FileCall) -> Harm | None:
    """What a rank has made of its part of the data: that of the others is lost.

    SWivid/F5-TTS 2ae2c9b src/f5_tts/runtime/triton_trtllm/benchmark.py:467: totals of a DistributedSampler's part.
    """
    if _is_left_by_the_last_turn(live, found):
        return None
    known = live.answer(shares)
    held = [known.of(node) for each in _parts(found) for node in walk(each) if _is_expr(node)]
    of_share = next((each for each in held if each.is_share), None)
    if of_share is not None:
        return Harm("each has another part of the data: one part is left", of_share.began, True)
    if _divides_itself(found.function) or _is_of_the_batch(found):
        return Harm("each has another part of the data: one part is left", (), True)
    return None


def _is_left_by_the_last_turn(live: LiveProgram, found: FileCall) -> bool:
    """Whether whoever calls a function does so at each turn of a loop, with one path and what that turn has made.

    One process writes over what it has written as well: what is left is no rank's part. PixArt-alpha cac2fd3
    tools/extract_features.py:251: `save_results(results, path, …)` for each batch opens `VAE-….txt` with "w".
    """
    function, path = found.function, found.path
    if function.is_module_body or path is None or "a" in mode_of(found.site):
        return False
    own = _names_in(path) - set(function.module.imports)
    calls = calls_of(live.program, function)
    return (
        own <= set(function.parameters)
        and bool(calls)
        and all(_is_of_one_turn(user, call, function, own) for user, call in calls)
    )


def _is_of_one_turn(user: Function, call: ast.Call, function: Function, of_path: set[str]) -> bool:
    """Whether a call stands in a loop through data, and is handed what is made of its element, and a path of all turns."""
    turns = [n for n in own_nodes(user, ast.For) if call in walk(n)]
    if len(turns) != 1 or _COUNTS.search(ast.unparse(turns[0].iter)):
        return False
    stores = {n for n in own_nodes(user, ast.Name) if isinstance(n.ctx, ast.Store)}
    inside = set(walk(turns[0]))
    of_element = set(target_names(turns[0].target))
    while (
        more := {
            name
            for node in inside
            if isinstance(node, ast.Assign) and not of_element.isdisjoint(_names_in(node.value))
            for target in node.targets
            for name in target_names(target)
        }
        - of_element
    ):
        of_element |= more
    of_element -= {n.id for n in stores - inside} | set(user.parameters)
    handed: dict[bool, set[str]] = {True: set(), False: set()}
    for name in function.parameters:
        argument = argument_of(call, function, name)
        handed[name in of_path] |= _names_in(argument) if argument is not None else set()
    made = {n.id for n in stores & inside}
    return bool(handed[False]) and handed[True].isdisjoint(made) and handed[False] <= of_element


def _names_in(node: ast.AST) -> set[str]:
    return {each.id for each in walk(node, ast.Name)}


def _parts(found: FileCall) -> list[ast.AST]:
    return [found.site.statement, *written(found)]


def _is_expr(node: ast.AST) -> bool:
    return isinstance(node, ast.expr)


def _divides_itself(function: Function) -> bool:
    """Whether a function asks a library for the part of the data of a rank: what it writes at its end is of that part.

    av_hubert 258fb50 avhubert/infer_s2s.py:162: `task.get_batch_iterator(…, num_shards=…, shard_id=…)`.
    """
    return any(
        {"num_shards", "shard_id"} <= {k.arg for k in node.keywords}
        for node in own_nodes(function, ast.Call)
    )


def _is_of_the_batch(found: FileCall) -> bool:
    """Whether what is written comes from the batch that a trainer hands to a hook."""
    batches = batch_names(found.function)
    return bool(batches) and any(
        isinstance(node, ast.Name) and node.id in batches
        for each in written(found)
        for node in walk(each)
    )


def _is_drawn(live: LiveProgram, found: FileCall) -> Harm | None:
    """Random numbers that no seed makes the same on all ranks.

    sony/ctm 87cca3b code/classifier_rejection.py:259: an array in an order that each rank has drawn for itself.
    """
    draw = drawn_by_each(live, found.function, written(found))
    if draw is None:
        return None
    at = (related(found.site.module, draw, "each rank draws other numbers here"),)
    return Harm("each writes what it has drawn itself: what is left may be a mixture", at)


def _is_its_own(live: LiveProgram, found: FileCall) -> Harm | None:
    """What says which rank has written it, or how long that has taken: ranks write other lines, of another length."""
    text = "each writes other lines, of another length: what is left may be a mixture"
    if found.site.name in sinks.OWN_LINES:
        return Harm(text)
    for each in written(found):
        shown = [part for whole in _put_together(live, found, each) for part in _shown(whole)]
        if any(counts_processes(part) or _is_measured(live, part, found.site) for part in shown):
            return Harm(text)
    values = (*found.site.args, *found.site.keywords.values())
    if any(value.variance is Variance.RANK_DEPENDENT for value in values):
        return Harm(text)
    return None


def _put_together(live: LiveProgram, found: FileCall, node: ast.expr) -> list[ast.AST]:
    """What is written, with what a variable of it was put together of once, and what objects of the program were given."""
    wholes: list[ast.AST] = [node]
    for part in walk(node, ast.Name, ast.Call):
        if isinstance(part, ast.Name):
            made = assignments(found.function).get(part.id, ())
            wholes += [m for m in made if len(made) == 1 and isinstance(m, _DISPLAYS)]
        elif isinstance(live.resolve(found.site.module, part.func), Class):
            wholes += [*part.args, *(keyword.value for keyword in part.keywords)]
    return wholes


def _shown(node: ast.AST) -> list[ast.AST]:
    """An expression and the parts of it that are written as they are: not what functions are told."""
    found: list[ast.AST] = []
    stack = [node]
    while stack:
        part = stack.pop()
        found.append(part)
        if isinstance(part, ast.Call):
            if last_name(part.func) in sinks.KEEP_LINES:
                stack += [*part.args, *(keyword.value for keyword in part.keywords)]
        else:
            stack += ast.iter_child_nodes(part)
    return found


def _is_measured(live: LiveProgram, node: ast.AST, site: CallSite) -> bool:
    """Whether a variable holds what a trainer's `evaluate()` returns: with it comes how long this rank took.

    princeton-nlp/CEPE train.py:657: `json.dump(metrics, f)` behind `metrics = trainer.evaluate()`.
    """
    made = assignments(site.function).get(node.id, ()) if isinstance(node, ast.Name) else ()
    calls = (live.call_at(each) for each in made if isinstance(each, ast.Call))
    return any(
        row.name in sinks.TIMED for call in calls if call is not None for row in call.site.rows
    )


def _is_filled_by_one(_: LiveProgram, found: FileCall) -> Harm | None:
    """A collection that some ranks alone put anything into: the others write it empty.

    LongVA f4c8781 vision_niah/eval_vision_niah.py:265: `if accelerator.is_main_process: all_accuries.append(result)`.
    """
    filled = filled_by_some((found.function,))
    names = {
        part.id for each in written(found) for part in _shown(each) if isinstance(part, ast.Name)
    }
    where = [filled[name] for name in sorted(names & filled.keys())]
    if not where:
        return None
    at = (related(found.site.module, where[0], "not every rank puts anything into it"),)
    return Harm("those that have put nothing into it leave it empty", at)


def _is_mapped(_: LiveProgram, found: FileCall) -> Harm | None:
    """An array in a file that each rank makes anew, and that all map as one.

    TinyBERT of huawei-noah/Pretrained-Language-Model 0598f02 general_distill.py:125: `np.memmap(…, mode="w+")`.
    """
    row = sinks.OPENS.get(found.site.name)
    if row is None or not row.maps:
        return None
    return Harm("each sets to zero what another has filled in, and may be reading")


def _is_read(live: LiveProgram, found: FileCall) -> Harm | None:
    if "+" in mode_of(found.site):
        return Harm("each has read it before: what another has added meanwhile is lost")
    place = read_back(live, found)
    if place is None:
        return None
    module, node = place
    line = getattr(node, "lineno", 0)
    where = f"line {line}" if module is found.site.module else f"{module.path}:{line}"
    at = (related(module, node, "read here"),)
    return Harm(f"a rank that reads it ({where}) may find it empty or half written", at)


def _is_emptied(live: LiveProgram, found: FileCall) -> Harm | None:
    """A file that each rank opens, and empties, though rank 0 alone writes into it.

    d2go f4ac156 projects_oss/detr/main.py:342: `with PathManager.open(path, "wb") as f:`, and `if args.gpu == 0 and …:`
    around the save. Not where a model answers in between, or all ranks meet: who comes that late has done neither.
    TencentPretrain ed79843 scripts/generate_lm_deepspeed.py:67: a text is generated behind `open(…, "w")`.
    """
    parts = _parts_of_main(found)
    first = min((part.lineno for part in parts), default=0)
    if not parts or _runs_model_above(found.site, first) or _meets_above(live, found.site, first):
        return None
    return Harm("one that opens it a little later empties what rank 0 has written by then")


def _runs_model_above(site: CallSite, line: int) -> bool:
    """Whether a loop in front of a line runs a model while a file is open, or what a loop around it goes through does.

    FlagAI 9a885f3 examples/h3t/baseline/megatron/text_generation_utils.py:377: `for datum in generate_samples(…):`.
    """
    return any(
        isinstance(node, ast.Call) and _RUNS_MODEL.search(last_name(node.func))
        for loop in while_open(site)
        if isinstance(loop, ast.For | ast.While) and site.node.lineno < loop.lineno < line
        for part in (
            [loop]
            if (loop.end_lineno or loop.lineno) < line
            else [loop.iter]
            if isinstance(loop, ast.For)
            else []
        )
        for node in walk(part)
    )


def _meets_above(live: LiveProgram, site: CallSite, line: int) -> bool:
    """Whether all ranks meet in a collective in front of a line while a file is open."""
    passed = {id(guard.node) for guard in site.guards}
    return any(
        isinstance(node, ast.Call)
        and site.node.lineno < node.lineno < line
        and (call := live.call_at(node)) is not None
        and any(row.effect is Effect.COLLECTIVE for row in call.site.rows)
        and passed.issuperset(id(guard.node) for guard in call.site.guards)
        for node in while_open(site)
    )


def _parts_of_main(found: FileCall) -> list[ast.If | ast.Call]:
    """What rank 0 alone does with a file that all open; nothing where the others do anything with it, too."""
    site = found.site
    handle = handle_of(site)
    if site.name not in sinks.OPENS or handle is None:
        return []
    nodes = list(while_open(site))
    uses = {
        id(node)
        for node in nodes
        if isinstance(node, ast.Name) and node.id == handle and isinstance(node.ctx, ast.Load)
    }
    held = {
        part: {id(inner) for inner in walk(part)} & uses
        for part in nodes
        if isinstance(part, ast.If | ast.Call) and _is_left_to_main(part)
    }
    left = {use for inside in held.values() for use in inside}
    return [part for part, inside in held.items() if inside] if left == uses else []


def _is_left_to_main(node: ast.If | ast.Call) -> bool:
    """Whether a statement or a call does something on rank 0 alone: `if rank == 0:`, `save_on_master(…)`."""
    match node:
        case ast.If(test=test, orelse=[]):
            return mentions_rank(test)
        case ast.Call(func=called):
            return _ON_MAIN.search(last_name(called)) is not None
    return False


def _stays_open(_: LiveProgram, found: FileCall) -> Harm | None:
    """A file that each rank empties and then writes into for long: a log, or answers of a model one after the other.

    MoE-LLaVA 6cb5f66 moellava/eval/model_vqa.py:45; NSVF fairnr_cli/render_multigpu.py:32, by `StreamHandler(file)`.
    """
    site = found.site
    if site.name not in sinks.OPENS:
        return None
    if site.name == "logging.FileHandler" and _is_quiet_elsewhere(site.function):
        return None
    if site.name == "logging.FileHandler" or _is_kept(site) or _is_filled_slowly(site):
        return Harm(
            "each writes from its own place in it: the lines of one stand over those of the others"
        )
    return None


def _is_quiet_elsewhere(function: Function) -> bool:
    """Whether a function lets one rank alone log what is no warning: the others leave the file empty mostly.

    SimXNS 0163380 MASTER/finetune/MS/co_training_model.py:702: `logger.setLevel(logging.INFO if args.local_rank in [-1, 0]
    else logging.WARN)`.
    """
    return any(
        last_name(node.func) == "setLevel"
        and any(isinstance(each, ast.IfExp) and mentions_rank(each.test) for each in node.args)
        for node in own_nodes(function, ast.Call)
    )


def _is_kept(site: CallSite) -> bool:
    """Whether an open file is kept in an attribute, or given to what logs into it."""
    handle = handle_of(site)
    if any(
        isinstance(node.targets[0], ast.Attribute) and is_handle(node.value, handle, site)
        for node in own_nodes(site.function, ast.Assign)
    ):
        return True
    return handle is not None and _is_logged_into(site.function, handle)


def _is_logged_into(function: Function, name: str, depth: int = 1) -> bool:
    """Whether a variable is what a logger writes into, in a function or one of its file that it is handed to."""
    for node in own_nodes(function):
        if not isinstance(node, ast.Call):
            continue
        streams = [k.value for k in node.keywords if k.arg == "stream"]
        given = [*streams, *(node.args if _LOGS.search(last_name(node.func)) else ())]
        if any(isinstance(each, ast.Name) and each.id == name for each in given):
            return True
        called = function.module.functions.get(dotted_name(node.func)) if depth else None
        if called is not None:
            for parameter in called.parameters:
                argument = argument_of(node, called, parameter)
                is_it = isinstance(argument, ast.Name) and argument.id == name
                if is_it and _is_logged_into(called, parameter, depth - 1):
                    return True
    return False


def _is_filled_slowly(site: CallSite) -> bool:
    """Whether a loop that runs a model writes into an open file at each turn."""
    handle = handle_of(site)
    for loop in while_open(site):
        if not isinstance(loop, ast.For | ast.While):
            continue
        nodes = [node for statement in loop.body for node in walk(statement)]
        on_main = left_to_main(nodes, site)
        writes = any(
            isinstance(node, ast.expr)
            and node is not site.node
            and node not in on_main
            and is_handle(node, handle, site)
            for node in nodes
        )
        runs = any(
            isinstance(node, ast.Call) and _RUNS_MODEL.search(last_name(node.func))
            for node in nodes
        )
        if handle is not None and writes and runs:
            return True
    return False


def _goes_to_hub(_: LiveProgram, found: FileCall) -> Harm | None:
    """A call that also uploads what it writes."""
    value = found.site.keywords.get("push_to_hub")
    if value is None or value.truthiness() is False:
        return None
    return Harm("each uploads it in a commit of its own")


def _is_large(live: LiveProgram, found: FileCall) -> Harm | None:
    return Harm(OVERWRITTEN) if is_large(live, found) else None


_WITNESSES: Final[tuple[Callable[[LiveProgram, FileCall], Harm | None], ...]] = (
    _fails,
    _is_fetched,
    _is_a_share,
    _is_drawn,
    _is_its_own,
    _is_filled_by_one,
    _is_mapped,
    _is_emptied,
    _is_read,
    _stays_open,
    _goes_to_hub,
    _is_large,
)
"""What shows a harm, what tells most about it first."""
_OF_MAIN: Final = (_fails, _is_fetched, _is_a_share, _is_emptied, _is_read)
"""What shows a harm where the other ranks only open the file: nothing of theirs is in it."""
