"""Where a number decides how a training goes on: the best checkpoint, the end, the learning rate."""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.environment import statements
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import ends_process, own_nodes, target_names
from distlint.analysis.questions.training import training_loops
from distlint.knowledge import facts, settings
from distlint.knowledge.shares import LOCAL_LIBRARIES
from distlint.nodes import children, last_name, walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function


class Aim(enum.Enum):
    """What is decided."""

    BEST = "which checkpoint is the best"
    STOP = "when to stop"
    RATE = "the learning rate"


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """A number that decides: where, what, and the statement or call that does it."""

    node: ast.AST
    value: ast.expr
    aim: Aim


_STOPPER: Final = pattern(r"early_?stop|stopper|patience", re.IGNORECASE)
_KEEPS: Final = pattern(r"save|checkpoint|ckpt|state_dict|dump|export|push|write|copy", re.I)
"""Calls that keep the state of the moment, by what they are called."""
_TELLS: Final = pattern(r"(?:log|print|info|debug|warn)(?:_|$)", re.I)
"""Calls that tell of a number, by what they are called."""
_ENDS: Final = (ast.Break, ast.Return, ast.Raise, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)
_ORDERS: Final = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def decisions(function: Function) -> Iterator[Decision]:
    """The decisions of a function, in source order of their kinds."""
    trained = list(training_loops(function))
    in_training = {id(inner) for loop in trained for inner in walk(loop)}
    ending = {id(node) for loop in trained for node in _own_breaks(loop.body)}
    counters = _counters(function)
    alone = {id(n.value) for n in own_nodes(function, ast.Expr)}
    for node in own_nodes(function, ast.If, ast.Assign, ast.Call):
        match node:
            case ast.If():
                yield from _best(function, node)
                ends, otherwise = (
                    any(id(part) in ending for part in arm) for arm in (node.body, node.orelse)
                )
                # VA-VAE 708b942 microdoppler_finetune/step8_train_dit_from_scratch.py:678: both arms end in `break`.
                if id(node) in in_training and ends and not otherwise:
                    yield from (d for d in _stop(node) if last_name(d.value) not in counters)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Compare() as compare) if (
                "best" in name.lower() and not _is_only_told(function, name)
            ):
                yield from (
                    Decision(compare, value, Aim.BEST)
                    for value, other in _sides(compare)
                    if "best" in ast.unparse(other).lower()
                )
            case ast.Call(func=ast.Attribute(attr="step", value=owner), args=[value, *_]) if (
                # A scheduler of noise gives back the sample of the step before; of rates, nothing
                # (ImageReward 2ca71bac ImageReward/ReFL.py:728).
                "sched" in ast.unparse(owner).lower() and id(node) in alone
            ):
                yield Decision(node, value, Aim.RATE)
            case ast.Call(args=[value, *_]) if _STOPPER.search(ast.unparse(node.func)) or (
                dotted_name(node.func) in _stoppers(function)
            ):
                if not _ends_nothing(function, node):
                    yield Decision(node, value, Aim.STOP)


def _ends_nothing(function: Function, stopper: ast.Call) -> bool:
    """Whether a stopper is asked in a condition under which nothing ends, and nothing is noted that may end something later.

    pred-knee-replacement-oai src/train_distributed_patch.py:438: `if early_stopper.early_stop(valid_loss) and rank == 0:` saves
    one more checkpoint.
    """
    asking = (
        node
        for node in own_nodes(function, ast.If)
        if any(part is stopper for part in walk(node.test, ast.Call))
    )
    return any(
        not any(_may_end(part) for each in (*node.body, *node.orelse) for part in walk(each))
        for node in asking
    )


def _may_end(node: ast.AST) -> bool:
    """Whether a part of a branch leaves the function or the loop, or notes something that may be asked for later."""
    match node:
        case ast.Call(func=func):
            return ends_process(func)
        case ast.Assign(targets=targets, value=value):
            return isinstance(value, ast.Constant) or not all(
                isinstance(target, ast.Name) for target in targets
            )
    return isinstance(node, _ENDS)


