"""What iterating over a value gives: the element, and loops whose number of turns differs."""

from __future__ import annotations

import ast
from functools import reduce
from typing import Final

from distlint.analysis.interpreter.frame import Frame
from distlint.analysis.interpreter.ir import (
    Event,
    Layer,
    Loop,
    Step,
    Summary,
)
from distlint.analysis.interpreter.values import (
    CONTAINER,
    IN_TURN,
    UNKNOWN,
    Closure,
    Either,
    Value,
    Variance,
    join,
    variance_of,
)
from distlint.analysis.program.definitions import Function, last_name
from distlint.analysis.program.syntax import assignments
from distlint.knowledge import conventions
from distlint.knowledge.schema import Effect
from distlint.nodes import walk

UNEVEN: Final = frozenset({"ragged", "set-order", "local-length", "rank-part"})
"""Tags of values over which ranks iterate a different number of times, or in another order."""

REMAINDER: Final = "world-remainder"
"""The tag of what is left over of a number divided by the number of ranks."""
MULTIPLE: Final = "world-multiple"
"""The tag of a multiple of the number of ranks, and of a list that was cut to such a length."""
EVEN: Final = "even-part"
"""The tag of this rank's part of such a list: it is as long on every rank."""
OF_ELEMENTS: Final = "length-of-elements"
"""The tag of a list whose elements are of a rank's own length, and which has as many of them on every rank."""

_MAX_NAMES: Final = 16


def with_own_length(iterable: Value) -> Value | None:
    """A value over which ranks iterate a different number of times, or in another order, as a rank's own."""
    if not iterable.tags & UNEVEN or iterable.variance is Variance.UNIFORM:
        return None
    if OF_ELEMENTS in iterable.tags:
        return None
    zipped = "zip" in iterable.tags and iterable.receiver is not None and iterable.receiver.items
    if zipped and not any(map(with_own_length, zipped)):
        return None
    if iterable.items is not None and not {"zip", "enumerate"} & iterable.tags:
        return None  # so many elements are written there, of whatever length each is
    if iterable.variance is Variance.RANK_DEPENDENT and "local-length" in iterable.tags:
        return iterable.replace(variance=Variance.RANK_LOCAL)
    return iterable


def of_another_length(tags: frozenset[str]) -> frozenset[str]:
    """The tags of what is made of a value and need not be as long as it."""
    if not tags & {REMAINDER, MULTIPLE, EVEN}:
        return tags
    return (tags - {REMAINDER, MULTIPLE, EVEN}) | ({"rank-part"} if EVEN in tags else frozenset())


def rounded_up(function: Function, part: ast.expr) -> bool:
    """Whether the bounds of a slice come from a division that rounds up: then the last rank has fewer.

    DALLE2-pytorch dalle2_pytorch/dataloaders/prior_loader.py:114 (`ceil`), BLIP utils.py:179 (`// n + 1`).
    """
    known = assignments(function)
    work, seen = [part], set[str]()
    for expression in work:
        for node in walk(expression):
            if _rounds_up(node):
                return True
            if isinstance(node, ast.Name) and node.id not in seen and len(seen) < _MAX_NAMES:
                seen.add(node.id)
                work += known.get(node.id, ())
    return False


def _rounds_up(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=func):
            return last_name(func) == "ceil"
        case ast.BinOp(
            left=ast.BinOp(op=ast.FloorDiv()), op=ast.Add(), right=ast.Constant(value=1)
        ):
            return True
        case ast.UnaryOp(op=ast.USub(), operand=ast.BinOp(op=ast.FloorDiv())):
            return True
        case ast.BinOp(
            left=ast.BinOp(op=ast.Sub(), right=ast.Constant(value=1)), op=ast.FloorDiv()
        ):
            return True  # (n + size - 1) // size
    return False


