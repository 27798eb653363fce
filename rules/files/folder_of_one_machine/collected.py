"""Results that every rank writes to a file of its own, and one reads for all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import last_name
from distlint.analysis.program.handed import callers_by_name
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.filesystem import asked_paths
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

_WORLD: Final = pattern(r"world_size|num_(?:processes|tasks|gpus|replicas|ranks)|n_?gpus?\b")
_RANK: Final = pattern(r"(?:^|_)rank(?:_|$)|process_index")
_READS: Final = frozenset({"open", "load", "read_json", "read_csv", "read_parquet", "read_text"})
_SHARED: Final = pattern(r"(?:^|[._])(?:hdfs|s3|gcs|oss|nfs|remote|shared)", re.IGNORECASE)
"""Storage that all machines share, by the names of what leads there."""
_PLACE: Final = "number of a rank"
_WORD: Final = pattern(r"[A-Za-z_]\w*")
_QUOTED: Final = pattern(r"f?'[^'{}]*'")


@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """Where the name of a rank's own file is made, and where the files of all ranks are read: in `module`."""

    module: Module
    written: ast.expr
    read: ast.Call


def collected_files(model: Model, function: Function) -> Iterator[Collected]:
    """The loops over all ranks of a function that read what each has written under its number.

    The names are made in the function, or in one that calls it: VideoMAE 14ef8d8 run_class_finetuning.py:546, where
    `merge(args.output_dir, num_tasks)` reads what went to `str(global_rank) + ".txt"`.
    """
    nodes = own_nodes(function)
    for loop in nodes:
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
            continue
        if last_name(loop.iter) != "range" or not _WORLD.search(ast.unparse(loop.iter)):
            continue
        inside = [node for statement in loop.body for node in walk(statement)]
        reads = [n for n in inside if isinstance(n, ast.Call) and last_name(n.func) in _READS]
        names = {
            _shape(node, {loop.target.id})
            for node in inside
            if _is_text(node) and _mentions(node, loop.target.id)
        }
        if not reads or not names:
            continue
        if any(_insists(node) or _is_shared(node) for node in inside):
            continue
        own = _own_name(nodes, loop.lineno, names)
        if own is not None:
            yield Collected(function.module, own, reads[0])
            continue
        alone = {name for name in names if _stands_alone(name)}
        for user, call in callers_by_name(model.program, function) if alone else ():
            own = _own_name(own_nodes(user), call.lineno, alone)
            if own is not None and model.resolve(user.module, call.func) is function:
                yield Collected(user.module, own, call)


def _insists(node: ast.AST) -> bool:
    """Whether a statement ends the program where a file is missing: a disk that all machines share is asked for.

    Sa2VA 9832e1a projects/sa2va/evaluation/utils/dist.py:244: "please make sure {tmpdir} is a shared directory".
    """
    match node:
        case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=asked), body=[*_, ast.Raise()]):
            return bool(asked_paths(asked))
        case ast.Assert(test=asked):
            return bool(asked_paths(asked))
    return False


def _is_shared(node: ast.AST) -> bool:
    """Whether an expression names storage that all machines share, for which an option decides.

    X-VLM cb4fff1 dataset/utils.py:117: `hdfs_wdir if write_to_hdfs else local_wdir`, and what is fetched at line 156.
    """
    return isinstance(node, ast.Name | ast.Attribute) and bool(_SHARED.search(last_name(node)))


def _own_name(nodes: Iterable[ast.AST], end: int, names: set[str]) -> ast.expr | None:
    """Where the name of this rank's own file is made, above a line."""
    for node in nodes:
        if isinstance(node, ast.expr) and _is_text(node) and node.lineno < end:
            ranks = _ranks_in(node)
            if ranks and _shape(node, ranks) in names:
                return node
    return None


def _stands_alone(shape: str) -> bool:
    """Whether a name is made of the number of a rank and of constants, so that it means the same in another function."""
    rest = shape.replace(f"{{{_PLACE}}}", "").replace(_PLACE, "")
    return not _WORD.search(_QUOTED.sub("", rest).replace("str(", "("))


def _is_text(node: ast.AST) -> bool:
    """Whether an expression puts values into a text."""
    match node:
        case ast.JoinedStr():
            return True
        case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str())):
            return True
        case ast.BinOp(op=ast.Add(), right=ast.Constant(value=str())):
            return True
        case ast.Call(func=ast.Attribute(attr="format", value=ast.Constant(value=str()))):
            return True
    return False


def _mentions(node: ast.AST, name: str) -> bool:
    return any(part.id == name for part in walk(node, ast.Name))


def _ranks_in(node: ast.AST) -> set[str]:
    """The parts of an expression that are the number of this rank, as written."""
    found: set[str] = set()
    for part in walk(node, ast.Call, ast.Name, ast.Attribute):
        match part:
            case ast.Call(func=func, args=[]) if _RANK.search(last_name(func)):
                found.add(ast.unparse(part))
            case ast.Name(id=name) | ast.Attribute(attr=name) if _RANK.search(name):
                found.add(ast.unparse(part))
    return found


def _shape(node: ast.AST, numbers: set[str]) -> str:
    """An expression as written, with one word in the place of the number of a rank."""
    text = ast.unparse(node)
    for number in sorted(numbers, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.]){re.escape(number)}(?![\w(])", _PLACE, text)
    return text
