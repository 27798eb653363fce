"""Whether the process group is there where a fix would use it, on every way to the place."""

from __future__ import annotations

import ast
import enum

from distlint.analysis.interpreter.ir import CallSite
from distlint.analysis.live.joint_entry import PROCESS_GROUP_STARTS
from distlint.analysis.live.program import LiveProgram
from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Class, Function, last_name
from distlint.analysis.program.syntax import own_nodes
from distlint.knowledge import facts
from distlint.knowledge.schema import Effect
from distlint.nodes import walk


class Group(enum.IntEnum):
    """What is known of the process group at a place; the smallest of several ways counts."""

    LATER = 0
    """It is made further down: before, every process takes itself for the only one."""
    UNKNOWN = 1
    MAYBE = 2
    """Made where there are several processes: under a condition, or by a class that asks for them."""
    MADE = 3
    """On every way here something made it, or would have failed without it."""


_MADE_WHERE_NEEDED = frozenset(
    {
        "accelerate.Accelerator",
        "accelerate.PartialState",
        "transformers.TrainingArguments",
        "transformers.Seq2SeqTrainingArguments",
        "transformers.HfArgumentParser.parse_args_into_dataclasses",
    }
)
"""What makes the group only where a launcher says that there are several processes (accelerate 1.15.0
state.py, transformers training_args.py `_setup_devices`)."""

_GIVEN_TO_FIT = frozenset(
    {"lightning.pytorch.LightningModule", "lightning.pytorch.LightningDataModule"}
)
_STARTS = frozenset({*PROCESS_GROUP_STARTS, "deepspeed.initialize"})
_ASKS = frozenset({"torch.distributed.get_rank", "torch.distributed.get_world_size"})


def group_at(model: Model, function: Function, line: int, conditions: frozenset[int]) -> Group:
    """What is known of the process group in front of a line of a function.

    Args:
        model: the analysed project.
        function: what holds the line.
        line: the line.
        conditions: the tests (`conditions_of`) that hold there.

    Returns:
        The least that holds on any way that the project shows. A function that nothing calls may be
        called by anybody.
    """
    return _before(model, function, line, conditions, frozenset())


def conditions_of(site: CallSite) -> frozenset[int]:
    """The tests under which a call is made and that the analysis cannot decide."""
    return frozenset(
        id(guard.node)
        for guard in site.guards
        if not guard.exits and guard.value.truthiness() is None
    )


def _before(
    model: Model,
    function: Function,
    line: int,
    conditions: frozenset[int],
    seen: frozenset[Function],
) -> Group:
    if function in seen:
        return Group.MADE  # a recursive call: the other ways decide
    seen |= {function}
    above = [
        min(made, Group.MADE if conditions_of(site) <= conditions else Group.MAYBE)
        for site in _calls(model, function)
        if (site.statement.end_lineno or site.statement.lineno) < line
        and (made := _made_by(model, site, frozenset())) > Group.UNKNOWN
    ]
    if above:
        return max(above)
    ways = [
        _before(model, site.function, site.statement.lineno, conditions_of(site), seen)
        for site in model.answer(callers_by_function).get(function, ())
    ]
    known = min(ways, default=Group.UNKNOWN)
    if _is_built_before_fit(model, function):
        return Group.LATER
    if known < Group.MAYBE and _later(model, function, line):
        return Group.LATER
    return known


def _is_built_before_fit(model: Model, function: Function) -> bool:
    """Whether a function is the constructor of what Lightning's `fit()` is given: the group is made there.

    LoRA c4593f0 examples/NLU/examples/research_projects/rag/finetune_rag.py: `pickle_save()` in `__init__`, where the
    launcher of the other ranks has set no RANK.
    """
    if function.name != "__init__" or function.cls is None:
        return False
    bases = facts.with_bases(tuple(model.program.mro(function.cls)[1]))
    return not _GIVEN_TO_FIT.isdisjoint(bases)


def _later(model: Model, function: Function, line: int) -> bool:
    """Whether a function makes the group below a line (ijepa src/train.py:129)."""
    return any(
        _starts(model, site, set())
        for site in _calls(model, function)
        if site.node.lineno > line
        and (site.statement.end_lineno or 0) > line
        and site.statement.lineno > line
    )


