"""Expressions of the abstract run: what a value is on one class of ranks, and what evaluating it does."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from distlint.analysis.interpreter.assignment import assign
from distlint.analysis.interpreter.calls import evaluate_call
from distlint.analysis.interpreter.conditions import boolean, compare, conditional, negate
from distlint.analysis.interpreter.frame import Frame
from distlint.analysis.interpreter.ir import InlineBody, Summary, Yield
from distlint.analysis.interpreter.iteration import (
    MULTIPLE,
    OF_ELEMENTS,
    REMAINDER,
    UNEVEN,
    element_of,
    iterated,
    loop_over,
    of_another_length,
)
from distlint.analysis.interpreter.members import attribute, name_value, subscript
from distlint.analysis.interpreter.values import (
    CONTAINER,
    RANK_MODULO,
    UNKNOWN,
    Closure,
    Entries,
    Value,
    Variance,
    constant,
    join,
    variance_of,
)
from distlint.analysis.program.definitions import Function
from distlint.knowledge import conventions
from distlint.nodes import children
from distlint.patterns import pattern

_LOCAL: Final = frozenset({"kind:local_rank", RANK_MODULO})
"""The tags of what numbers the processes of a machine."""

_BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}


_COUNTING: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
"""What makes numbers of a mask and a number; of two masks `&`, `|` and `^` make one, and so may `*` and `+`."""

_MAX_ITEMS: Final = 64
_PATH: Final = "pathlib.Path"

_MAX_INT: Final = 1 << 40
_MAX_TEXT: Final = 1000
_MAX_SHIFT: Final = 64
_WIDE: Final = pattern(r"\d{4}")
"""A width or precision in a format that makes a text longer than that."""


def operands(frame: Frame, node: ast.AST) -> Value:
    """An expression of no kind of its own: as its operands are."""
    values = [frame.evaluate(child) for child in children(node) if isinstance(child, ast.expr)]
    variance, origin, tags = variance_of(values)
    return Value(("expr", id(node)), UNKNOWN, variance, origin, tags=tags)


def _slice(frame: Frame, node: ast.Slice) -> Value:
    given = [part for part in (node.lower, node.upper, node.step) if part is not None]
    values = [frame.evaluate(part) for part in given]
    variance, origin, tags = variance_of(values)
    if node.lower is not None and len(values) > 1 and "rank" in values[0].tags:
        frame.note_cut(
            node, node.lower, values[0], values[-1] if node.step is not None else values[0]
        )
    return Value(("expr", id(node)), UNKNOWN, variance, origin, tags=tags)


def _constant(frame: Frame, node: ast.Constant) -> Value:
    return constant(node.value)


def _name(frame: Frame, node: ast.Name) -> Value:
    return name_value(frame, node.id, node)


def _unary(frame: Frame, node: ast.UnaryOp) -> Value:
    value = frame.evaluate(node.operand)
    if isinstance(node.op, ast.Not):
        return negate(value)
    if value.known and isinstance(value.const, (int, float)):
        match node.op:
            case ast.USub():
                return constant(-value.const, value.variance, value.origin, value.tags)
            case ast.UAdd():
                return constant(+value.const, value.variance, value.origin, value.tags)
            case ast.Invert() if isinstance(value.const, int):
                return constant(~value.const, value.variance, value.origin, value.tags)
    return value.replace(key=("unary", type(node.op).__name__, value.key), target=None, type=None)


def _binary(frame: Frame, node: ast.BinOp) -> Value:
    left, right = frame.evaluate(node.left), frame.evaluate(node.right)
    if isinstance(node.op, ast.Add) and (
        (not _LOCAL.isdisjoint(right.tags) and _before_this_machine(node.left))
        or (not _LOCAL.isdisjoint(left.tags) and _before_this_machine(node.right))
    ):
        return frame.rank_value("rank", node, f"`{ast.unparse(node)}`")
    return binary(left, right, node.op)


def _before_this_machine(node: ast.expr) -> bool:
    """Whether an expression counts the processes of the machines in front of this one: `node_rank * gpus_per_node`.

    PyTorch-StudioGAN 947b35e src/loader.py:92: `cfgs.RUN.current_node * (gpus_per_node) + local_rank`; CodeBERT c0de43d
    CodeReviewer/code/run_finetune_msg.py:109, where `local_rank` is `dist.get_rank() % args.gpu_per_node`.
    """
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mult)
        and any(conventions.PER_MACHINE.search(ast.unparse(n)) for n in (node.left, node.right))
    )


def binary(left: Value, right: Value, op: ast.operator) -> Value:
    """The value of `left op right`; small constants are computed."""
    variance, origin, tags = variance_of((left, right))
    if "bool-mask" in tags and isinstance(op, _COUNTING) and (_number(left) or _number(right)):
        # `1 - mask` are numbers, each of which picks an element: as many as there were (oat c1a074c
        # oat/algorithms/apl.py:102, `candidates[i][chosen[i]]`).
        tags = tags - {"bool-mask"}
    if isinstance(op, ast.Mod) and "kind:rank" in left.tags and "kind:rank" not in right.tags:
        tags = tags | {RANK_MODULO}
    function = _BINARY.get(type(op))
    if (
        left.known
        and right.known
        and function is not None
        and _small(left.const)
        and _small(right.const)
        and _stays_small(op, left.const, right.const)
    ):
        try:
            return constant(function(left.const, right.const), variance, origin, tags)
        except (TypeError, ValueError, ArithmeticError):
            pass  # the program would fail here: the result stays unknown
    if isinstance(op, ast.BitAnd) and (told := _refused_by_rank(left, right)) is not None:
        return constant(False, told.variance, told.origin, tags)
    items = None
    if isinstance(op, ast.Add) and left.items is not None and right.items is not None:
        items = left.items + right.items
    elif (
        isinstance(op, ast.Mult)
        and left.items is not None
        and isinstance(right.const, int)
        and right.const * len(left.items) <= _MAX_ITEMS
    ):
        items = left.items * right.const
    key = ("binary", type(op).__name__, left.key, right.key)
    joined = isinstance(op, ast.Div) and _PATH in (left.type, right.type)
    tags = of_another_length(tags) | _of_the_world(left, right, op)
    return Value(
        key,
        UNKNOWN,
        variance,
        origin,
        type=_PATH if joined else None,
        tags=tags - {"world_size"} if not left.known or not right.known else tags,
        items=items,
    )


def _refused_by_rank(left: Value, right: Value) -> Value | None:
    """The operand of `&` that is False because of the rank: so is the whole, whatever the other one says.

    FoundationVision/Infinity 4c27bbb infinity/utils/arg_util.py:432: `args.dbg_ks &= dist.is_local_master()`.
    """
    return next(
        (
            each
            for each in (left, right)
            if each.const is False and each.variance is Variance.RANK_DEPENDENT
        ),
        None,
    )


def _number(value: Value) -> bool:
    return type(value.const) in (int, float)


def _of_the_world(left: Value, right: Value, op: ast.operator) -> frozenset[str]:
    """What arithmetic with the number of ranks gives: `n % ranks`, `n - n % ranks`, `n // ranks * ranks`."""
    world = "world_size" in right.tags and "rank" not in right.tags
    match op:
        case ast.Mod() if world:
            return frozenset({REMAINDER})
        case ast.Sub() if REMAINDER in right.tags:
            return frozenset({MULTIPLE})
        case ast.Mult() if world:
            match left.key:
                case ("binary", "FloorDiv", _, ranks) if ranks == right.key:
                    return frozenset({MULTIPLE})
    return frozenset()


def _small(value: object) -> bool:
    if isinstance(value, (bool, int, float)):
        return abs(value) < _MAX_INT
    return isinstance(value, str) and len(value) <= _MAX_TEXT


def _stays_small(op: ast.operator, left: Any, right: Any) -> bool:
    """Whether the result of small operands is small too: `"=" * 10**9` may never be computed."""
    match op:
        case ast.Mult() if isinstance(left, str):
            return not isinstance(right, int) or len(left) * right <= _MAX_TEXT
        case ast.Mult() if isinstance(right, str):
            return not isinstance(left, int) or len(right) * left <= _MAX_TEXT
        case ast.Mod() if isinstance(left, str):
            return _WIDE.search(left) is None
        case ast.LShift():
            return not isinstance(right, int) or right <= _MAX_SHIFT
    return True


def _sequence(frame: Frame, node: ast.Tuple | ast.List | ast.Set) -> Value:
    items: list[Value] | None = []
    values = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            star = frame.evaluate(element.value)
            values.append(star)
            if items is not None and star.items is not None:
                items.extend(star.items)
            else:
                items = None
        else:
            value = frame.evaluate(element)
            values.append(value)
            if items is not None:
                items.append(value)
    variance, origin, tags = variance_of(values)
    fixed = tuple(items) if items is not None and len(items) <= _MAX_ITEMS else None
    if fixed is not None and all(i.known for i in fixed) and not any(i.tags for i in fixed):
        make = tuple if isinstance(node, ast.Tuple) else list
        return Value(
            ("display", tuple(i.key for i in fixed)),
            make(i.const for i in fixed),
            variance,
            origin,
            items=fixed,
        )
    key = ("display", tuple(i.key for i in fixed)) if fixed is not None else ("display", id(node))
    truth = bool(fixed) if fixed is not None else None
    return Value(key, UNKNOWN, variance, origin, tags=tags, items=fixed, truth=truth)


def _dict(frame: Frame, node: ast.Dict) -> Value:
    values = [frame.evaluate(v) for v in node.values]
    keys = [frame.evaluate(k) if k is not None else None for k in node.keys]
    variance, origin, tags = variance_of([*values, *(k for k in keys if k is not None)])
    named: dict[str, Value] = {}
    others: list[Value] = []
    for key, value in zip(keys, values, strict=True):
        if key is not None and isinstance(key.const, str):
            named[key.const] = value
        elif key is None and value.entries is not None:
            named |= value.entries.named
            others.append(value.entries.rest)
        else:
            others += [value] if key is None else [key, value]
    # What the values are says nothing of how many there are (oat c1a074c oat/algorithms/apl.py:127: means over a
    # rank's own answers, under fixed names).
    spread = [value for key, value in zip(keys, values, strict=True) if key is None]
    length = variance_of([*spread, *(k for k in keys if k is not None)])[2]
    tags = (tags - UNEVEN) | (length & UNEVEN)
    of_others = variance_of(others)
    rest = Value(("display", id(node), "rest"), UNKNOWN, *of_others[:2], tags=of_others[2])
    return Value(
        ("display", id(node)),
        UNKNOWN,
        variance,
        origin,
        tags=tags,
        truth=bool(node.keys) if all(node.keys) else None,
        entries=Entries(named, rest),
    )


def _joined(frame: Frame, node: ast.JoinedStr) -> Value:
    values = [
        frame.evaluate(part.value if isinstance(part, ast.FormattedValue) else part)
        for part in node.values
    ]
    variance, origin, tags = variance_of(values)
    if all(v.known for v in values) and all(
        not isinstance(p, ast.FormattedValue) or p.format_spec is None for p in node.values
    ):
        with suppress(ValueError):  # an int of more digits than Python converts to text
            return constant("".join(str(v.const) for v in values), variance, origin, tags)
    return Value(("format", tuple(v.key for v in values)), UNKNOWN, variance, origin, tags=tags)


def _comprehension(
    frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
) -> Value:
    saved = frame.variables.copy()
    first = frame.evaluate(node.generators[0].iter)
    iterated(frame, first, node.generators[0].iter)
    iterables = [first]
    chosen = False
    with frame.filling([]) as body:
        for number, generator in enumerate(node.generators):
            iterable = frame.evaluate(generator.iter) if number else first
            if number:
                iterables.append(iterable)
            assign(frame, generator.target, element_of(iterable, generator.target))
            for test in generator.ifs:
                value = frame.evaluate(test)
                iterables.append(value.replace(tags=value.tags - {"bool-mask"}))
                # `[x for i, x in enumerate(data) if i % world_size == rank]`
                chosen |= value.variance is Variance.RANK_DEPENDENT and value.truthiness() is None
        if isinstance(node, ast.DictComp):
            key, value = frame.evaluate(node.key), frame.evaluate(node.value)
            element = join(key, value, ("element", id(node)))
        else:
            element = frame.evaluate(node.elt)
    frame.variables = saved
    if body:
        loop_over(frame, node, first, body)
    variance, origin, tags = variance_of([*iterables, element])
    if chosen:
        tags = tags | {"local-length"}
    if len(iterables) > 1:
        tags = of_another_length(tags)
    elif element.tags & UNEVEN and not first.tags & UNEVEN:
        # ALMTokenizer2 53f7891 modules/our_MERT_BESTRQ/mert_fairseq/models/eat/EAT_pretraining.py:641: `[x[mask] for x in xs]`
        tags = tags | {OF_ELEMENTS}
    if element.wraps:
        tags = tags | {CONTAINER}
    items = None
    if first.items is not None and isinstance(node, ast.ListComp) and len(iterables) == 1:
        # ScaLR 53c474d utils/finetuner.py:112: over two tensors that the call writes out, a list of two
        items = tuple(
            element.replace(key=("element", id(node), at)) for at in range(len(first.items))
        )
    return Value(
        ("comprehension", id(node)),
        UNKNOWN,
        variance,
        origin,
        items=items,
        tags=tags,
        wraps=element.wraps,
    )


def _lambda(frame: Frame, node: ast.Lambda) -> Value:
    function = Function(
        "<lambda>", f"{frame.function.qualname}.<lambda>", node, frame.module, parent=frame.function
    )
    return Value(("lambda", id(node)), target=Closure(function, frame.visible()))


def _named(frame: Frame, node: ast.NamedExpr) -> Value:
    value = frame.evaluate(node.value)
    assign(frame, node.target, value)
    return value


def _await(frame: Frame, node: ast.Await) -> Value:
    return frame.evaluate(node.value)


def _yield(frame: Frame, node: ast.Yield | ast.YieldFrom) -> Value:
    value = frame.evaluate(node.value) if node.value is not None else None
    followed = value.receiver if value is not None and value.type == "generator" else None
    if isinstance(node, ast.YieldFrom) and followed is not None:  # one of two has no run of its own
        inner: Summary = followed.const
        if inner.returns is not None:
            frame.yielded(inner.returns)
        frame.steps.append(InlineBody(inner, node, [Yield(node)], []))
        return Value(("yield", id(node)))
    if value is not None:
        frame.yielded(value)
    frame.steps.append(Yield(node))
    return Value(("yield", id(node)))


def _starred(frame: Frame, node: ast.Starred) -> Value:
    return frame.evaluate(node.value)


EXPRESSIONS: Final[dict[type[ast.expr], Callable[[Frame, Any], Value]]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: attribute,
    ast.Call: evaluate_call,
    ast.Subscript: subscript,
    ast.Slice: _slice,
    ast.BoolOp: boolean,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: compare,
    ast.IfExp: conditional,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.JoinedStr: _joined,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Lambda: _lambda,
    ast.NamedExpr: _named,
    ast.Await: _await,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
    ast.Starred: _starred,
}
