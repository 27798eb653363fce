"""Expressions of the abstract run: what a value is on one class of ranks, and what evaluating it does."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from distlint.analysis.interpreter import calls
from distlint.analysis.interpreter.ir import Branch, Step, Yield
from distlint.analysis.interpreter.values import (
    UNKNOWN,
    Closure,
    Origin,
    Spread,
    Value,
    constant,
    join,
    spread_of,
)
from distlint.analysis.program.definitions import Class, Function, Module, dotted_name
from distlint.analysis.program.nodes import children
from distlint.knowledge import facts

if TYPE_CHECKING:
    from distlint.analysis.interpreter.frame import Frame

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

_COMPARE: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}

_NEGATED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.NotEq: ast.Eq,
    ast.IsNot: ast.Is,
    ast.NotIn: ast.In,
    ast.GtE: ast.Lt,
    ast.LtE: ast.Gt,
}

# Questions about the kind of a thing, not its contents: the same on all ranks even for a rank's own data.
_STRUCTURAL: Final = (ast.Is, ast.IsNot, ast.In, ast.NotIn)

_MAX_DEPTH: Final = 200
_MAX_ITEMS: Final = 64
_MAX_INT: Final = 1 << 40


def evaluate(frame: Frame, node: ast.expr) -> Value:
    """The value of an expression; the steps that evaluating it takes are appended to the frame."""
    if frame.depth > _MAX_DEPTH:
        return Value(("deep", id(node)))
    frame.depth += 1
    handler = _HANDLERS.get(type(node))
    value = handler(frame, node) if handler is not None else _children(frame, node)
    frame.depth -= 1
    return value


def _children(frame: Frame, node: ast.AST) -> Value:
    values = [evaluate(frame, child) for child in children(node) if isinstance(child, ast.expr)]
    spread, origin, tags = spread_of(values)
    return Value(("expr", id(node)), UNKNOWN, spread, origin, tags=tags)


def _constant(frame: Frame, node: ast.Constant) -> Value:
    return constant(node.value)


def _name(frame: Frame, node: ast.Name) -> Value:
    return name_value(frame, node.id, node)


def name_value(frame: Frame, name: str, node: ast.AST) -> Value:
    """What a name means here: a local, an enclosing function's, the module's, a builtin."""
    value = frame.env.get(name)
    if value is not None:
        return value
    captured = frame.captured.get(name)
    if captured is not None:
        # What a test said where the function was defined may not hold where it runs.
        return captured.but(given=False) if captured.given else captured
    module = frame.module
    if (
        not frame.function.is_module_body
        or name in module.functions
        or name in module.classes
        or name in module.imports
    ):
        found = frame.engine.global_value(module, name, frame.run)
        if found is not None:
            return found
    if facts.is_builtin(name) and name not in module.assigned:
        return Value(("builtin", name), target=f"builtins.{name}")
    conventional = convention(frame, name, node)
    return conventional or Value(("global", module.name, name))


def convention(frame: Frame, name: str, node: ast.AST) -> Value | None:
    """What a name that nothing defines stands for by convention (a parameter `accelerator`)."""
    kind = facts.NAMED_RANKS.get(name)
    if kind is not None and not _is_annotated_float(node):
        return frame.rank_value(kind, node, f"`{name}`")
    type_ = facts.named_type(name, frame.module.source.text)
    return Value(("named", frame.module.name, name), type=type_) if type_ else None


def _is_annotated_float(node: ast.AST) -> bool:
    """`rank: int | float` is that of a matrix (peft 0.21.2 tuners/lora/conversion.py:133)."""
    annotation = getattr(node, "annotation", None)
    return annotation is not None and "float" in ast.unparse(annotation)


def _attribute(frame: Frame, node: ast.Attribute) -> Value:
    path = dotted_name(node)
    if path:
        known = frame.env.get(path)
        if known is not None:
            return known
    base = evaluate(frame, node.value)
    return attribute_of(frame, base, node)


def attribute_of(frame: Frame, base: Value, node: ast.Attribute) -> Value:
    """The value of `base.attr`."""
    attr = node.attr
    if base.const is None:
        frame.run.absent.append(frame.attribute_site(node, base))
    if base.wraps:
        frame.run.attributes.append(frame.attribute_site(node, base))
        peeled = facts.peel(base.wraps, attr)
        if peeled is not None:
            return base.but(
                key=("attr", base.key, attr),
                wraps=peeled,
                tags=base.tags if peeled else base.tags | {"unwrapped"},
            )
    match base.target:
        case Module():
            found = frame.engine.global_value(base.target, attr, frame.run)
            if found is not None:
                return found
            return Value(("attr", base.key, attr))
        case Class():
            method = frame.engine.program.find_method(base.target, attr)
            if method is not None:
                receiver = base if method.has_decorator("classmethod") else None
                return Value(("method", id(method)), target=Closure(method, {}, receiver))
            return frame.engine.class_attribute(base.target, attr, frame.run) or Value(
                ("attr", base.key, attr)
            )
        case str() if base.target != calls.SUPER:
            dotted = facts.canonical_name(f"{base.target}.{attr}")
            kind = facts.ATTRIBUTES.get(dotted)
            if kind is not None:
                return frame.rank_value(kind, node, f"`{dotted_name(node) or attr}`")
            return Value(("external", dotted), target=dotted)
    kind = facts.ANY_ATTRIBUTES.get(attr) or facts.argument_attribute(dotted_name(node.value), attr)
    if base.type is not None:
        found = _member_of_instance(frame, base, node)
        plain = found is None or (found.spread is Spread.UNIFORM and found.truthiness() is None)
        if found is not None and not (plain and kind == "sharded_mode"):
            return found
    if kind is not None and not _is_lookalike(frame, base, attr):
        return frame.rank_value(kind, node, f"`{dotted_name(node) or attr}`")
    if (
        base.spread is Spread.LOCAL
        and attr in facts.UNIFORM_ATTRIBUTES
        and "ragged" not in base.tags
    ):
        return Value(("attr", base.key, attr))
    type_ = (
        facts.named_type(attr, frame.module.source.text)
        if isinstance(node.value, ast.Name)
        else None
    )
    return Value(
        ("attr", base.key, attr),
        UNKNOWN,
        base.spread,
        base.origin,
        type=type_,
        receiver=base,
        tags=base.tags,
    )


def _is_lookalike(frame: Frame, base: Value, attr: str) -> bool:
    return base.type is not None and facts.ATTRIBUTES.get(f"{base.type}.{attr}") == "not_rank"


def _member_of_instance(frame: Frame, base: Value, node: ast.Attribute) -> Value | None:
    """`attr` of an object whose class is known: of the project, or of a library."""
    engine, attr = frame.engine, node.attr
    assert base.type is not None
    cls = engine.classes.get(base.type)
    outside: tuple[str, ...] = (base.type,)
    if cls is not None:
        method = engine.program.find_method(cls, attr)
        if method is not None:
            if method.has_decorator("property", "cached_property"):
                result = calls.call_project(frame, Closure(method, {}, base), [], {}, node, None)
                return result if result.type == "generator" else result.but(receiver=base)
            if method.has_decorator("staticmethod"):
                return Value(("method", id(method), base.key), target=Closure(method, {}))
            return Value(("method", id(method), base.key), target=Closure(method, {}, base))
        _, outside = engine.program.mro(cls)
    match facts.member_of(outside, attr):
        case "kind", str() as kind:
            return frame.rank_value(kind, node, f"`{dotted_name(node) or attr}`")
        case "wraps", tuple() as wraps:
            return Value(("attr", base.key, attr), wraps=frame.wraps(wraps, node))
        case "type", str() as known:
            return Value(("attr", base.key, attr), type=known)
    if cls is not None:
        value = engine.instance_attribute(cls, attr, frame.run)
        if value is not None:
            return value
    return None


def _subscript(frame: Frame, node: ast.Subscript) -> Value:
    base = evaluate(frame, node.value)
    index = evaluate(frame, node.slice)
    if (
        isinstance(base.target, str)
        and base.target == "os.environ"
        and isinstance(index.const, str)
    ):
        return environment(frame, index.const, node)
    if (
        base.items is not None
        and isinstance(index.const, int)
        and -len(base.items) <= index.const < len(base.items)
    ):
        return base.items[index.const]
    if base.known and index.known:
        try:
            return constant(base.const[index.const], *spread_of((base, index))[:2])
        except (TypeError, KeyError, IndexError):
            return Value(("item", base.key, index.key))
    spread, origin, tags = spread_of((base, index))
    if "bool-mask" in index.tags:
        # `x[mask]`: how many elements are left is each rank's own.
        spread, tags = Spread.LOCAL, (tags - {"bool-mask"}) | {"masked", "ragged"}
        origin = Origin(
            node, frame.module, f"`{ast.unparse(node)}`, a masked tensor of local length", "tensor"
        )
    elif index.spread is Spread.RANK and isinstance(node.slice, ast.Slice) and node.slice.step:
        # `names[rank::world_size]`: the first ranks may have one more.
        spread, tags = Spread.LOCAL, tags | {"local-length"}
        text = f"`{ast.unparse(node)}`, of which the first ranks may have more"
        origin = Origin(node, frame.module, text, "rank-part")
    elif index.spread is Spread.RANK and base.spread is Spread.UNIFORM and base.items is not None:
        spread, origin = index.spread, index.origin
    wraps = base.wraps if isinstance(index.const, int) or not index.known else ()
    type_ = (
        facts.ITEM_TYPES.get(f"{base.type}[{index.const}]")
        if base.type is not None and isinstance(index.const, str)
        else None
    )
    return Value(
        ("item", base.key, index.key),
        UNKNOWN,
        spread,
        origin,
        tags=tags,
        wraps=wraps,
        receiver=base,
        type=type_,
    )


def environment(frame: Frame, name: str, node: ast.AST, default: Value | None = None) -> Value:
    """The value of an environment variable: a string that launchers set, or unknown and uniform."""
    kind = facts.ENVIRONMENT.get(name)
    if kind is None:
        return Value(("environ", name))
    value = frame.rank_value(kind, node, f"the environment variable {name}")
    return (
        value.but(const=str(value.const), key=("environ", name, value.const))
        if value.known
        else value
    )


def _boolean(frame: Frame, node: ast.BoolOp) -> Value:
    is_and = isinstance(node.op, ast.And)
    operands: list[Value] = []
    outer = frame.steps
    nested: list[tuple[Value, list[Step], ast.expr]] = []
    decided: Value | None = None
    for index, part in enumerate(node.values):
        if index:
            frame.steps = []
            before = _logic("and" if is_and else "or", operands, node)
            with frame.guarded(node.values[index - 1], before, is_and):
                value = evaluate(frame, part)
        else:
            value = evaluate(frame, part)
        if index and frame.steps:
            nested.append((_logic("and" if is_and else "or", operands, node), frame.steps, part))
        frame.steps = outer
        truth = value.truthiness()
        if truth is not None and truth is not is_and:
            decided = value
            operands.append(value)
            break
        operands.append(value)
    for condition, steps, part in nested:
        settled = condition.truthiness()
        if settled is None:
            then, orelse = (steps, []) if is_and else ([], steps)
            outer.append(Branch(condition, part, then, orelse))
        else:
            outer.extend(steps)
    if decided is not None and len(operands) == 1:
        return decided
    open_operands = [v for v in operands if v.truthiness() is None]
    if not open_operands:
        spread, origin, tags = spread_of(operands)
        last = operands[-1]
        return last.but(
            spread=max(spread, last.spread), origin=last.origin or origin, tags=last.tags | tags
        )
    return _logic("and" if is_and else "or", operands, node)


def _logic(op: str, operands: list[Value], node: ast.AST) -> Value:
    """`and`/`or` of values, as a condition; operands that cannot change the outcome are dropped."""
    neutral = op == "and"
    decided = next((v for v in operands if v.truthiness() is (not neutral)), None)
    spread, origin, tags = spread_of(operands)
    open_ = tuple(v for v in operands if v.truthiness() is None)
    if decided is not None:
        return Value((op, id(node)), UNKNOWN, spread, origin, truth=not neutral, tags=tags)
    if not open_:
        return operands[-1]
    ranked = [v for v in operands if v.truthiness() is not None]
    if len(open_) == 1:
        value = open_[0]
        last = operands[-1]
        same_value = last is value
        return value.but(
            spread=max(value.spread, spread_of(ranked)[0]) if not same_value else value.spread,
            tags=tags,
            truth=None,
            target=value.target if same_value else None,
        )
    spread, origin, _ = spread_of(open_)
    return Value(
        (op, tuple(v.key for v in open_)), UNKNOWN, spread, origin, tags=tags, logic=(op, open_)
    )


def negate(value: Value) -> Value:
    """The condition `not value`."""
    truth = value.truthiness()
    if truth is not None:
        return constant(not truth, value.spread, value.origin, value.tags)
    if value.logic is not None and value.logic[0] == "not":
        return value.logic[1][0]
    return Value(
        ("not", value.key),
        UNKNOWN,
        value.spread,
        value.origin,
        tags=value.tags,
        logic=("not", (value,)),
    )


def _unary(frame: Frame, node: ast.UnaryOp) -> Value:
    value = evaluate(frame, node.operand)
    if isinstance(node.op, ast.Not):
        return negate(value)
    if value.known and isinstance(value.const, (int, float)):
        match node.op:
            case ast.USub():
                return constant(-value.const, value.spread, value.origin, value.tags)
            case ast.UAdd():
                return value
            case ast.Invert() if isinstance(value.const, int):
                return constant(~value.const, value.spread, value.origin, value.tags)
    return value.but(key=("unary", type(node.op).__name__, value.key), target=None, type=None)


def _binary(frame: Frame, node: ast.BinOp) -> Value:
    left, right = evaluate(frame, node.left), evaluate(frame, node.right)
    return binary(left, right, node.op)


def binary(left: Value, right: Value, op: ast.operator) -> Value:
    """The value of `left op right`; small constants are computed."""
    spread, origin, tags = spread_of((left, right))
    function = _BINARY.get(type(op))
    if (
        left.known
        and right.known
        and function is not None
        and _small(left.const)
        and _small(right.const)
    ):
        try:
            return constant(function(left.const, right.const), spread, origin, tags)
        except (TypeError, ValueError, ArithmeticError):
            pass  # the program would fail here: the result stays unknown
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
    return Value(
        key,
        UNKNOWN,
        spread,
        origin,
        tags=tags - {"world_size"} if not left.known or not right.known else tags,
        items=items,
    )


def _small(value: object) -> bool:
    if isinstance(value, (bool, int, float)):
        return abs(value) < _MAX_INT
    return isinstance(value, str) and len(value) < 1000


def _compare(frame: Frame, node: ast.Compare) -> Value:
    left = _argument_rank(frame, node) or evaluate(frame, node.left)
    results: list[Value] = []
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = evaluate(frame, comparator)
        if "world_size" in left.tags | right.tags and "rank" in left.tags | right.tags:
            frame.consult("is_last")  # `rank == world_size - 1`
        results.append(_compare_pair(left, op, right))
        left = right
    result = results[0] if len(results) == 1 else _logic("and", results, node)
    if (
        len(results) == 1
        and isinstance(node.ops[0], _STRUCTURAL)
        and result.spread is Spread.RANK
        and result.truthiness() is None
    ):
        # Whether something is there is the same on all ranks unless they are seen to differ, even where
        # it was made from the rank (open_clip 3.3.0 main.py: `"train" in data`).
        return Value(("structural", id(node)), tags=result.tags)
    return result


def _argument_rank(frame: Frame, node: ast.Compare) -> Value | None:
    """`args.rank` in `args.rank == 0`: elsewhere it may be the rank of a matrix."""
    match node:
        case ast.Compare(
            left=ast.Attribute(value=owner, attr=attr) as read,
            comparators=[ast.Constant(value=constant_)],
        ) if dotted_name(read) not in frame.env:
            kind = facts.argument_attribute(dotted_name(owner), attr, constant_)
            return frame.rank_value(kind, read, f"`{dotted_name(read)}`") if kind else None
    return None


def _compare_pair(left: Value, op: ast.cmpop, right: Value) -> Value:
    if left.logic is not None and left.logic[0] == "choice" and right.known:
        test, *choices = left.logic[1]
        a, b = (_compare_pair(choice, op, right) for choice in choices)
        if a.known and a.const == b.const:
            return a
        if a.known and b.known:
            key = ("compare", type(op).__name__, left.key, right.key)
            return a.but(key=key, const=UNKNOWN, logic=("choice", (test, a, b)))
    spread, origin, tags = spread_of((left, right))
    tags = tags - {"masked", "ragged"}
    if _is_guess(left, op, right) or _is_guess(right, op, left):
        return Value(("compare", type(op).__name__, left.key, right.key), tags=tags)
    if left.known and right.known:
        try:
            return constant(bool(_COMPARE[type(op)](left.const, right.const)), spread, origin, tags)
        except (TypeError, ValueError):
            return Value(
                ("compare", type(op).__name__, left.key, right.key),
                UNKNOWN,
                spread,
                origin,
                tags=tags,
            )
    if (
        left.known
        and isinstance(op, (ast.In, ast.NotIn))
        and right.items is not None
        and all(i.known for i in right.items)
    ):
        found = left.const in [i.const for i in right.items]
        return constant(found is isinstance(op, ast.In), spread, origin, tags)
    if (
        isinstance(op, (ast.Is, ast.IsNot))
        and _never_none(left)
        and right.const is None
        and right.known
    ):
        return constant(isinstance(op, ast.IsNot), spread, origin, tags)
    if isinstance(op, _STRUCTURAL) and spread is Spread.LOCAL and "signal" not in tags:
        spread, origin = (
            (left.spread, left.origin) if left.spread is Spread.RANK else (Spread.UNIFORM, None)
        )
    if (
        isinstance(op, (ast.Eq, ast.Lt, ast.Gt, ast.LtE, ast.GtE, ast.NotEq))
        and spread is not Spread.RANK
    ):
        tags = tags | {"bool-mask"}
    negated = _NEGATED.get(type(op))
    if negated is not None:
        return negate(_compare_pair(left, negated(), right))
    return Value(
        ("compare", type(op).__name__, left.key, right.key), UNKNOWN, spread, origin, tags=tags
    )


def _never_none(value: Value) -> bool:
    return (
        value.given
        or value.items is not None
        or isinstance(value.target, (Closure, Class, Module))
        or (
            value.type is not None
            and value.key is not None
            and isinstance(value.key, tuple)
            and value.key[:1] == ("instance",)
        )
    )


def _is_guess(value: Value, op: ast.cmpop, other: Value) -> bool:
    """Whether the assumed world size would decide a comparison that real runs decide either way."""
    if (
        "world_size" not in value.tags
        or not value.known
        or other.spread is Spread.RANK
        or value.spread is Spread.RANK
    ):
        return False
    if "world_size" in other.tags:
        return False
    # world_size > 1, == 1, != 1, <= 1, >= 2 ask "distributed?"; everything else asks for a number.
    return not (
        other.known
        and isinstance(other.const, int)
        and (other.const <= 1 or (other.const == 2 and isinstance(op, (ast.GtE, ast.Lt))))
    )


def _ifexp(frame: Frame, node: ast.IfExp) -> Value:
    test = evaluate(frame, node.test)
    frame.note_divide(node.test, test, False)
    truth = test.truthiness()
    if truth is not None:
        with frame.guarded(node.test, test, truth):
            value = evaluate(frame, node.body if truth else node.orelse)
        if test.spread is Spread.RANK and value.spread is Spread.UNIFORM:
            return value.but(spread=Spread.RANK, origin=test.origin)
        return value
    outer = frame.steps
    then: list[Step] = []
    orelse: list[Step] = []
    frame.steps = then
    with frame.guarded(node.test, test, True):
        a = _narrowed(frame, node.test, True, node.body)
    frame.steps = orelse
    with frame.guarded(node.test, test, False):
        b = _narrowed(frame, node.test, False, node.orelse)
    frame.steps = outer
    if then or orelse:
        outer.append(Branch(test, node.test, then, orelse))
    value = join(a, b, ("ifexp", id(node), test.key))
    if a.known and b.known and not value.known and test.spread is Spread.UNIFORM:
        value = value.but(logic=("choice", (test, a, b)))
    if test.spread > value.spread:
        value = value.but(spread=test.spread, origin=test.origin)
    return value


def _narrowed(frame: Frame, test: ast.expr, taken: bool, node: ast.expr) -> Value:
    """An arm of a conditional expression, with what a test of the class says of a variable there."""
    match test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), _]):
            before = frame.env.get(name)
            if before is not None and before.wraps:
                frame.narrow(test, taken)
                value = evaluate(frame, node)
                frame.env[name] = before
                return value
    return evaluate(frame, node)


def _sequence(frame: Frame, node: ast.Tuple | ast.List | ast.Set) -> Value:
    items: list[Value] | None = []
    values = []
    for element in node.elts:
        if isinstance(element, ast.Starred):
            star = evaluate(frame, element.value)
            values.append(star)
            if items is not None and star.items is not None:
                items.extend(star.items)
            else:
                items = None
        else:
            value = evaluate(frame, element)
            values.append(value)
            if items is not None:
                items.append(value)
    spread, origin, tags = spread_of(values)
    fixed = tuple(items) if items is not None and len(items) <= _MAX_ITEMS else None
    if fixed is not None and all(i.known for i in fixed) and not any(i.tags for i in fixed):
        make = tuple if isinstance(node, ast.Tuple) else list
        return Value(
            ("display", tuple(i.key for i in fixed)),
            make(i.const for i in fixed),
            spread,
            origin,
            items=fixed,
        )
    key = ("display", tuple(i.key for i in fixed)) if fixed is not None else ("display", id(node))
    truth = bool(fixed) if fixed is not None else None
    return Value(key, UNKNOWN, spread, origin, tags=tags, items=fixed, truth=truth)


def _dict(frame: Frame, node: ast.Dict) -> Value:
    values = [evaluate(frame, v) for v in node.values]
    values += [evaluate(frame, k) for k in node.keys if k is not None]
    spread, origin, tags = spread_of(values)
    return Value(
        ("display", id(node)),
        UNKNOWN,
        spread,
        origin,
        tags=tags,
        truth=bool(node.keys) if all(node.keys) else None,
    )


def _joined(frame: Frame, node: ast.JoinedStr) -> Value:
    values = [
        evaluate(frame, part.value if isinstance(part, ast.FormattedValue) else part)
        for part in node.values
    ]
    spread, origin, tags = spread_of(values)
    if all(v.known for v in values) and all(
        not isinstance(p, ast.FormattedValue) or p.format_spec is None for p in node.values
    ):
        return constant("".join(str(v.const) for v in values), spread, origin, tags)
    return Value(("format", tuple(v.key for v in values)), UNKNOWN, spread, origin, tags=tags)


def _comprehension(
    frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
) -> Value:
    saved = dict(frame.env)
    outer = frame.steps
    iterables: list[Value] = []
    first = True
    for generator in node.generators:
        iterable = evaluate(frame, generator.iter)
        if first:
            frame.steps, first = [], False
        iterables.append(iterable)
        frame.assign(generator.target, frame.element_of(iterable, generator.target))
        for test in generator.ifs:
            value = evaluate(frame, test)
            iterables.append(value.but(tags=value.tags - {"bool-mask"}))
    if isinstance(node, ast.DictComp):
        element = join(
            evaluate(frame, node.key), evaluate(frame, node.value), ("element", id(node))
        )
    else:
        element = evaluate(frame, node.elt)
    body, frame.steps = frame.steps, outer
    frame.env = saved
    if body:
        frame.loop_over(node, iterables[0], body)
    spread, origin, tags = spread_of([*iterables, element])
    return Value(
        ("comprehension", id(node)), UNKNOWN, spread, origin, tags=tags, wraps=element.wraps
    )


def _lambda(frame: Frame, node: ast.Lambda) -> Value:
    function = Function(
        "<lambda>", f"{frame.function.qualname}.<lambda>", node, frame.module, parent=frame.function
    )
    return Value(("lambda", id(node)), target=Closure(function, frame.visible()))


def _named(frame: Frame, node: ast.NamedExpr) -> Value:
    value = evaluate(frame, node.value)
    frame.assign(node.target, value)
    return value


def _await(frame: Frame, node: ast.Await) -> Value:
    return evaluate(frame, node.value)


def _yield(frame: Frame, node: ast.Yield | ast.YieldFrom) -> Value:
    if node.value is not None:
        frame.yielded(evaluate(frame, node.value))
    frame.steps.append(Yield(node))
    return Value(("yield", id(node)))


def _starred(frame: Frame, node: ast.Starred) -> Value:
    return evaluate(frame, node.value)


_HANDLERS: Final[dict[type[ast.expr], Callable[[Frame, Any], Value]]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: calls.evaluate_call,
    ast.Subscript: _subscript,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.IfExp: _ifexp,
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
