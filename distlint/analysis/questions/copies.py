"""Copies of a model that are made before DDP gives all ranks the weights of rank 0, and are evaluated by all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.environment import blocks, statements
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function

DDP: Final = "torch.nn.parallel.DistributedDataParallel"
_COPIES: Final = pattern(r"^(?:deepcopy|Model_?E[Mm][Aa]\w*|EMA\w*|ExponentialMovingAverage)$")
_EVALUATES: Final = pattern(r"eval|valid|(?<![a-z])(?:val|test|sample)(?![a-z])", re.IGNORECASE)
_EVENS_OUT: Final = pattern(r"broadcast|sync|load_state_dict|copy_|all_reduce", re.IGNORECASE)

_LOADS: Final = pattern(r"(?<!auto_)load(?!er)|restore", re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class Copy:
    """A copy of a model that every rank evaluates: its name, and the call that makes it."""

    name: str
    made: ast.Call


def left_apart(live: LiveProgram, function: Function, wrap: CallSite) -> Copy | None:
    """The copy of a model that is wrapped in DDP below it, where nothing makes the ranks' copies alike.

    ConvNeXt 048efce main.py:314: `ModelEma(model)` in front of DDP, `evaluate(loader, model_ema.ema)` on all
    ranks. Not DiT train.py:147, which copies the weights once more behind it: `update_ema(ema, model.module, decay=0)`.
    """
    model = wrap.argument_node(0, "module")
    if not isinstance(model, ast.Name):
        return None
    for name, made in _copies(function, model.id):
        below = [
            node
            for statement, _ in statements(function.body)
            if statement.lineno > made.lineno
            for node in _calls_of(statement)
            if _mentions(node, name)
        ]
        if made.lineno > wrap.node.lineno or any(map(_evens_out, below)):
            continue
        for node in below:
            group = live.call_at(node)
            on_all = group is not None and not group.guarded_by_rank
            if (
                on_all
                and _EVALUATES.search(last_name(node.func))
                and not any(
                    _comes_first(function, load, node) or _only_evaluates(function, load, node)
                    for load in below
                    if _loads(load, name)
                )
            ):
                return Copy(name, made)
    return None


def _copies(function: Function, model: str) -> Iterator[tuple[str, ast.Call]]:
    for statement, _ in statements(function.body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                for node in walk(value, ast.Call):
                    if (
                        _COPIES.match(last_name(node.func))
                        and node.args
                        and dotted_name(node.args[0]) == model
                    ):
                        yield name, node


def _calls_of(statement: ast.stmt) -> Iterator[ast.Call]:
    """The calls of a simple statement."""
    if isinstance(statement, ast.Expr | ast.Assign | ast.Return | ast.AnnAssign):
        yield from (n for n in walk(statement, ast.Call))


def _mentions(call: ast.Call, name: str) -> bool:
    parts = [*call.args, *(k.value for k in call.keywords), call.func]
    return any(isinstance(n, ast.Name) and n.id == name for part in parts for n in walk(part))


def _loads(call: ast.Call, name: str) -> bool:
    """Whether a call loads into a copy, its first argument or what it is a method of.

    Not what resumes where there is something: ConvNeXt 048efce main.py:391, `auto_load_model(…, model_ema=model_ema)`.
    """
    into = [*call.args[:1], *(n.value for n in [call.func] if isinstance(n, ast.Attribute))]
    return _LOADS.search(last_name(call.func)) is not None and any(
        isinstance(n, ast.Name) and n.id == name for part in into for n in walk(part)
    )


def _comes_first(function: Function, load: ast.Call, use: ast.Call) -> bool:
    """Whether a call stands above another on every way to it: in its block, or in one around that.

    VideoMamba f3427e4 videomamba/image_sm/main.py:454: `_load_checkpoint_for_ema(model_ema, …)` under `--eval`, on all
    ranks, and the copy is evaluated in the next line alone.
    """
    for block in blocks(list(function.body)):
        at = next((n for n, each in enumerate(block) if load in _calls_of(each)), None)
        if at is not None:
            return any(node is use for each in block[at + 1 :] for node in walk(each))
    return False


def _only_evaluates(function: Function, load: ast.Call, use: ast.Call) -> bool:
    """Whether a use stands in an arm that ends the function, where a load into the copy stands above.

    Vim dd0358a vim/main.py:466: `if args.eval: evaluate(model_ema.ema); return`. Who evaluates alone has resumed.
    """
    return load.lineno < use.lineno and any(
        isinstance(block[-1], ast.Return)
        and any(node is use for each in block for node in walk(each))
        and not any(node is load for each in block for node in walk(each))
        for block in blocks(list(function.body))
        if block is not function.body
    )


def _evens_out(call: ast.Call) -> bool:
    """Whether a call gives a copy the weights that all ranks have."""
    whole = any(
        "decay" in (k.arg or "") and isinstance(k.value, ast.Constant) and not k.value.value
        for k in call.keywords
    )
    return whole or _EVENS_OUT.search(last_name(call.func)) is not None