@remembered
def _stoppers(function: Function) -> frozenset[str]:
    """The variables of a function, and attributes of its object, that hold what stops early, by the class that it is of.

    spec2mol b4c404f utils/utils.py:510: `es = EarlyStop(…)`, `es(acc, …)`.
    """
    scopes = [function, *(function.cls.methods.values() if function.cls is not None else ())]
    return frozenset(
        dotted_name(target)
        for scope in scopes
        for node in own_nodes(scope, ast.Assign)
        if isinstance(node.value, ast.Call) and _STOPPER.search(last_name(node.value))
        for target in node.targets
        if scope is function or dotted_name(target).startswith("self.")
    )


def _best(function: Function, node: ast.If) -> Iterator[Decision]:
    """`if loss < best: best = loss`, where something follows from it."""
    kept = {
        name
        for statement, _ in statements(node.body)
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        for name in target_names(target)
    }
    for compare in walk(node.test, ast.Compare):
        for value, other in _sides(compare):
            names = kept.intersection(target_names(other))
            if (
                names
                and _is_told_on(node, names)
                and not _is_forgotten(function, node, names)
                and not _is_sought_anew(function, node, names)
                and not _is_only_recorded(function, node, names)
            ):
                yield Decision(compare, value, Aim.BEST)


def _is_told_on(node: ast.If, names: set[str]) -> bool:
    """Whether something follows from a new extreme: it is called the best, something is saved, a flag or counter
    is set.

    A running minimum that is only remembered decides nothing: FlagEmbedding 7ed43d6
    research/Long_LLM/activation_beacon/main/eval_topic.py:146, the window of one rank's own copy of the model.
    """
    if any("best" in name.lower() for name in names):
        return True
    for statement, _ in statements(node.body):
        match statement:
            case ast.Assign(value=ast.Constant()) | ast.AugAssign():
                return True
        for part in walk(statement, ast.Call):
            if _KEEPS.search(ast.unparse(part.func)) or any(
                settings.names_model(last_name(given)) for given in part.args
            ):
                return True
    return False


def _is_only_told(function: Function, name: str) -> bool:
    """Whether a flag goes into calls that log alone: another comparison decides.

    Medical-Image-Segmentation-For-COVID-19-By-Unet-STUDY-ONLY- 7971f20 src/train_ddp.py:367: `log_epoch(…, is_best=is_best)`.
    """
    told = {
        id(part)
        for call in own_nodes(function, ast.Call)
        if _TELLS.match(last_name(call))
        for part in walk(call, ast.Name)
    }
    read = [
        n for n in own_nodes(function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)
    ]
    return bool(read) and all(id(n) in told for n in read)


def _is_forgotten(function: Function, node: ast.If, names: set[str]) -> bool:
    """Whether a new extreme is remembered by the function or its object and nothing more, and nothing else of the file reads it.

    SAM-Med3D f3de1fa train.py:389: `if print_loss < self.step_best_loss: self.step_best_loss = print_loss`.
    """
    if node.orelse or not all(
        isinstance(statement, ast.Assign) and names.issuperset(map(dotted_name, statement.targets))
        for statement in node.body
    ):
        return False
    if not all(name.rpartition(".")[0] in ("", "self") for name in names):
        return False
    last = {name.rpartition(".")[2] for name in names}
    here = {id(part) for part in walk(node)}
    return not any(
        last_name(read) in last and isinstance(read.ctx, ast.Load) and id(read) not in here
        for read in walk(function.module.source.tree, ast.Name, ast.Attribute)
    )


