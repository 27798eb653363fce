"""Splits by hand: an order that is drawn, and the parts of it that are for training and for testing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.syntax import assignments, mentions_rank, own_nodes, target_names
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

_ORDERS: Final = frozenset({"numpy.random.permutation", "numpy.random.permuted", "torch.randperm"})
"""What gives the indices in an order of its own."""
_SHUFFLES: Final = frozenset({"random.shuffle", "numpy.random.shuffle"})
"""What puts a list into another order."""
WORDS: Final = ("permutation", "permuted", "randperm", "shuffle")
_PART: Final = pattern(r"train|test|val|eval|dev|held", re.IGNORECASE)


def drawn_splits(model: Model, module: Module) -> Iterator[tuple[Function, ast.Call]]:
    """The calls that draw the order by which a function parts its data into some to train on and some to test on.

    ToolBench d56fdd8 toolbench/train/train.py:239: `perm[:split]` and `perm[split:]` of a permutation.
    """
    for function in module.all_functions:
        nodes = own_nodes(function)
        if any(isinstance(node, ast.If) and mentions_rank(node.test) for node in nodes):
            continue
        for node in nodes:
            order = order_drawn(model, function, node)
            if order and _is_parted(nodes, order) and isinstance(node, ast.Call):
                group = model.call_at(node)
                if group is None or not group.guarded_by_rank:
                    yield function, node


def order_drawn(model: Model, function: Function, node: ast.AST) -> str:
    """The variable that holds what a call has put in order; "" where it is no such call, or has a generator."""
    if not isinstance(node, ast.Call) or last_name(node.func) not in WORDS:
        return ""
    if any(k.arg == "generator" for k in node.keywords):
        return ""
    meaning = _of_generator(function, node) or model.resolve(function.module, node.func)
    if meaning in _SHUFFLES and len(node.args) == 1:
        return next(target_names(node.args[0]), "")
    if meaning in _ORDERS:
        for each in own_nodes(function, ast.Assign):
            if any(n is node for n in walk(each.value)):
                return next(target_names(each.targets[0]), "")
    return ""


def _of_generator(function: Function, node: ast.Call) -> str:
    """What a method of a generator without a seed does, by the name of NumPy's own function; "" for other calls."""
    return f"numpy.random.{last_name(node.func)}" if is_of_generator(function, node) else ""


def is_of_generator(function: Function, node: ast.Call) -> bool:
    """Whether a call draws from a generator that its function makes without a seed, and so with one of the process's own.

    DiffSinger 753b7cc utils/training_utils.py:108: `rng = np.random.default_rng()`.
    """
    match node.func:
        case ast.Attribute(value=ast.Name(id=name)):
            made = assignments(function).get(name, [])
            return bool(made) and all(
                isinstance(value, ast.Call)
                and last_name(value.func) == "default_rng"
                and not value.args
                and not value.keywords
                for value in made
            )
    return False


def _is_parted(nodes: tuple[ast.AST, ...], order: str) -> bool:
    """Whether the beginning of a list and its rest get names of what is trained on and what is tested on."""
    heads = tails = False
    for node in nodes:
        if isinstance(node, ast.Assign) and any(
            _PART.search(name) for target in node.targets for name in target_names(target)
        ):
            for part in walk(node.value, ast.Subscript):
                match part:
                    case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper)):
                        if order in target_names(value):
                            heads = heads or (lower is None and upper is not None)
                            tails = tails or (lower is not None and upper is None)
    return heads and tails
