"""Folders that a file adds to `sys.path`, as far as its text says which."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping


def added_folders(path: str, tree: ast.Module) -> Iterator[str]:
    """The folders that the statements of the file at `path` add to the search path.

    Absolute where they are derived from `__file__`; else as written, from where the program starts.
    """
    known: dict[str, str] = {"__file__": path}
    adding = _adding(tree)
    for node in _simple_statements(tree.body):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                folder = _folder(value, known)
                if folder is None:
                    known.pop(name, None)
                else:
                    known[name] = folder
            case ast.Expr(value=ast.Call() as call):
                for value in _added(call, adding):
                    folder = _folder(value, known)
                    if folder is not None:
                        yield folder


def _simple_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those in `if` and `try` included."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With):
            yield from _simple_statements(statement.body)
            yield from _simple_statements(getattr(statement, "orelse", []))


def _adding(tree: ast.Module) -> frozenset[str]:
    """The functions of a file that add what they are given: `def add_path(path): … sys.path.insert(0, path)`.

    HRNet-Semantic-Segmentation 0bbb288 tools/_init_paths.py.
    """
    return frozenset(
        each.name
        for each in tree.body
        if isinstance(each, ast.FunctionDef) and len(each.args.args) == 1
        for statement in _simple_statements(each.body)
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
        for value in _added(statement.value, frozenset())
        if isinstance(value, ast.Name) and value.id == each.args.args[0].arg
    )


def _added(call: ast.Call, adding: frozenset[str]) -> list[ast.expr]:
    match call:
        case ast.Call(func=ast.Name(id=name), args=[folder]) if name in adding:
            return [folder]
        case ast.Call(func=ast.Attribute(attr=method, value=owner), args=args):
            if ast.unparse(owner) != "sys.path":
                return []
            match method, args:
                case "append", [folder]:
                    return [folder]
                case "insert", [_, folder]:
                    return [folder]
                case "extend", [ast.List(elts=folders) | ast.Tuple(elts=folders)]:
                    return folders
    return []


_UNCHANGED = {"abspath", "realpath", "normpath", "str", "fspath", "Path", "PurePath", "expanduser"}
_METHODS = {"resolve", "absolute", "as_posix", "expanduser"}


def _folder(node: ast.expr, known: Mapping[str, str]) -> str | None:
    """The path that an expression stands for; None where its text does not say."""
    match node:
        case ast.Constant(value=str() as text):
            return os.path.normpath(text) if text else "."
        case ast.Name(id=name):
            return known.get(name)
        case ast.Attribute(value=inner, attr="parent"):
            return _above(_folder(inner, known), 1)
        case ast.Subscript(
            value=ast.Attribute(value=inner, attr="parents"), slice=ast.Constant(value=int() as up)
        ):
            return _above(_folder(inner, known), up + 1)
        case ast.Subscript(
            value=ast.Call(
                func=ast.Attribute(value=inner, attr="rsplit"),
                args=[ast.Constant(value="/"), ast.Constant(value=int() as up)],
            ),
            slice=ast.Constant(value=0),
        ):
            return _above(_folder(inner, known), up)
        case ast.BinOp(left=left, op=ast.Div() | ast.Add(), right=right):
            parts = [_folder(left, known), _folder(right, known)]
            return _joined([part.strip("/") if n else part for n, part in enumerate(parts) if part])
        case ast.Call(func=function, args=args):
            return _result(function, args, known)
    return None


def _result(function: ast.expr, args: list[ast.expr], known: Mapping[str, str]) -> str | None:
    match function:
        case ast.Attribute(value=inner, attr=name) if name in _METHODS and not args:
            return _folder(inner, known)
        case ast.Attribute(attr="dirname") | ast.Name(id="dirname") if len(args) == 1:
            return _above(_folder(args[0], known), 1)
        case ast.Attribute(attr="join" | "joinpath") | ast.Name(id="join"):
            start = []
            if isinstance(function, ast.Attribute) and function.attr == "joinpath":
                start = [function.value]
            parts = [_folder(part, known) for part in (*start, *args)]
            return _joined([part for part in parts if part]) if all(parts) else None
        case ast.Attribute(attr="getcwd" | "cwd") if not args:
            return "."
        case ast.Attribute(attr=name) | ast.Name(id=name) if name in _UNCHANGED and len(args) == 1:
            return _folder(args[0], known)
    return None


def _joined(parts: list[str]) -> str | None:
    return os.path.normpath(os.path.join(*parts)) if parts else None


def _above(path: str | None, levels: int) -> str | None:
    for _ in range(levels):
        if path is None:
            return None
        path = os.path.dirname(path) or "."
    return path