def _is_only_recorded(function: Function, node: ast.If, names: set[str]) -> bool:
    """Whether a new extreme is kept and told, and all that reads it beside tells it, or puts it into a record.

    torch-DDP distributed_image_train.py:256: `best_acc = val_acc`, a line that says so, and `{"best_accuracy": best_acc}`.
    """
    if node.orelse or not all(
        (isinstance(each, ast.Assign) and names.issuperset(map(dotted_name, each.targets)))
        or (
            isinstance(each, ast.Expr)
            and isinstance(each.value, ast.Call)
            and _TELLS.match(last_name(each.value))
        )
        for each in node.body
    ):
        return False
    recorded = {
        id(part)
        for each in own_nodes(function, ast.Call, ast.Dict, ast.Assign)
        if _tells_or_records(each)
        for part in walk(each, ast.Name)
    }
    inside = {id(part) for part in walk(node)}
    reads = [
        read
        for read in walk(function.node, ast.Name)
        if read.id in names and isinstance(read.ctx, ast.Load) and id(read) not in inside
    ]
    return (
        bool(reads)
        and all("." not in name for name in names)
        and all(id(read) in recorded for read in reads)
    )


def _tells_or_records(node: ast.AST) -> bool:
    match node:
        case ast.Call():
            return _TELLS.match(last_name(node)) is not None
        case ast.Assign(
            targets=[ast.Subscript(slice=ast.Constant(value=str()))],
            value=ast.Name() | ast.Call(func=ast.Name(id="float" | "round")),
        ):
            return True
    return isinstance(node, ast.Dict)


def _is_sought_anew(function: Function, node: ast.If, names: set[str]) -> bool:
    """Whether an extreme begins anew in each turn of a loop, and is sought with functions of libraries alone: the nearest of
    some points, for each of others.

    Raster2Seq 031f565 evaluations/s3d_floorplan_eval/Evaluator/Evaluator.py:478: the door that lies next to one of a plan.
    """
    return any(
        isinstance(begun, ast.Assign)
        and isinstance(begun.value, ast.Constant)
        and not names.isdisjoint(map(dotted_name, begun.targets))
        and any(
            isinstance(search, ast.For | ast.While)
            and any(part is node for part in walk(search, ast.If))
            and all(_only_computes(function, call) for call in walk(search, ast.Call))
            for search in loop.body
        )
        for loop in own_nodes(function, ast.For, ast.While)
        for begun in loop.body
    )


def _only_computes(function: Function, call: ast.Call) -> bool:
    """Whether a call is one of Python's own functions, or of a library that knows of one process and keeps nothing."""
    name = dotted_name(call.func)
    root, _, rest = name.partition(".")
    if not rest and facts.is_builtin(root) and root not in function.module.imports:
        return True
    meant = f"{function.module.imports.get(root, '')}.{rest}"
    return meant.startswith(LOCAL_LIBRARIES) and not _KEEPS.search(name)


def _own_breaks(body: list[ast.stmt]) -> Iterator[ast.Break]:
    """What ends a loop with this body, and no loop inside.

    StyleTTS2 5cedc71 train_first.py:412: `if bib >= 6: break` ends a loop over the samples that are drawn.
    """
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Break):
            yield node
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            stack += node.orelse
        elif isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
            stack += children(node)


def _counters(function: Function) -> frozenset[str]:
    """The names that count the rounds of a loop: they measure nothing."""
    found: set[str] = set()
    for node in own_nodes(function, ast.For):
        match node:
            case (
                ast.For(
                    target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range" | "trange"))
                )
                | ast.For(
                    target=ast.Tuple(elts=[ast.Name(id=name), _]),
                    iter=ast.Call(func=ast.Name(id="enumerate")),
                )
            ):
                found.add(name)
    return frozenset(found)


def _stop(node: ast.If) -> Iterator[Decision]:
    """`if kl > limit: break` in a loop that trains."""
    for compare in walk(node.test, ast.Compare):
        yield from (Decision(compare, value, Aim.STOP) for value, _ in _sides(compare))


def _sides(compare: ast.Compare) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Both sides of an order, each with the other."""
    if len(compare.ops) == 1 and isinstance(compare.ops[0], _ORDERS):
        left, right = compare.left, compare.comparators[0]
        yield left, right
        yield right, left
