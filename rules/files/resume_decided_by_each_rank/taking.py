"""Whether a rank fails since it takes what is not there: an entry of an empty listing, or a file beside."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final, TypeGuard

from distlint.analysis.program.definitions import last_name
from distlint.analysis.program.environment import blocks_of
from distlint.analysis.program.syntax import assignments, own_nodes, own_parts, statements
from distlint.analysis.questions.paths import parts_of
from distlint.nodes import walk

from .looking import LISTINGS, QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.questions.paths import Parts

_FAIL_WITHOUT: Final = frozenset({"torch.load", "torch.jit.load", "safetensors.torch.load_file"})
"""Calls that read the file whose path comes first, and fail where it is missing."""
_REORDER: Final = frozenset({"list", "reversed", "set", "sorted", "tuple", "natsorted"})


def fails_when_empty(model: Model, function: Function, asked: ast.expr) -> bool:
    """Whether a rank that finds nothing fails, for it takes an entry of the empty list: `paths[-1]`, `max(paths)`.

    Amphion d3de90f models/tts/base/tts_trainer.py:304: `ls = [str(i) for i in Path(folder).glob("*")]`, `ls[0]`.
    """
    call = model.call_at(asked)
    if call is not None and call.site.callee is not None:
        function = call.site.callee
        found = (n for n in own_nodes(function) if _lists(n))
        return any(_takes_unasked(function, listing) for listing in found)
    if isinstance(asked, ast.Name):
        # Samba ed3ed54 pretrain.py:167: `resume = sorted(folder.glob(…))[-1]`, `if resume:`
        values = assignments(function).get(asked.id, ())
        taken = [part for value in values for part in walk(value) if _lists(part)]
        return bool(taken) and all(_takes_unasked(function, each) for each in taken)
    return _lists(asked) and _takes_unasked(function, asked)


def _lists(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and last_name(node.func) in LISTINGS


def _takes_unasked(function: Function, listing: ast.expr) -> bool:
    """Whether an entry is taken wherever the folder is listed, and nobody asks whether there is one."""
    lists: set[str] = set()
    inside = list(statements(function.body, []))
    home = next(
        (around for node, around in inside if any(n is listing for n in own_parts(node))), None
    )
    if home is None:
        return False
    for node, _ in inside:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_list(
                value, listing, lists
            ):
                lists.add(name)
    taken = min(
        (
            node.lineno
            for node, around in inside
            if node.lineno >= listing.lineno
            and all(any(test is each for each in home) for test in around)
            and (
                _raises_for(node, lists)
                or any(_takes_one(part, listing, lists) for part in own_parts(node))
            )
        ),
        default=None,
    )
    return taken is not None and not any(
        _catches(node, listing.lineno, taken)
        or (
            getattr(node, "lineno", 0) <= taken
            and _asks_for(node, lists)
            and not _raises_for(node, lists)
        )
        for node in own_nodes(function)
    )


def _catches(node: ast.AST, first: int, last: int) -> bool:
    """Whether one of two lines stands in a block whose errors are caught."""
    return isinstance(node, ast.Try) and any(
        node.body[0].lineno <= line <= (node.body[-1].end_lineno or line) for line in (first, last)
    )


def _raises_for(node: ast.AST, lists: set[str]) -> bool:
    """Whether the rank ends in an error where there is nothing in the list: `if not steps: raise …`.

    openpi 15a9616 scripts/train_pytorch.py:205.
    """
    match node:
        case ast.If(test=test, body=[*_, ast.Raise()]):
            return _says_empty(test, lists)
        case ast.Assert(
            test=ast.Name(id=name)
            | ast.Call(func=ast.Name(id="len" | "any" | "bool"), args=[ast.Name(id=name)])
        ):
            return name in lists
    return False


def _says_empty(test: ast.expr, lists: set[str]) -> bool:
    """`not paths`, `len(paths) == 0`"""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name)):
            return name in lists
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]),
            ops=[ast.Eq() | ast.Lt()],
            comparators=[ast.Constant(value=0 | 1)],
        ):
            return name in lists
    return False


def _is_list(value: ast.expr, listing: ast.expr, lists: set[str]) -> bool:
    """Whether a value is the list, or one of the same length or less."""
    match value:
        case ast.Name(id=name):
            return name in lists
        case ast.ListComp(generators=[first, *_]) | ast.GeneratorExp(generators=[first, *_]):
            return _is_list(first.iter, listing, lists)
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if value is not listing:
            of = first if name in _REORDER else None if name != "filter" else value.args[-1]
            return of is not None and _is_list(of, listing, lists)
        case ast.Subscript(value=inner, slice=ast.Slice()):
            return _is_list(inner, listing, lists)
    return value is listing


def _takes_one(node: ast.AST, listing: ast.expr, lists: set[str]) -> bool:
    """Whether an expression raises where the list is empty."""
    match node:
        case ast.Subscript(value=taken, slice=ast.Constant() | ast.UnaryOp()):
            return _is_list(taken, listing, lists)
        case ast.Call(func=ast.Name(id="max" | "min"), args=[taken], keywords=keywords):
            given = any(keyword.arg == "default" for keyword in keywords)
            return not given and _is_list(taken, listing, lists)
        case ast.Call(func=ast.Name(id="next"), args=[taken]):
            return _is_list(taken, listing, lists) or (
                isinstance(taken, ast.Call)
                and bool(taken.args)
                and _is_list(taken.args[0], listing, lists)
            )
        case ast.Call(func=ast.Attribute(value=taken, attr="pop")):
            return _is_list(taken, listing, lists)
    return False


def _asks_for(node: ast.AST, lists: set[str]) -> bool:
    """Whether something hangs on what is in the list."""
    match node:
        case (
            ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test)
        ):
            asked: list[ast.expr] = [test]
        case ast.BoolOp(values=values):
            asked = values
        case _:
            return False
    return any(isinstance(n, ast.Name) and n.id in lists for each in asked for n in walk(each))


def loaded_before(model: Model, function: Function, asked: ast.expr) -> bool:
    """Whether another checkpoint of the same folder is loaded above the question, with no question of its own.

    EleutherAI/sae e657340 sparsify/trainer.py:126: `torch.load(f"{path}/state.pt")`, then the listing of
    `f"{path}/rank_*_state.pt"`; VideoX-Fun 804a425 scripts/flux/train_lora.py:1343: `load_file(os.path.join(folder, "….safetensors"))`,
    then `os.path.exists(os.path.join(folder, "optimizer.pt"))`.
    """
    folders = {folder for each in _asked_about(asked) if (folder := _folder(each, function))}
    return bool(folders) and any(
        _folder(part.args[0], function) in folders
        for statement in _passed(function.body, asked)
        for part in own_parts(statement)
        if isinstance(part, ast.Call)
        and part.args
        and model.resolve(function.module, part.func) in _FAIL_WITHOUT
    )


def _passed(body: Sequence[ast.stmt], asked: ast.expr) -> Iterator[ast.stmt]:
    """The statements that whoever comes to a question has been through, and that end the rank where they fail."""
    for statement in body:
        if any(node is asked for node in walk(statement)):
            caught = isinstance(statement, ast.Try) and bool(statement.handlers)
            for block in () if caught else blocks_of(statement):
                if any(node is asked for inner in block for node in walk(inner)):
                    yield from _passed(block, asked)
            return
        yield from _always_run(statement)


def _always_run(statement: ast.stmt) -> Iterator[ast.stmt]:
    yield statement
    match statement:
        case ast.With(body=body) | ast.Try(body=body, handlers=[]):
            for each in body:
                yield from _always_run(each)


def _asked_about(asked: ast.expr) -> Iterator[ast.expr]:
    for part in walk(asked, ast.Call):
        if last_name(part.func) in QUESTIONS:
            if part.args:
                yield part.args[0]
            elif isinstance(part.func, ast.Attribute):
                yield part.func.value


def _folder(path: ast.expr, function: Function) -> Parts:
    return parts_of(path, function)[:-1]
