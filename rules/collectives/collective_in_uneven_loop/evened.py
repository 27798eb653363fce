"""What makes loops over parts of the data equally long, or lets ranks leave them at different turns."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Final

from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.syntax import assignments
from distlint.nodes import children, last_name, walk
from distlint.patterns import pattern

SIZE: Final = pattern(r"world|num_(?:gpus|replicas|proc|rank|shard)|n_?gpus?$|nproc", re.IGNORECASE)
"""Names of the number of ranks."""


def is_made_even(model: Model, function: Function, loop: ast.AST) -> bool:
    """Whether what is cut into parts was brought to a multiple of the number of ranks before.

    stylegan3 c233a91 metrics/precision_recall.py:30: `num_batches = (… // num_gpus + 1) * num_gpus`, and as many
    pieces of a padded tensor.
    """
    known = assignments(function)
    iterated: ast.AST = getattr(loop, "iter", loop)
    work, seen = [iterated], set[str]()
    for expression in work:
        for node in _without_bounds(expression):
            match node:
                case ast.BinOp(left=left, op=ast.Mult() | ast.Mod(), right=right):
                    if SIZE.search(last_name(left)) or SIZE.search(last_name(right)):
                        return True
                case ast.Name(id=name) if name not in seen:
                    seen.add(name)
                    work += known.get(name, ())
                case ast.Call(func=called) if _evens(model, function, called):
                    return True
    return False


def _evens(model: Model, function: Function, called: ast.expr) -> bool:
    """Whether a helper of the program brings what it cuts to a multiple of the number of ranks."""
    helper = model.resolve(function.module, called)
    return isinstance(helper, Function) and any(
        isinstance(node.op, ast.Mult | ast.Mod)
        and any(SIZE.search(last_name(side)) for side in (node.left, node.right))
        for node in walk(helper.node, ast.BinOp)
    )


def _without_bounds(expression: ast.AST) -> Iterator[ast.AST]:
    """An expression and what is below it, but for the bounds of slices and what a comprehension asks."""
    work = [expression]
    for node in work:
        yield node
        match node:
            case ast.Subscript(value=value, slice=ast.Slice()):
                work.append(value)
            case ast.comprehension(iter=iterable):
                work.append(iterable)
            case _:
                work += children(node)


def is_joined(function: Function, loop: ast.AST) -> bool:
    """Whether ranks that have left a loop shadow the collectives of the others: `with model.join():`."""
    known = assignments(function)
    for node in walk(function.node, ast.With, ast.AsyncWith):
        if any(inner is loop for inner in walk(node)):
            names = [last_name(item.context_expr) for item in node.items]
            # wenet 0154699 wenet/utils/executor.py:45: `model_context = model.join`
            names += [last_name(value) for name in names for value in known.get(name, ())]
            if not {"join", "Join"}.isdisjoint(names):
                return True
    return False


def ends_before_its_data(function: Function, loop: ast.AST) -> bool:
    """Whether a loop over a stream ends by a count of its turns, in no loop of epochs: the stream outlasts it.

    GaLore 2cc66f8 torchrun_main.py:406: `if update_step > args.num_training_steps: break`, over streamed C4.
    """
    if not isinstance(loop, ast.For) or "streaming=True" not in function.module.source.text:
        return False
    if any(
        outer is not loop and loop in walk(outer)
        for outer in walk(function.node, ast.For, ast.While)
    ):
        return False
    counted = {
        last_name(node.target)
        for node in walk(loop, ast.AugAssign)
        if isinstance(node.op, ast.Add)
        if isinstance(node.value, ast.Constant)
    }
    return any(
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.Gt | ast.GtE | ast.Eq)
        and last_name(test.left) in counted
        and isinstance(body[-1], ast.Break | ast.Return)
        for statement in loop.body
        if isinstance(statement, ast.If)
        for test, body in [(statement.test, statement.body)]
    )


def counts_each_turn(loop: ast.AST) -> bool:
    """Whether a loop ends by a count to which each way through its body adds the same: ranks differ in what a turn does.

    CatVTON71 3365d6b archive/ddp_train.py:704: `global_step += 1` in front of the `continue` of a loss that is not finite, and at
    the end.
    """
    match loop:
        case ast.While(test=ast.Compare(left=ast.Name(id=count), comparators=[bound])):
            pass
        case _:
            return False
    stored = [n for n in walk(loop, ast.Name) if isinstance(n.ctx, ast.Store)]
    added = [n for n in walk(loop, ast.AugAssign) if last_name(n.target) == count]
    if sum(n.id == count for n in stored) != len(added) or not {
        n.id for n in walk(bound, ast.Name)
    }.isdisjoint(n.id for n in stored):
        return False
    if len({ast.unparse(n) for n in added}) != 1 or not isinstance(added[0].value, ast.Constant):
        return False
    ends = _added(loop.body, count)
    return ends is not None and ends[0] | ends[1] == {1}


def _added(block: list[ast.stmt], count: str) -> tuple[set[int], set[int]] | None:
    """How often the ways through a block add to a count, to its end and to a `continue`; None where one leaves the loop."""
    through, again = {0}, set[int]()
    for statement in block:
        match statement:
            case ast.AugAssign() if last_name(statement.target) == count:
                through = {times + 1 for times in through}
                continue
            case ast.Continue():
                return set(), again | through
            case ast.Raise():
                return set(), again
            case ast.Break() | ast.Return():
                return None
            case ast.If(body=body, orelse=orelse):
                arms = [_added(body, count), _added(orelse, count)]
            case ast.With(body=body):
                arms = [_added(body, count)]
            case _:
                if any(last_name(n.target) == count for n in walk(statement, ast.AugAssign)):
                    return None
                if any(walk(statement, ast.Return)) or _leaves_from_inside(statement):
                    return None
                continue
        known = [arm for arm in arms if arm is not None]
        if len(known) < len(arms):
            return None
        again |= {before + times for before in through for arm in known for times in arm[1]}
        through = {before + times for before in through for arm in known for times in arm[0]}
    return through, again


def _leaves_from_inside(statement: ast.stmt) -> bool:
    """Whether a `try` may leave the loop around it, or go on with the next turn; a loop keeps its own jumps."""
    return not isinstance(statement, ast.For | ast.While) and any(
        walk(statement, ast.Break, ast.Continue)
    )