def element_of(iterable: Value, target: ast.AST) -> Value:
    """The loop variable of an iteration over a value."""
    if "enumerate" in iterable.tags and iterable.receiver is not None:
        inner = element_of(iterable.receiver, target)
        return Value(("element", id(target)), items=(Value(("index", id(target))), inner))
    if "zip" in iterable.tags and iterable.receiver is not None and iterable.receiver.items:
        zipped = tuple(element_of(each, target) for each in iterable.receiver.items)
        return Value(
            ("element", id(target)), UNKNOWN, iterable.variance, iterable.origin, items=zipped
        )
    if iterable.items and len(iterable.items) == 1 and iterable.items[0].known:
        # VISTA f73d7c2 vista3d/scripts/train_finetune.py:575: `for val_times in [0]`, and `if val_times > 0: continue`
        return iterable.items[0]
    if iterable.items:
        variance, origin, tags = variance_of(iterable.items)
        tags = tags - {"bool-mask"}
        wraps = iterable.items[0].wraps
        any_of = reduce(lambda a, b: join(a, b, ("element", id(target))), iterable.items)
        return Value(
            ("element", id(target)),
            UNKNOWN,
            variance,
            origin,
            type=any_of.type,
            target=any_of.target if isinstance(any_of.target, Closure | Either) else None,
            tags=tags,
            wraps=wraps,
            not_none=IN_TURN in tags,
        )
    variance = iterable.variance
    origin = iterable.origin
    in_turn = _goes_through_ranks(iterable)
    return Value(
        ("element", id(target), iterable.key),
        UNKNOWN,
        variance,
        origin,
        not_none=in_turn,
        tags=of_another_length(iterable.tags)
        - {
            "world_size",
            "bool-mask",
            "local-length",
            conventions.DRAWN_BY_RANK,
            CONTAINER,
            OF_ELEMENTS,
        }
        | (frozenset({IN_TURN}) if in_turn else frozenset()),
        # A list of wrapped models: any other iterable that `prepare()` gave back is a loader.
        # Only as the comprehension gave it: where another path has other models, which of them are wrapped is not known
        # (sd-scripts 48d368f train_network.py:886, whose text encoders are frozen).
        wraps=iterable.wraps if _is_made_here(iterable) else (),
    )


def _goes_through_ranks(iterable: Value) -> bool:
    """Whether an iteration is over the numbers of the ranks: the same on each of them."""
    match iterable.key:
        case ("range", *_):
            return iterable.variance is Variance.UNIFORM and "world_size" in iterable.tags
    return False


def iterated(frame: Frame, iterable: Value, node: ast.AST) -> None:
    """The collectives by which an iteration over a value begins."""
    while "enumerate" in iterable.tags and iterable.receiver is not None:
        iterable = iterable.receiver
    for row in frame.knowledge.calls.get(f"{iterable.type}.__iter__", ()):
        if row.effect is Effect.COLLECTIVE and not row.mentions:
            frame.steps.append(Event(row.op, Layer.ALWAYS, node, frame.module, iterated=True))


def advanced(frame: Frame, iterator: Value, node: ast.AST) -> None:
    """The collectives by which the first `next()` of a generator of the program begins.

    soundstorm-pytorch 8119522 soundstorm_pytorch/trainer.py:285: `next(cycle(loader))` on rank 0, of a prepared loader.
    """
    run = iterator.receiver.const if iterator.receiver is not None else None
    block = run.steps if iterator.type == "generator" and isinstance(run, Summary) else []
    while block:
        match block[0]:
            case Loop(body=body):
                block = body
            case Event(iterated=True) as event:
                frame.steps.append(Event(event.op, Layer.ALWAYS, node, frame.module, iterated=True))
                return
            case _:
                return


def is_comprehension(value: Value) -> bool:
    """Whether a value is what a comprehension makes: its layers are those of its elements."""
    return CONTAINER in value.tags or _is_made_here(value)


def _is_made_here(value: Value) -> bool:
    return isinstance(value.key, tuple) and value.key[:1] == ("comprehension",)


def loop_over(frame: Frame, node: ast.AST, iterable: Value, body: list[Step]) -> None:
    """A comprehension whose element has steps."""
    key = ("for", id(node), iterable.key)
    local = with_own_length(iterable)
    frame.steps.append(Loop(node, key, local, body, [], volatile={key}))
