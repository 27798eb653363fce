"""What rank 0 does alone: the calls that it makes, and what stands under a condition that lets no other rank in."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.handed import argument_of, calls_of
from distlint.analysis.program.options import options_of
from distlint.analysis.program.syntax import (
    default_of,
    literals,
    mentions_rank,
    own_nodes,
    statement_with_test,
)
from distlint.analysis.questions.fixed_options import set_in
from distlint.analysis.questions.wrapped import asks_for_launch
from distlint.knowledge.ranks import ARGUMENT_NAMES
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Class, Function, Module

_FIRST = frozenset({"rank", "local_rank", "global_rank", "gpu", "gpu_id", "process_index"})
"""Names of what is 0 on the first rank of a machine, or of all."""
_PUTS: Final = frozenset({"append", "extend", "add", "update"})
_OF_MAIN: Final = pattern(r"(?i)is_(?:main|master|primary|rank_?zero)")


def on_main_alone(live: LiveProgram, node: ast.AST) -> bool:
    """Whether rank 0 alone makes a call."""
    group = live.call_at(node)
    return group is not None and group.classes == {MAIN}


def entered_by_main_alone(live: LiveProgram, function: Function) -> bool:
    """Whether rank 0 alone comes into a function, from each place that calls it.

    SpeechTokenizer 30c96fb speechtokenizer/trainer/trainer.py:213: `save()`, called under `if self.is_main`.
    """
    summaries = live.summaries_of(function)
    return summaries is not None and set(summaries.classes) == {MAIN}


def called_by_main_alone(live: LiveProgram, function: Function, depth: int = 2) -> bool:
    """Whether rank 0 alone makes all calls of a function that the program has, or all that lead to them.

    reward_fm 0a8f668 rfm/utils/save.py:494 and 621: `on_evaluate()` comes to either behind the return of the others.
    """
    calls = calls_of(live.program, function)
    return bool(calls) and all(
        _is_behind_question(live, call)
        or (depth > 0 and called_by_main_alone(live, user, depth - 1))
        for user, call in calls
    )


def _is_behind_question(live: LiveProgram, call: ast.Call) -> bool:
    group = live.call_at(call)
    return group is not None and (group.classes == {MAIN} or left_to_flag(live, group.site, 0))


def is_flag_of_main(live: LiveProgram, function: Function, test: ast.expr) -> bool:
    """Whether a condition is an attribute that the constructor of the class, or of a base, clears on all other ranks.

    VL-T5 (NVlabs/DoRA 7e2f10a) src/trainer_base.py:171: `if self.args.gpu != 0: self.verbose = False`.
    """
    match test:
        case ast.Attribute(value=ast.Name(id="self"), attr=flag) if function.cls is not None:
            pass
        case _:
            return False
    makers = [
        cls.methods["__init__"]
        for cls in live.program.mro(function.cls)[0]
        if "__init__" in cls.methods
    ]
    return any(
        isinstance(outer, ast.If) and _asks_for_others(outer.test) and _clears(outer.body, flag)
        for maker in makers
        for outer in own_nodes(maker)
    )


def left_to_flag(live: LiveProgram, site: CallSite, depth: int = 2) -> bool:
    """Whether such an attribute, an option or a method that asks lets rank 0 alone make a call, or all calls of its function.

    VL-T5 a07d779 VL-T5/src/trainer_base.py:214: `save()`, called under `if self.verbose:` in all classes that derive.
    """
    if any(
        holds
        and (
            is_flag_of_main(live, site.function, part)
            or _is_option_of_main(live, site.module, part)
            or _answers_for_main(live, part)
            or _is_filled_on_main(live, site.function, part)
        )
        for guard in site.guards
        for part, holds in literals(guard.node, guard.taken)
    ):
        return True
    callers = live.callers.get(site.function, ()) if depth else ()
    return bool(callers) and all(left_to_flag(live, caller, depth - 1) for caller in callers)


def _is_filled_on_main(live: LiveProgram, function: Function, part: ast.expr) -> bool:
    """Whether a condition is that there is something in an attribute into which rank 0 alone puts anything.

    DDT 1d1b4d2 src/callbacks/save_images.py:62: `len(self.samples) > 0`, and `self.samples.append(…)` under
    `trainer.is_global_zero`.
    """
    match part:
        case (
            (ast.Attribute() as asked)
            | ast.Call(func=ast.Name(id="len"), args=[ast.Attribute() as asked])
            | ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[ast.Attribute() as asked]),
                ops=[ast.Gt() | ast.NotEq()],
                comparators=[ast.Constant(value=0)],
            )
        ) if function.cls is not None and dotted_name(asked) == f"self.{asked.attr}":
            puts = list(_put_into(function.cls, dotted_name(asked)))
            return bool(puts) and all(on_main_alone(live, put) for put in puts)
    return False


def _put_into(cls: Class, name: str) -> Iterator[ast.AST]:
    """Where the methods of a class put anything into an attribute, or assign it something that is not empty."""
    for method in cls.methods.values():
        for node in own_nodes(method, ast.Call, ast.Assign):
            match node:
                case ast.Call(func=ast.Attribute(value=owner, attr=attr)) if attr in _PUTS:
                    if dotted_name(owner) == name:
                        yield node
                case ast.Assign(targets=targets, value=value):
                    if any(dotted_name(each) == name for each in targets) and not _is_empty(value):
                        yield node


def _is_empty(value: ast.expr) -> bool:
    match value:
        case ast.List(elts=[]) | ast.Dict(keys=[]) | ast.Constant(value=None):
            return True
        case ast.Call(func=ast.Name(id="list" | "dict" | "set"), args=[], keywords=[]):
            return True
    return False


def _is_option_of_main(live: LiveProgram, module: Module, part: ast.expr) -> bool:
    """Whether a condition is an option that the file, or else the program, computes, each time with a question for the main
    process in it.

    MEGAMI 3b04d8b utils/laion_clap/evaluate/eval_linear_probe.py:233: `args.save_logs = args.logs and … and is_master(args)`.
    """
    match part:
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in ARGUMENT_NAMES:
            around = [m for m in live.program.modules.values() if name in m.source.text]
            given = set_in(module).get(name) or [
                value for other in around for value in set_in(other).get(name, ())
            ]
            return (
                bool(given)
                and all(any(map(_holds_on_main_alone, literals(value, True))) for value in given)
                and not any(option.name == name for m in around for option in options_of(m))
            )
    return False


def _holds_on_main_alone(literal: tuple[ast.expr, bool]) -> bool:
    part, holds = literal
    return holds and _OF_MAIN.search(last_name(part)) is not None


def _answers_for_main(live: LiveProgram, part: ast.expr) -> bool:
    """Whether a condition is a function of the program that asks for the main process whatever it returns.

    reward_fm 0a8f668 rfm/utils/save.py:261: `try: return trainer.is_world_process_zero() and …`, and in the `except` what
    holds where there is one process.
    """
    group = live.call_at(part) if _holds_on_main_alone((part, True)) else None
    callee = group.site.callee if group is not None else None
    returned = [node.value for node in own_nodes(callee, ast.Return)] if callee is not None else []
    return bool(returned) and all(each is not None and mentions_rank(each) for each in returned)


def is_beside_ranks(site: CallSite) -> bool:
    """Whether a call is come to only where an option says that there are no ranks: its other arm asks which one this is.

    TopDiG 4f2b06a solvers/valid.py:205: `if args.configs["DDP"]["flag"]: if dist.get_rank() == 0: save_model(…)`, and
    without the test in the `else`.
    """
    for guard in site.guards:
        block = statement_with_test(site.function, guard.node)
        if block is not None and any(
            not holds
            and not isinstance(part, ast.BoolOp)
            and asks_for_launch(ast.unparse(part))
            and not mentions_rank(part)
            for part, holds in literals(guard.node, guard.taken)
        ):
            arm = block.orelse if guard.taken else block.body
            asked = [inner.test for each in arm for inner in walk(each, ast.If)]
            if any(map(mentions_rank, asked)):
                return True
    return False


def is_imported_by_main(function: Function, call: ast.Call) -> bool:
    """Whether the two arms of a question for the main process import what is called, each another thing of this name.

    fast-autoaugment 2424224 FastAutoAugment/train.py:176: `if not tag or not is_master:` imports a writer that writes nothing.
    """
    name = dotted_name(call.func).partition(".")[0]
    return any(
        _imports(outer.body, name)
        and _imports(outer.orelse, name)
        and (mentions_rank(outer.test) or _OF_MAIN.search(ast.unparse(outer.test)) is not None)
        for outer in own_nodes(function, ast.If)
    )


def _imports(body: list[ast.stmt], name: str) -> bool:
    return any(
        name == (alias.asname or alias.name)
        for statement in body
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for alias in statement.names
    )


def is_given_to_main(live: LiveProgram, function: Function, node: ast.AST, depth: int = 2) -> bool:
    """Whether a node stands, here or around all calls that lead to it, under a parameter that is None on all ranks but 0.

    fairseq 0.12.2 fairseq/logging/progress_bar.py:403: made `if wandb_project:`, which fairseq_cli/train.py:265 hands over
    as `cfg.common.wandb_project if distributed_utils.is_master(cfg.distributed_training) else None`.
    """
    tests = [
        outer.test
        for outer in own_nodes(function, ast.If)
        if any(part is node for statement in outer.body for part in walk(statement))
    ]
    if any(
        isinstance(test, ast.Name)
        and test.id in function.parameters
        and _is_none_on_others(live, function, test.id)
        for test in tests
    ):
        return True
    calls = calls_of(live.program, function) if depth else ()
    return bool(calls) and all(
        is_given_to_main(live, user, call, depth - 1) for user, call in calls
    )


def _is_none_on_others(live: LiveProgram, function: Function, name: str) -> bool:
    default = default_of(function, name)
    left_out = isinstance(default, ast.Constant) and default.value is None
    given = [argument_of(call, function, name) for _, call in calls_of(live.program, function)]
    return any(each is not None for each in given) and all(
        left_out if each is None else _is_of_main(each) for each in given
    )


def _is_of_main(given: ast.expr) -> bool:
    match given:
        case ast.IfExp(test=test, orelse=ast.Constant(value=None)):
            return mentions_rank(test) or _OF_MAIN.search(ast.unparse(test)) is not None
    return False


def _asks_for_others(test: ast.expr) -> bool:
    """Whether a condition asks for another rank than the first: `args.local_rank != 0`, `rank > 0`."""
    match test:
        case ast.Compare(
            left=left, ops=[ast.NotEq() | ast.Gt()], comparators=[ast.Constant(value=0)]
        ):
            return last_name(left) in _FIRST
    return False


def _clears(body: list[ast.stmt], flag: str) -> bool:
    return any(
        isinstance(each, ast.Assign)
        and isinstance(each.value, ast.Constant)
        and each.value.value is False
        and any(last_name(target) == flag for target in each.targets)
        for each in body
    )


def acts_on_main_alone(live: LiveProgram, function: Function, test: ast.AST) -> bool:
    """Whether what follows from a test is done by functions that a decorator keeps to rank 0, and by nothing else.

    Panda-70M 9afd40b captioning/video_llama/runners/runner_base.py:438: `@main_process` above `_save_checkpoint()`.
    """
    done = [
        call
        for outer in own_nodes(function, ast.If)
        if any(part is test for part in walk(outer.test))
        for statement in outer.body
        for call in walk(statement, ast.Call)
    ]
    groups = [live.call_at(call) for call in done]
    return bool(done) and all(
        group is not None
        and group.site.callee is not None
        and any(map(mentions_rank, group.site.callee.decorators))
        for group in groups
    )


def under_main_alone(live: LiveProgram, function: Function, node: ast.AST) -> bool:
    """Whether a part of a function stands under a condition that lets rank 0 alone in.

    MiniGPT-4 minigpt4/runners/runner_base.py:395: `if agg_metrics > best_agg_metric` under `if is_main_process():`.
    """
    summaries = live.summaries_of(function)
    if summaries is None:
        return False
    closed = {
        id(guard.node)
        for rank, summary in summaries.summaries()
        if rank != MAIN
        for guard in summary.rank_conditions
        if not guard.taken
    }
    return any(
        id(outer.test) in closed
        and any(part is node for statement in outer.body for part in walk(statement))
        for outer in own_nodes(function, ast.If)
    )
