"""Conditions: `and`, `or`, `not`, comparisons and conditional expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from distlint.analysis.interpreter.frame import Frame
from distlint.analysis.interpreter.ir import (
    Branch,
    Step,
)
from distlint.analysis.interpreter.iteration import REMAINDER, UNEVEN
from distlint.analysis.interpreter.narrowing import narrow
from distlint.analysis.interpreter.values import (
    AGREED,
    ALL_GIVEN,
    HOST_ARRAY,
    MODEL_OUTPUT,
    NO_TAGS,
    NUMBERED,
    UNKNOWN,
    Origin,
    Value,
    Variance,
    constant,
    join,
    variance_of,
)
from distlint.analysis.program.batches import asks_for_empty
from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.settled import settled
from distlint.analysis.program.syntax import (
    asks_for_zero3,
    assignments,
    default_of,
    only_adds_a_bar,
    own_nodes,
)
from distlint.analysis.program.training_arguments import asks_list_for_text
from distlint.knowledge import facts, ranks
from distlint.knowledge.conventions import PER_MACHINE
from distlint.knowledge.failures import TENSOR_SIZE
from distlint.nodes import COMPARISONS, last_name

_COMPARE: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    **COMPARISONS,
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

_RANKS: Final = frozenset({"rank", "global_rank", "world_rank"})
"""Names of a rank among all processes: what it leaves over by those of a machine is the local rank."""

# Questions about the kind of a thing, not its contents: the same on all ranks even for a rank's own data.
_STRUCTURAL: Final = (ast.Is, ast.IsNot, ast.In, ast.NotIn)


def boolean(frame: Frame, node: ast.BoolOp) -> Value:
    """`and`/`or`: later operands are evaluated under the earlier ones, up to the one that decides."""
    is_and = isinstance(node.op, ast.And)
    op = "and" if is_and else "or"
    operands = [asked_for(frame, node.values[0])]
    nested: list[tuple[Value, list[Step], ast.expr]] = []
    decided = operands[0].truthiness() is (not is_and)
    for test, part in zip(node.values, node.values[1:], strict=False):
        if decided:
            break
        before = _logic(op, operands, node)
        with frame.filling([]) as steps, frame.guarded(test, before, is_and):
            operands.append(asked_for(frame, part))
        if steps:
            nested.append((before, steps, part))
        decided = operands[-1].truthiness() is (not is_and)
    frame.operands[node] = list(zip(node.values, operands, strict=False))
    for condition, steps, part in nested:
        if condition.truthiness() is None:
            then, orelse = (steps, []) if is_and else ([], steps)
            frame.steps.append(Branch(condition, part, then, orelse))
        else:
            frame.steps.extend(steps)
    if decided and len(operands) == 1:
        return operands[0]
    if all(v.truthiness() is not None for v in operands):
        variance, origin, tags = variance_of(operands)
        last = operands[-1]
        return last.replace(
            variance=max(variance, last.variance),
            origin=last.origin or origin,
            tags=last.tags | tags,
        )
    return _logic(op, operands, node)


def asked_for(frame: Frame, node: ast.expr) -> Value:
    """What an operand or a test answers: of a model that callers may leave out, whether they have handed it over.

    Each rank has one, and on which device it lives says nothing of whether there is one: textgen 172fc00
    textgen/gpt/gpt_model.py:690, `if model and not self.args.no_save:`, whose `device_map` names the local rank. A writer may be there on rank 0 alone.
    """
    value = frame.evaluate(node)
    if (
        isinstance(node, ast.Name)
        and value.variance is Variance.RANK_DEPENDENT
        and value.truthiness() is None
        and node.id in _left_out(frame.function)
    ):
        return value.replace(variance=Variance.UNIFORM, origin=None, tags=NO_TAGS)
    return value


@remembered
def _left_out(function: Function) -> frozenset[str]:
    """The parameters of a function that are None by default, and models where they are given: it asks for what they have."""
    owners = {
        node.value.id
        for node in own_nodes(function, ast.Attribute)
        if isinstance(node.value, ast.Name)
    }
    return (
        frozenset(
            name
            for name in owners.intersection(function.parameters)
            if name.endswith("model")
            and isinstance(default := default_of(function, name), ast.Constant)
            and default.value is None
        )
        - assignments(function).keys()
    )


def _logic(op: str, operands: list[Value], node: ast.AST) -> Value:
    """`and`/`or` of values, as a condition; operands that cannot change the outcome are dropped."""
    neutral = op == "and"
    decided = next((v for v in operands if v.truthiness() is (not neutral)), None)
    # Whether a dict has an entry says nothing of what is in it (oat c1a074c oat/learners/base.py:553: times under names).
    operands = [
        v.replace(variance=Variance.UNIFORM, origin=None) if _of_written_names(v) else v
        for v in operands
    ]
    variance, origin, tags = variance_of(operands)
    open_ = tuple(v for v in operands if v.truthiness() is None)
    if decided is not None:
        return Value((op, id(node)), UNKNOWN, variance, origin, truth=not neutral, tags=tags)
    if not open_:
        return operands[-1]
    ranked = [v for v in operands if v.truthiness() is not None]
    if len(open_) == 1:
        value = open_[0]
        last = operands[-1]
        same_value = last is value
        return value.replace(
            variance=max(value.variance, variance_of(ranked)[0])
            if not same_value
            else value.variance,
            tags=tags,
            truth=None,
            target=value.target if same_value else None,
        )
    variance, origin, _ = variance_of(open_)
    return Value(
        (op, tuple(v.key for v in open_)), UNKNOWN, variance, origin, tags=tags, logic=(op, open_)
    )


def _of_written_names(value: Value) -> bool:
    """Whether a value is a dict that is filled under written names alone, on each rank the same."""
    return (
        value.entries is not None
        and value.type is None
        and value.variance is Variance.RANK_LOCAL
        and not value.tags & UNEVEN
    )


def negate(value: Value) -> Value:
    """The condition `not value`."""
    truth = value.truthiness()
    if truth is not None:
        return constant(not truth, value.variance, value.origin, value.tags)
    if value.logic is not None and value.logic[0] == "not":
        return value.logic[1][0]
    return Value(
        ("not", value.key),
        UNKNOWN,
        value.variance,
        value.origin,
        tags=value.tags,
        logic=("not", (value,)),
    )


def compare(frame: Frame, node: ast.Compare) -> Value:
    """A comparison, chained ones included."""
    if (asks_for_shards := asks_for_zero3(frame.function, node)) is not None:
        frame.evaluate(node.left)
        mode = frame.rank_value("zero3", node, "")
        return mode if asks_for_shards else negate(mode)
    if (equal := asks_list_for_text(frame.summaries.program, frame.function, node)) is not None:
        return constant(equal)
    if id(node) in settled(frame.function):
        return constant(False)
    left = (
        _argument_rank(frame, node) or _place_in_machine(frame, node) or frame.evaluate(node.left)
    )
    results: list[Value] = []
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = frame.evaluate(comparator)
        tags = left.tags | right.tags if left.tags or right.tags else NO_TAGS
        if "world_size" in tags and "rank" in tags:
            frame.note_dependence("is_last")  # `rank == world_size - 1`
        for asked, place, counted in ((node.left, left, right), (comparator, right, left)):
            if REMAINDER in counted.tags:
                frame.note_cut(node, asked, place, counted)
        if _asks_whose_turn(node, left, right):
            key = ("compare", type(op).__name__, left.key, right.key)
            results.append(
                Value(key, UNKNOWN, left.variance, left.origin, tags=frozenset({"rank"}))
            )
        else:
            results.append(_compare_pair(left, op, right))
        left = right
    result = results[0] if len(results) == 1 else _logic("and", results, node)
    if (
        len(results) == 1
        and isinstance(node.ops[0], _STRUCTURAL)
        and result.variance is Variance.RANK_DEPENDENT
        and result.truthiness() is None
    ):
        # Whether something is there is the same on all ranks unless they are seen to differ, even where
        # it was made from the rank (open_clip 3.3.0 main.py: `"train" in data`).
        return Value(("structural", id(node)), tags=result.tags)
    if (
        id(node) in asks_for_empty(frame.function)
        and not result.known
        and AGREED not in result.tags
    ):
        text = "how many elements the parts of this rank's batch have"
        origin = Origin(node, frame.module, text, TENSOR_SIZE)
        return result.replace(variance=Variance.RANK_LOCAL, origin=origin)
    return result


def _asks_whose_turn(node: ast.Compare, left: Value, right: Value) -> bool:
    """Whether a rank is compared with what looks like the same: one of the two is a rank that is asked for.

    Open-Sora-Plan f7fa604 opensora/npu_config.py:333: `def save_loss(self, path, rank=0)`, `self.rank == rank`.
    """
    return (
        isinstance(node.ops[0], (ast.Eq, ast.NotEq))
        and isinstance(node.left, (ast.Name, ast.Attribute))
        and isinstance(node.comparators[0], (ast.Name, ast.Attribute))
        and all(v.known and "kind:rank" in v.tags for v in (left, right))
    )


def _argument_rank(frame: Frame, node: ast.Compare) -> Value | None:
    """`args.rank` in `args.rank == 0`: elsewhere it may be the rank of a matrix."""
    match node:
        case ast.Compare(
            left=ast.Attribute(value=owner, attr=attr) as read,
            comparators=[ast.Constant(value=constant_)],
        ) if dotted_name(read) not in frame.variables:
            kind = facts.argument_attribute(dotted_name(owner), attr, constant_)
            return frame.rank_value(kind, read, f"`{dotted_name(read)}`") if kind else None
    return None


def _place_in_machine(frame: Frame, node: ast.Compare) -> Value | None:
    """`rank % ngpus_per_node` in a comparison with 0: the local rank, whatever object holds the rank.

    relabel_imagenet 3d4824f train.py:289: `self.context.rank % self.context.ngpus_per_node`, where each spawned process
    has set `context.rank`.
    """
    match node:
        case ast.Compare(
            left=ast.BinOp(
                left=ast.Name() | ast.Attribute() as rank, op=ast.Mod(), right=count
            ) as left,
            ops=[ast.Eq() | ast.NotEq()],
            comparators=[ast.Constant(value=0)],
        ) if last_name(rank) in _RANKS and PER_MACHINE.search(ast.unparse(count)):
            return frame.rank_value("local_rank", left, f"`{ast.unparse(left)}`")
    return None


def _compare_pair(left: Value, op: ast.cmpop, right: Value) -> Value:
    if isinstance(op, ast.Eq | ast.NotEq) and right.known and right.const is None:
        op = ast.Is() if isinstance(op, ast.Eq) else ast.IsNot()  # no tensor equals None
    if left.logic is not None and left.logic[0] == "choice" and right.known:
        test, *choices = left.logic[1]
        a, b = (_compare_pair(choice, op, right) for choice in choices)
        if a.known and a.const == b.const:
            return a
        if a.known and b.known:
            key = ("compare", type(op).__name__, left.key, right.key)
            return a.replace(key=key, const=UNKNOWN, logic=("choice", (test, a, b)))
    variance, origin, tags = variance_of((left, right))
    tags = tags - {"masked", "ragged"}
    if _is_guess(left, op, right) or _is_guess(right, op, left):
        return Value(("compare", type(op).__name__, left.key, right.key), tags=tags)
    if _asks_for_launcher(left, op, right):
        return constant(isinstance(op, ast.In))
    if _asks_if_numbered(left, op, right):
        return constant(_COMPARE[type(op)](left.const, right.const), tags=frozenset({NUMBERED}))
    if left.known and right.known:
        try:
            return constant(
                bool(_COMPARE[type(op)](left.const, right.const)), variance, origin, tags
            )
        except (TypeError, ValueError):
            return Value(
                ("compare", type(op).__name__, left.key, right.key),
                UNKNOWN,
                variance,
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
        return constant(found is isinstance(op, ast.In), variance, origin, tags)
    if (
        isinstance(op, (ast.Is, ast.IsNot))
        and left.never_none
        and right.const is None
        and right.known
    ):
        if left.origin is not None and left.origin.kind == ALL_GIVEN:
            return constant(isinstance(op, ast.IsNot))
        return constant(isinstance(op, ast.IsNot), variance, origin, tags)
    names = isinstance(op, (ast.Eq, ast.NotEq)) and (_is_word(left, right) or _is_word(right, left))
    if (
        (names or isinstance(op, _STRUCTURAL))
        and variance is Variance.RANK_LOCAL
        and "signal" not in tags
    ):
        variance, origin = (
            (left.variance, left.origin)
            if left.variance is Variance.RANK_DEPENDENT
            else (Variance.UNIFORM, None)
        )
    if (
        isinstance(op, (ast.Eq, ast.Lt, ast.Gt, ast.LtE, ast.GtE, ast.NotEq))
        and variance is not Variance.RANK_DEPENDENT
        and HOST_ARRAY not in tags
        and not isinstance(left.const, str)
        and not isinstance(right.const, str)  # of a table: no tensor holds texts
    ):
        tags = tags | {"bool-mask"}
    negated = _NEGATED.get(type(op))
    if negated is not None:
        return negate(_compare_pair(left, negated(), right))
    return Value(
        ("compare", type(op).__name__, left.key, right.key), UNKNOWN, variance, origin, tags=tags
    )


def _is_word(value: Value, other: Value) -> bool:
    """Whether what a model gave is compared with a text: no tensor is one, the model's code chose it.

    imaginaire c6f7480 imaginaire/trainers/vid2vid.py:263: `net_G_output["fake_images_source"] != "pretrained"`, set
    by which frame it is and how far the training is.
    """
    return MODEL_OUTPUT in value.tags and other.known and isinstance(other.const, str)


def _asks_if_numbered(left: Value, op: ast.cmpop, right: Value) -> bool:
    """`int(os.environ.get("RANK", -1)) != -1`: each rank of a launch has a number, and none is below 0.

    build-nanogpt 6104ab1 train_gpt2.py:289: what the arm for several ranks sets is the same on all of them.
    """
    return (
        isinstance(op, ast.Eq | ast.NotEq | ast.Gt | ast.GtE | ast.Lt | ast.LtE)
        and "rank" in left.tags
        and "rank" not in right.tags
        and type(left.const) is type(right.const) is int
        and right.const < isinstance(op, ast.GtE | ast.Lt)
    )


def _asks_for_launcher(left: Value, op: ast.cmpop, right: Value) -> bool:
    """`"RANK" in os.environ`: a launched process has it."""
    return (
        right.target == "os.environ"
        and isinstance(op, (ast.In, ast.NotIn))
        and isinstance(left.const, str)
        and left.const in ranks.LAUNCHED_WITH
    )


def _is_guess(value: Value, op: ast.cmpop, other: Value) -> bool:
    """Whether the assumed world size would decide a comparison that real runs decide either way."""
    if (
        "world_size" not in value.tags
        or not value.known
        or other.variance is Variance.RANK_DEPENDENT
        or value.variance is Variance.RANK_DEPENDENT
    ):
        return False
    if "world_size" in other.tags:
        return False
    match value.key:
        case ("environ", name, _) if other.const is None:
            return name not in ranks.LAUNCHED_WITH
    # world_size > 1, == 1, != 1, <= 1, >= 2 ask "distributed?"; everything else asks for a number.
    return not (
        other.known
        and isinstance(other.const, int)
        and (other.const <= 1 or (other.const == 2 and isinstance(op, (ast.GtE, ast.Lt))))
    )


def conditional(frame: Frame, node: ast.IfExp) -> Value:
    """`a if test else b`."""
    test = frame.evaluate(node.test)
    frame.note_rank_condition(node.test, test, False)
    truth = test.truthiness()
    if truth is not None:
        with frame.guarded(node.test, test, truth):
            value = frame.evaluate(node.body if truth else node.orelse)
        differs = test.variance is Variance.RANK_DEPENDENT and not only_adds_a_bar(node)
        if differs and value.variance is Variance.UNIFORM:
            return value.replace(variance=Variance.RANK_DEPENDENT, origin=test.origin)
        return value
    then: list[Step] = []
    orelse: list[Step] = []
    with frame.filling(then), frame.guarded(node.test, test, True):
        a = _narrowed(frame, node.test, True, node.body)
    with frame.filling(orelse), frame.guarded(node.test, test, False):
        b = _narrowed(frame, node.test, False, node.orelse)
    if then or orelse:
        frame.steps.append(Branch(test, node.test, then, orelse))
    value = join(a, b, ("ifexp", id(node), test.key))
    if a.known and b.known and not value.known and test.variance is Variance.UNIFORM:
        value = value.replace(logic=("choice", (test, a, b)))
    if test.variance > value.variance:
        value = value.replace(variance=test.variance, origin=test.origin)
    return value


def _narrowed(frame: Frame, test: ast.expr, taken: bool, node: ast.expr) -> Value:
    """An arm of a conditional expression, with what a test of the class says of a variable there."""
    match test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), _]):
            before = frame.variables.get(name)
            if before is not None and before.wraps:
                narrow(frame, test, taken)
                value = frame.evaluate(node)
                frame.variables.refine(name, before)
                return value
    return frame.evaluate(node)
