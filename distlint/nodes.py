"""The children of a syntax node and the walk over all below it, as in `ast` at a third of the cost; names, literals, comparisons."""

from __future__ import annotations

import ast
import operator
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar, overload

A = TypeVar("A", bound=ast.AST)
B = TypeVar("B", bound=ast.AST)
C = TypeVar("C", bound=ast.AST)
D = TypeVar("D", bound=ast.AST)

COMPARISONS: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
"""What a comparison of two constants computes; whether one is in another is left out."""


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below a node, in the order of `ast.iter_child_nodes`.

    Without `Load`, `Store` and `Del`: every name has one, nobody looks for them, and they are a
    third of all nodes.
    """
    fields = _FIELDS.get(node.__class__)
    if fields is None:
        fields = _FIELDS[node.__class__] = tuple(f for f in node._fields if f not in _NO_NODES)
    found: list[ast.AST] = []
    for name in fields:
        value: Any = getattr(node, name, None)
        if value.__class__ is list:
            if name in _MIXED:
                value = [item for item in value if isinstance(item, ast.AST)]
            found += value
        elif value is not None and isinstance(value, ast.AST):
            found.append(value)
    return found


@overload
def walk(
    node: ast.AST,
    kind: type[A],
    other: type[B] = ...,
    third: type[C] = ...,
    fourth: type[D] = ...,
    /,
) -> Iterator[A | B | C | D]: ...
@overload
def walk(node: ast.AST, /, *kinds: type[ast.AST]) -> Iterator[ast.AST]: ...
def walk(node: ast.AST, /, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    """A node and all below it, in the order of `ast.walk`; with `kinds` those of these classes alone.

    Dozens of questions walk the same modules, functions and loops: those keep the answer, for each set of kinds.
    A tree does not change once it is parsed.
    """
    if node.__class__ not in _WALKED_OFTEN:
        return (each for each in _below(node) if each.__class__ in kinds) if kinds else _below(node)
    kept: Nodes | None = node.__dict__.get(_KEPT)
    if kept is None:
        kept = node.__dict__[_KEPT] = {(): tuple(_below(node))}
    found = kept.get(kinds)
    if found is None:
        found = kept[kinds] = of_kinds(kept, kinds)
    return iter(found)


_APART: Final = (ast.AST,)
"""Kept, as a kind that no node has, where each kind has been put down by itself."""
Nodes = dict[tuple[type[ast.AST], ...], tuple[ast.AST, ...]]
"""The nodes that something holds, by the kinds asked for: all of them under (), each kind alone under itself."""


def of_kinds(kept: Nodes, kinds: tuple[type[ast.AST], ...]) -> tuple[ast.AST, ...]:
    """The nodes of some kinds, in their order; at the first look each kind is put down by itself."""
    nodes = kept[()]
    if len(kinds) > 1:
        return tuple([node for node in nodes if node.__class__ in kinds])
    if _APART not in kept:
        kept[_APART] = ()
        apart: defaultdict[type[ast.AST], list[ast.AST]] = defaultdict(list)
        for node in nodes:
            apart[node.__class__].append(node)
        kept.update({(kind,): tuple(found) for kind, found in apart.items()})
    return kept.get(kinds, ())


def _below(node: ast.AST) -> Iterator[ast.AST]:
    found = [node]
    for each in found:
        yield each
        if each.__class__ not in LEAVES:
            found += children(each)


def parents_in(root: ast.AST) -> dict[int, ast.AST]:
    """The node directly above each node below `root`, by the identity of the lower one."""
    return {id(child): node for node in walk(root) for child in children(node)}


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name, that of what is called for a call; "" for anything else."""
    # Attributes and names first, of which there are most.
    while True:
        if isinstance(node, ast.Attribute):
            return node.attr
        if isinstance(node, ast.Name):
            return node.id
        if not isinstance(node, ast.Call):
            return ""
        node = node.func


_NO_NODES: Final = frozenset(
    {"ctx", "id", "attr", "arg", "asname", "kind", "level", "lineno", "module", "type_comment"}
)
"""Fields that hold text, numbers or an expression's context."""

_MIXED: Final = frozenset({"keys", "kw_defaults", "kwd_attrs", "names"})
"""Lists that also hold None or text: of a dict, of parameters, of patterns, of `global`."""

_WALKED_OFTEN: Final = frozenset(
    {ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While}
)
"""Kinds of nodes that keep what is below them: a tenth of the time of a check, no measurable memory."""

_KEPT: Final = "_distlint_below"
"""The attribute of a node under which it keeps that."""

LEAVES: Final = frozenset({ast.Name, ast.Constant, ast.Pass, ast.Break, ast.Continue})
"""Kinds of nodes that have nothing below them."""

_FIELDS: Final[dict[type[ast.AST], tuple[str, ...]]] = {}


def is_false(node: ast.AST | None) -> bool:
    """Whether a node is a written `False`."""
    return isinstance(node, ast.Constant) and node.value is False
