"""Whether the process group is there where a fix would use it, on every way to the place."""

from __future__ import annotations

import ast
from dataclasses import field

from distlint.analysis.interpreter.ir import CallSite
from distlint.analysis.live.program import LiveProgram
from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Class, Function, last_name
from distlint.analysis.program.syntax import own_nodes
from distlint.knowledge import facts
from distlint.knowledge.schema import Effect
from distlint.nodes import walk
from distlint.records import dataclass
from distlint.repairs.group_flow import Group, GroupFlow
from distlint.repairs.meeting import calls_of

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
_STARTS = facts.GROUP_STARTS | {"deepspeed.initialize"}
GROUP_QUESTIONS = frozenset({"torch.distributed.get_rank", "torch.distributed.get_world_size"})
"""What raises where there is no group."""


def group_at(model: Model, function: Function, line: int) -> Group:
    """What is known of the process group in front of a line of a function, in every run of the script.

    One process that no launcher started is such a run, and the most common one: what `world_size > 1`,
    `local_rank != -1` or `is_initialized()` lets through is not on its way (lightweight-gan efbec45
    lightweight_gan/cli.py:46: `if is_ddp:` makes the group, and `run_training(0, 1, …)` has none).

    Args:
        model: the analysed project.
        function: what holds the line.
        line: the line.

    Returns:
        The least that holds on any way that the project shows. A function that nothing calls may be
        called by anybody.
    """
    return _before(model, function, line, frozenset())


def made_below(
    model: Model, function: Function, line: int, seen: frozenset[Function] = frozenset()
) -> CallSite | None:
    """The call that makes the group behind a line, in the function itself or in one that has led to it before.

    Args:
        model: the analysed project.
        function: what holds the line.
        line: the line.

    Returns:
        The call; None where the group is there on every way, or nothing shows that it is made.
    """
    if function in seen or group_at(model, function, line) is not Group.LATER:
        return None
    sites = sorted(_calls(model, function), key=lambda site: site.node.lineno)
    for site in sites:
        if line < site.statement.lineno and line < site.node.lineno and _starts(model, site, set()):
            return site
    for way in _callers(model, function):
        found = made_below(model, way.function, way.line, seen | {function})
        if found is not None:
            return found
    return None


def may_be_made_above(model: Model, function: Function, line: int) -> bool:
    """Whether a call further up in a function makes the group in some run, itself or in what it calls.

    neuraloperator 7292dc2 scripts/train_darcy.py:102: `setup(config)` at the top of the script, under the option that
    also asks for the rank.
    """
    return any(
        (site.statement.end_lineno or site.statement.lineno) < line and _starts(model, site, set())
        for site in _calls(model, function)
    )


def tests_of_group(model: Model, function: Function, line: int) -> list[str]:
    """Tests, as written, under each of which the group is there in front of a line, as the function itself shows.

    lightweight-gan efbec45 lightweight_gan/cli.py:46: `is_ddp`, under which `run_training()` made it.
    """
    flow = GroupFlow(model, lambda user, call: _made_by(model, user, call, frozenset()))
    return flow.tests_at(function, line)


def _before(model: Model, function: Function, line: int, seen: frozenset[Function]) -> Group:
    if function in seen:
        return Group.MADE  # a recursive call: the other ways decide
    seen |= {function}
    here = _above(model, function, line)
    if here is Group.MADE:
        return here
    ways = [_before(model, way.function, way.line, seen) for way in _callers(model, function)]
    known = min(ways, default=Group.UNKNOWN)
    if here is Group.MAYBE:
        known = max(here, known)
    elif _is_built_before_fit(model, function) or (
        known < Group.MAYBE and _later(model, function, line)
    ):
        return Group.LATER
    if known is Group.MADE and _is_called_besides(model, function):
        return Group.UNKNOWN
    return known


def _above(model: Model, function: Function, line: int) -> Group:
    """What is known in front of a line by what stands above it in the function: asked for each fix below a caller."""
    known = model.answer(_Known).above
    if (function, line) not in known:
        flow = GroupFlow(model, lambda user, call: _made_by(model, user, call, frozenset()))
        known[function, line] = flow.at(function, line)
    return known[function, line]


@dataclass(frozen=True, slots=True)
class _Way:
    """A statement that runs a function."""

    function: Function
    line: int


def _callers(model: Model, function: Function) -> list[_Way]:
    sites = model.answer(callers_by_function).get(function, ())
    return list(dict.fromkeys(_Way(site.function, site.statement.lineno) for site in sites))


def _is_called_besides(model: Model, function: Function) -> bool:
    """Whether a call that no rank of several makes runs a function: `if world_size == 1: train(0)`, or a pool does."""
    followed = {id(site.node) for site in model.answer(callers_by_function).get(function, ())}
    return any(id(call) not in followed for _, call in calls_of(model, function))


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
    for node in own_nodes(function, ast.If):
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
    if any(
        last_name(node.func) in facts.GROUP_START_WORDS for node in walk(function.node, ast.Call)
    ):
        return True
    return any(_starts(model, site, seen) for site in _calls(model, function))


def _made_by(model: Model, user: Function, call: ast.Call, seen: frozenset[Function]) -> Group:
    """What a call that has come back says of the group, whatever arguments it had."""
    if sites := model.answer(_sites_by_node).get(id(call), ()):
        return min(_made_at(model, site, seen) for site in sites)
    # No rank of several makes it: below `not is_initialized()`, for one.
    meaning = model.resolve(user.module, call.func)
    if isinstance(meaning, Function):
        return _left_by(model, meaning, seen)
    return Group.MADE if meaning in _STARTS or meaning in GROUP_QUESTIONS else Group.UNKNOWN


def _made_at(model: Model, site: CallSite, seen: frozenset[Function]) -> Group:
    if site.name in _STARTS or site.name in GROUP_QUESTIONS:
        return Group.MADE
    if site.name.rpartition(".")[0] == "torch.distributed" and any(
        row.effect is Effect.COLLECTIVE for row in site.rows
    ):
        return Group.MADE  # without a group it raises
    if _makes_where_needed(model, site):
        return Group.MAYBE
    function = _run_by(model, site)
    return Group.UNKNOWN if function is None else _left_by(model, function, seen)


def _left_by(model: Model, function: Function, seen: frozenset[Function]) -> Group:
    """What is known of the group where a function has come back."""
    if function in seen or function.is_generator:
        return Group.UNKNOWN
    known = model.answer(_Known).behind
    if function not in known:
        inside = seen | {function}
        flow = GroupFlow(model, lambda user, call: _made_by(model, user, call, inside))
        known[function] = flow.behind(function)
    return known[function]


@dataclass(slots=True)
class _Known:
    """What is known of the group as far as it was asked: in front of lines, and behind a call of each function."""

    live: LiveProgram
    above: dict[tuple[Function, int], Group] = field(default_factory=dict)
    behind: dict[Function, Group] = field(default_factory=dict)


def _sites_by_node(live: LiveProgram) -> dict[int, list[CallSite]]:
    """Every call that some rank makes, by the `id` of its node; one for each function that it runs."""
    found: dict[int, dict[object, CallSite]] = {}
    for function in live.program.functions():
        summaries = live.summaries_of(function)
        for _, summary in summaries.summaries() if summaries is not None else ():
            for site in summary.calls:
                found.setdefault(id(site.node), {})[site.callee or site.name] = site
    return {node: list(sites.values()) for node, sites in found.items()}


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
