"""Data sets that keep the names of files in the order in which the file system lists them, or results as they come."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Function, last_name
from distlint.analysis.program.syntax import assignments, mentions_rank, own_nodes, target_names
from distlint.nodes import children, walk
from distlint.records import dataclass

from .unordered import indexed, is_data_set, is_divided, is_ordered, last_value

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module

_LISTINGS: Final = {
    "glob.glob": True,
    "glob.iglob": True,
    "os.listdir": True,
    "os.scandir": False,
    "os.walk": False,
}
"""Calls that list a folder, and whether `sorted()` around the call is enough."""
_METHODS: Final = frozenset({"glob", "rglob", "iterdir"})
"""The same of `pathlib.Path`, by their names."""
_AS_THEY_COME: Final = frozenset({"imap_unordered", "as_completed"})
"""What gives results in the order in which processes or threads are done with them (python 3.11 multiprocessing/pool.py:423,
concurrent/futures/_base.py:201)."""
_NO_ORDER: Final = frozenset(
    {"sorted", "natsorted", "set", "frozenset", "len", "dict", "Counter", "any", "all", "sum"}
)
"""Calls that sort what they are given, or whose result has nothing of its order."""
_NO_LISTS: Final = (ast.Compare, ast.Dict, ast.DictComp, ast.Set, ast.SetComp, ast.Lambda)
_ADDING: Final = ("append", "extend")
_DEPTH: Final = 7


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """What says which sample has which index: a listing of a folder, or what gives results as they come."""

    call: ast.Call
    module: Module
    kept: ast.AST
    sortable: bool
    """Whether what the call gives is a list of names, which `sorted()` puts in order."""

    @property
    def as_they_come(self) -> bool:
        """Whether the order is another one in each process."""
        return last_name(self.call.func) in _AS_THEY_COME


def listed_samples(model: Model, module: Module) -> Iterator[Listed]:
    """The listings by which the data sets of a file number their samples, where ranks divide these."""
    seen: set[int] = set()
    as_they_come = any(word in module.source.text for word in _AS_THEY_COME)
    for cls in module.all_classes:
        if not as_they_come and "__getitem__" not in cls.methods and not is_data_set(model, cls):
            continue
        kept = indexed(cls)
        of_data = bool(kept) and is_data_set(model, cls)
        if not kept or not (of_data or as_they_come):
            continue
        counts = None if of_data else model.program.find_method(cls, "__len__")
        if not of_data and counts is None:
            continue
        if counts is not None:
            kept = {path for path in kept if _counts(counts, path)}
        if not kept or not is_divided(model, module):
            continue
        for method in cls.methods.values():
            for path, node, value in _kept_in(method, kept):
                found = _unsorted(model, method, value, _DEPTH)
                sorts = any(
                    is_ordered(each, path) or _sorts(each, path) for each in cls.methods.values()
                )
                if found is not None and not sorts and id(found[1]) not in seen:
                    seen.add(id(found[1]))
                    where, call, sortable = found
                    listed = Listed(call, where.module, node, sortable)
                    if of_data or listed.as_they_come:
                        yield listed


def _counts(length: Function, path: str) -> bool:
    """Whether the length of an object is that of what an attribute holds.

    EasyCV 901ff18 easycv/datasets/detection/data_sources/base.py:83: what a data set asks for its samples is no data set.
    """
    return any(
        last_name(node.func) == "len" and any(ast.unparse(arg) == path for arg in node.args)
        for node in own_nodes(length, ast.Call)
    )


def _kept_in(method: Function, paths: set[str]) -> Iterator[tuple[str, ast.AST, ast.expr]]:
    """What a method puts into some attributes, each with the statement and the expression."""
    for node in own_nodes(method, ast.Assign, ast.AugAssign, ast.Call):
        match node:
            case (
                ast.Assign(targets=[target], value=value)
                | ast.AugAssign(target=target, value=value)
            ):
                if (path := ast.unparse(target)) in paths:
                    yield path, node, value
            case ast.Call(func=ast.Attribute(attr=attr, value=owner), args=[value]) if (
                attr in _ADDING
            ):
                if (path := ast.unparse(owner)) in paths:
                    yield path, node, value


def _sorts(method: Function, path: str) -> bool:
    """Whether a method sorts an attribute: `sorted(self.paths)`."""
    return any(
        last_name(node.func) in _NO_ORDER
        and last_name(node.func) != "len"
        and any(ast.unparse(arg) == path for arg in node.args)
        for node in own_nodes(method, ast.Call)
    )


Found = tuple[Function, ast.Call, bool]


def _unsorted(model: Model, function: Function, node: ast.AST, depth: int) -> Found | None:
    """The listing whose order an expression of a function has; None where something sorts it on the way."""
    if not depth:
        return None
    for part in _parts(node):
        match part:
            case ast.Call() if (sortable := _lists(model, function, part)) is not None:
                return function, part, sortable
            case ast.Call(func=func):
                callee = _meant(model, function, func)
                if isinstance(callee, Function) and callee is not function:
                    found = _returned(model, callee, depth - 1)
                    if found is not None:
                        return found
            case ast.Name(id=name, ctx=ast.Load()):
                found = _behind(model, function, part, name, depth - 1)
                if found is not None:
                    return found
    return None


def _meant(model: Model, function: Function, func: ast.expr) -> object:
    """What a call calls; where results may come in any order, a method of its own object as well."""
    match func:
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if (
            function.cls is not None
            and any(word in function.module.source.text for word in _AS_THEY_COME)
        ):
            return model.program.find_method(function.cls, name)
    return model.resolve(function.module, func)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of an expression whose order it has."""
    if isinstance(node, ast.Call) and last_name(node.func) in _NO_ORDER:
        return
    if isinstance(node, _NO_LISTS):
        return  # a test whether a name is there, what is read by its key
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return  # one of the names
    yield node
    if isinstance(node, ast.Call):
        # The order of what a listing is given (a folder's name) is another matter.
        inner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        below: list[ast.AST] = [*inner, *node.args]
    else:
        below = children(node)
    for child in below:
        yield from _parts(child)


