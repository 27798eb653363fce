"""`any_rank(…)` and `all_ranks(…)` without the runtime: every rank tells all others, in front of the `if` that asks.

In one expression only an accelerator can (`repairs.dressing`); by the process group it takes a list that
`all_gather_object` fills.
"""

from __future__ import annotations

import ast
import textwrap
from typing import Final

from distlint.analysis.live.program import LiveProgram
from distlint.analysis.model import Model, source_of
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.places import span_of
from distlint.analysis.program.syntax import own_nodes
from distlint.columns import segment
from distlint.edits import Edit, Insert, Replace
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.repairs.blocks import block_with

FLAGS: Final = ("failed", "has_failed", "failed_here")
"""What a fix may call the variable that says whether this rank failed."""

_ASKED: Final = {"$any_rank": "any", "$all_ranks": "all"}
_QUESTION: Final = pattern(r"\$any_rank|\$all_ranks")
_NAMES: Final = ("answers", "answers_of_all", "answer_of_each")
"""What the list may be called that holds what each rank says."""
_HANDS_OVER: Final = pattern(
    r"set_device\(|set_device_index\(|device_id\s*=|[\"']gloo[\"']|(?:gather|broadcast)_object"
    r"|\b(?:Accelerator|PartialState|TrainingArguments|HfArgumentParser)\("
)
"""Words of a program whose ranks can send objects: over NCCL they go by way of the current device (torch 2.13.0
distributed/distributed_c10d.py, `all_gather_object`), which the ranks must have chosen, or what they make chooses
(accelerate 1.15.0 state.py, `PartialState.set_device`; transformers 5.0.0 training_args.py, `_setup_devices`)."""


def free_name(function: Function, names: tuple[str, ...]) -> str | None:
    """The first of some names that a function does not know; None where it knows all of them."""
    used = {n.id for n in walk(function.node, ast.Name)}
    used |= {n.arg for n in walk(function.node, ast.arg)}
    return next((name for name in names if name not in used), None)


def asked_of_all(
    model: Model, function: Function, edit: Insert | Replace, group: str
) -> tuple[Edit, ...] | None:
    """An edit whose `if` asks all ranks, by the process group.

    Args:
        model: the analysed project.
        function: where the edit goes.
        edit: the insertion of an `if` whose test calls `$any_rank()` or `$all_ranks()`, or the new test of one.
        group: `torch.distributed`, as the place knows it, with the group made on every way.

    Returns:
        The edits, with `all_gather_object` in front of the `if`; None where the call stands otherwise (in a loop's
        test, behind an `and` that not all ranks come past, in an `elif`), and where ranks may not have chosen a device.
    """
    name = free_name(function, _NAMES)
    if name is None or len(_QUESTION.findall(edit.code)) != 1:
        return None
    if not model.answer(_hands_over) or _chooses_below(function, edit.span.line):
        return None
    match edit:
        case Insert():
            made = _of_statement(edit.code, group, name)
            return None if made is None else (Insert(edit.span, made, after=edit.after),)
        case Replace():
            test = _of_test(edit.code, group, name)
            asking = next(
                (node for node in walk(function.node, ast.If) if span_of(node.test) == edit.span),
                None,
            )
            if test is None or asking is None or block_with(function, asking) is None:
                return None
            if not source_of(function.module, asking).startswith("if"):
                return None  # `elif`: nothing can stand in front of it
            before, code = test
            return Insert(span_of(asking), before), Replace(edit.span, code)


def _hands_over(live: LiveProgram) -> bool:
    """Whether the ranks of a program can send objects."""
    return any(_HANDS_OVER.search(each.source.text) for each in live.program.modules.values())


def _chooses_below(function: Function, line: int) -> bool:
    """Whether a function chooses the device of its rank behind a line: in front of that all ranks have the first one.

    graphlearn-for-pytorch 26fe3d4 examples/igbh/dist_train_rgnn.py:201: the checkpoint is looked for above `set_device`.
    """
    chosen = [
        node.lineno
        for node in own_nodes(function, ast.Call)
        if last_name(node.func) == "set_device"
    ]
    return bool(chosen) and min(chosen) > line


def _of_statement(code: str, group: str, name: str) -> str | None:
    """An `if` with what it asks in front of it."""
    head, colon, rest = code.partition(":\n")
    test = _of_test(head.removeprefix("if "), group, name) if head.startswith("if ") else None
    return None if test is None or not colon else f"{test[0]}\nif {test[1]}:\n{rest}"


def _of_test(code: str, group: str, name: str) -> tuple[str, str] | None:
    """The statements that ask, and the test of what comes back; None where the call is not all of the test."""
    negated = code.startswith("not ")
    text = _QUESTION.sub(lambda found: f"_{_ASKED[found[0]]}", code.removeprefix("not "))
    try:
        call = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    match call:
        case ast.Call(func=ast.Name(id="_any" | "_all" as asked), args=[given], keywords=[]):
            answer = segment(text, given)
        case _:
            return None
    # What a fix sets itself is a bool; of anything else, a tensor for one, all ranks are told whether it is true.
    told = answer if isinstance(given, ast.Name) and answer in FLAGS else f"bool({answer})"
    before = textwrap.dedent(f"""\
        {name} = [None] * {group}.get_world_size()
        {group}.all_gather_object({name}, {told})""")
    return before, f"{'not ' if negated else ''}{asked[1:]}({name})"