def _starts(model: Model, site: CallSite, seen: set[Function]) -> bool:
    """Whether a call makes the group, by syntax where runs are not followed."""
    if site.name in _STARTS or _makes_where_needed(model, site):
        return True
    function = _run_by(model, site)
    return function is not None and not _keeps_one(function) and _makes(model, function, seen)


def _keeps_one(function: Function) -> bool:
    """Whether a function makes what a global keeps, where that is missing: any call further up may have been the first.

    ai-toolkit 27a03a9 toolkit/accelerator.py: `get_accelerator()`, which run.py asks as it is imported.
    """
    for node in own_nodes(function):
        match node:
            case (
                ast.If(test=ast.Compare(left=ast.Name(id=kept), ops=[ast.Is()]))
                | ast.If(test=ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=kept)))
            ) if kept in function.module.assigned:
                if any(
                    isinstance(n, ast.Name) and n.id == kept and isinstance(n.ctx, ast.Store)
                    for statement in node.body
                    for n in walk(statement)
                ):
                    return True
    return False


def _makes_where_needed(model: Model, site: CallSite) -> bool:
    """Whether a call makes the group where a launcher asks for several processes, in a base of its class perhaps.

    sentence-transformers examples/sentence_transformer/training/distillation/model_distillation.py:172:
    `SentenceTransformerTrainingArguments(...)`.
    """
    meaning = model.resolve(site.module, site.node.func) if site.callee is None else None
    bases = model.program.mro(meaning)[1] if isinstance(meaning, Class) else ()
    return not _MADE_WHERE_NEEDED.isdisjoint(facts.with_bases((site.name, *bases)))


def _run_by(model: Model, site: CallSite) -> Function | None:
    """The function of the project that a call runs: of a class, its `__init__`.

    F5-TTS src/f5_tts/train/finetune_cli.py:183: `Trainer(…)` makes the accelerator.
    """
    if site.callee is not None:
        return site.callee
    meaning = model.resolve(site.module, site.node.func)
    if not isinstance(meaning, Class):
        return None
    own, _ = model.program.mro(meaning)
    return next((c.methods["__init__"] for c in own if "__init__" in c.methods), None)


def _makes(model: Model, function: Function, seen: set[Function]) -> bool:
    if function in seen:
        return False
    seen.add(function)
    names = {name.rpartition(".")[2] for name in PROCESS_GROUP_STARTS}
    if any(isinstance(n, ast.Call) and last_name(n.func) in names for n in walk(function.node)):
        return True
    return any(_starts(model, site, seen) for site in _calls(model, function))


def _made_by(model: Model, site: CallSite, seen: frozenset[Function]) -> Group:
    """What a call that has come back says of the group."""
    if site.name in _STARTS or site.name in _ASKS:
        return Group.MADE
    if site.name.startswith("torch.distributed.") and any(
        row.effect is Effect.COLLECTIVE for row in site.rows
    ):
        return Group.MADE  # without a group it raises
    if _makes_where_needed(model, site):
        return Group.MAYBE
    function = _run_by(model, site)
    if function is None or function in seen or function.is_generator:
        return Group.UNKNOWN
    return max(
        (
            min(
                _made_by(model, each, seen | {function}),
                Group.MAYBE if conditions_of(each) else Group.MADE,
            )
            for each in _calls(model, function)
        ),
        default=Group.UNKNOWN,
    )


def _calls(model: Model, function: Function) -> list[CallSite]:
    """The calls that some rank makes in a function."""
    return model.answer(calls_by_function).get(function, [])


def calls_by_function(live: LiveProgram) -> dict[Function, list[CallSite]]:
    """Every call that some rank makes, by the function that it stands in; each once."""
    found: dict[Function, list[CallSite]] = {}
    for function in live.program.functions():
        summaries = live.summaries_of(function)
        sites = {
            id(site.node): site
            for _, summary in (summaries.summaries() if summaries is not None else ())
            for site in summary.calls
        }
        if sites:
            found[function] = list(sites.values())
    return found


def callers_by_function(live: LiveProgram) -> dict[Function, list[CallSite]]:
    """Every call that some rank makes, by the function of the project that is called."""
    found: dict[Function, dict[int, CallSite]] = {}
    for function in live.program.functions():
        summaries = live.summaries_of(function)
        for _, summary in summaries.summaries() if summaries is not None else ():
            for site in summary.calls:
                if site.callee is not None:
                    found.setdefault(site.callee, {})[id(site.node)] = site
    return {function: list(sites.values()) for function, sites in found.items()}