def _lists(model: Model, function: Function, call: ast.Call) -> bool | None:
    """Whether what gives things in no order gives a list that `sorted()` can sort; None where a call gives none."""
    if last_name(call.func) in _AS_THEY_COME:
        return None if _is_of_some_ranks(model, call) else False
    meaning = model.resolve(function.module, call.func)
    if isinstance(meaning, str) and meaning in _LISTINGS:
        return _LISTINGS[meaning]
    if isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS:
        owner = ast.unparse(call.func.value)
        if meaning is None and ("Path" in owner or _is_path(function, owner)):
            return True
    return None


def _is_of_some_ranks(model: Model, call: ast.Call) -> bool:
    made = model.call_at(call)
    return made is not None and made.guarded_by_rank


def _is_path(function: Function, name: str) -> bool:
    values = assignments(function).get(name, ())
    return any("Path(" in ast.unparse(value) for value in values)


def _behind(
    model: Model, function: Function, node: ast.expr, name: str, depth: int
) -> Found | None:
    """The listing whose order a variable has: what it was given, its loop, or the loop in which it is filled."""
    if is_ordered(function, name) or _sorts(function, name):
        return None
    value = last_value(function, node, name)
    if value is not None:
        found = _unsorted(model, function, value, depth)
        if found is not None:
            return found
    since = value.lineno if value is not None else 0
    for added in _added(function, name):
        if not since < added.lineno < node.lineno:
            continue
        found = _unsorted(model, function, added, depth)
        if found is not None:
            return found
    for loop in own_nodes(function):
        if not isinstance(loop, ast.For) or not _fills(loop, name):
            continue
        if not since < (loop.end_lineno or loop.lineno) or loop.lineno > node.lineno:
            continue
        if name not in target_names(loop.target):
            found = _unsorted(model, function, loop.iter, depth)
            if found is not None:
                return found
    return None


def _added(function: Function, name: str) -> Iterator[ast.expr]:
    """The lists that a function puts at the end of a list."""
    for node in own_nodes(function, ast.Call, ast.AugAssign):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="extend", value=ast.Name(id=owner)), args=[value]
            ):
                if owner == name:
                    yield value
            case ast.AugAssign(target=ast.Name(id=owner), value=value) if owner == name:
                yield value


def _fills(loop: ast.For, name: str) -> bool:
    for statement in loop.body:
        for node in walk(statement, ast.Call, ast.AugAssign):
            match node:
                case ast.Call(func=ast.Attribute(attr=attr, value=ast.Name(id=owner))):
                    if attr in _ADDING and owner == name:
                        return True
                case ast.AugAssign(target=ast.Name(id=owner)) if owner == name:
                    return True
    return False


def _returned(model: Model, callee: Function, depth: int) -> Found | None:
    if any(mentions_rank(node) for node in own_nodes(callee, ast.Call)):
        return None
    for node in own_nodes(callee, ast.Return):
        if node.value is not None:
            found = _unsorted(model, callee, node.value, depth)
            if found is not None:
                return found
    return None
