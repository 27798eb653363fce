"""Whether two expressions name the same file: paths taken apart into parts that can be compared."""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Mapping
from typing import Final, TypeGuard

from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, own_nodes, unpacked
from distlint.nodes import walk
from distlint.patterns import pattern

Parts = tuple[Hashable, ...]
"""The components of a path, outermost first: constants, and what stands for a component."""

_JOINS: Final = frozenset({"os.path.join", "path.join", "osp.join", "join"})
_SAME: Final = frozenset(
    {
        "str",
        "Path",
        "pathlib.Path",
        "os.fspath",
        "fspath",
        "os.path.abspath",
        "os.path.realpath",
        "os.path.normpath",
        "os.path.expanduser",
        "osp.abspath",
    }
)
"""Calls that give the path that they get."""
_FOLDERS: Final = frozenset({"os.path.dirname", "path.dirname", "osp.dirname", "dirname"})
_SAME_METHODS: Final = frozenset({"resolve", "absolute", "expanduser", "as_posix"})
_MAX_DEPTH: Final = 8
_FIELD: Final = pattern(r"%[-+ #0]*\d*(?:\.\d+)?[a-zA-Z]|\{[^{}]*\}")
"""What `%` and `format()` put a value in for."""
_ANY: Final = ".*"


def parts_of(node: ast.expr, function: Function) -> Parts:
    """The components of a path expression, through the variables that its function assigns once."""
    return _parts_in(function, node)


@remembered
def _parts_in(function: Function, node: ast.expr) -> Parts:
    return _parts(node, function, _MAX_DEPTH)


def _parts(node: ast.expr, function: Function, depth: int) -> Parts:
    match node:
        case ast.Constant(value=str() as text):
            return _split(text)
        case ast.Name(id=name) if depth:
            function = _home(name, function)
            values = assignments(function).get(name, ())
            if name in function.parameters and not values:
                return (("parameter", id(function), name),)
            # EleutherAI/bergson 3c66bb5 examples/less/less.py:753: `warmup_path, …, train_index_path = build_paths(cfg)`.
            if len(values) == 1 and name not in {*function.parameters, *unpacked(function)}:
                return _parts(values[0], function, depth - 1)
            return (("name", id(function), name),)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _parts(left, function, depth) + _parts(right, function, depth)
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=str() as text)) if (
            text.startswith("/")
        ):
            return _parts(left, function, depth) + _split(text[1:])
        case ast.expr() if (pieces := _pieces(node)) is not None:
            return _formatted(pieces, function, depth)
        case ast.Call(func=called, args=[first, *rest]) if not any(
            isinstance(a, ast.Starred) for a in (first, *rest)
        ):
            name = dotted_name(called)
            if name in _FOLDERS and not rest:
                outer = _parts(first, function, depth)
                return outer[:-1] if len(outer) > 1 else (("folder", *outer),)
            if name in _JOINS or (name in _SAME and not rest) or name.endswith("Path"):
                return tuple(p for a in (first, *rest) for p in _parts(a, function, depth))
            if isinstance(called, ast.Attribute) and called.attr == "joinpath":
                return tuple(
                    p for a in (called.value, first, *rest) for p in _parts(a, function, depth)
                )
        case ast.Call(func=ast.Attribute(value=value, attr=attr), args=[]) if attr in _SAME_METHODS:
            return _parts(value, function, depth)
        case ast.IfExp(body=given, orelse=ast.Constant(value=None)):
            return _parts(given, function, depth)
        case ast.Attribute(value=value, attr="parent"):
            outer = _parts(value, function, depth)
            if len(outer) > 1:
                return outer[:-1]
        case ast.Attribute() if (kept := object_of(node, function)) is not None:
            return (kept,)
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=key)) if depth:
            element = _element(name, key, function)
            if element is not None:
                return _parts(element, function, depth - 1)
    return (("expression", _scope(node, function), ast.dump(node)),)


def folder_of(node: ast.expr, function: Function) -> list[ast.expr] | None:
    """The expressions that a folder is put together of, where it is asked for as that of a file; None where it is not.

    A file that is assigned several times has one in each: all of their folders.
    """
    match node:
        case ast.Call(func=called, args=[file], keywords=[]) if dotted_name(called) in _FOLDERS:
            return _without_last(file, function, _MAX_DEPTH)
        case ast.Attribute(value=file, attr="parent"):
            return _without_last(file, function, _MAX_DEPTH)
    return None


def _without_last(node: ast.expr, function: Function, depth: int) -> list[ast.expr] | None:
    """What a path is put together of, but for its last part; None where that does not stand apart."""
    match node:
        case ast.Name(id=name) if depth and name not in function.parameters:
            folders = [
                _without_last(value, function, depth - 1)
                for value in assignments(function).get(name, ())
            ]
            known = [folder for folder in folders if folder is not None]
            return (
                [each for folder in known for each in folder]
                if 0 < len(folders) == len(known)
                else None
            )
        case ast.Call(func=called, args=[*outer, last], keywords=[]) if (
            dotted_name(called) in _JOINS and outer
        ):
            return outer if _is_one_part(last) else None
        case ast.Call(func=called, args=[path], keywords=[]) if dotted_name(called) in _SAME:
            return _without_last(path, function, depth)
        case ast.BinOp(left=outer, op=ast.Div(), right=last):
            return [outer] if _is_one_part(last) else None
        case ast.JoinedStr(values=pieces):
            ends = [
                place
                for place, piece in enumerate(pieces)
                if isinstance(piece, ast.Constant) and "/" in str(piece.value)
            ]
            outer = pieces[: ends[-1]] if ends else []
            return [piece.value for piece in outer if isinstance(piece, ast.FormattedValue)] or None
    return None


def _is_one_part(node: ast.expr) -> bool:
    """Whether nothing that is written in the last argument of a path divides it into a folder and a file."""
    return not any("/" in str(n.value) for n in walk(node, ast.Constant))


def object_of(node: ast.expr, function: Function) -> Hashable | None:
    """What holds an attribute: a variable, or an attribute of one; None for what no caller can know by a name."""
    match node:
        case ast.Name(id=name) if name not in ("self", "cls"):
            return ("object", id(_home(name, function)), name)
        case ast.Attribute(value=value, attr=attr) if (
            owner := object_of(value, function)
        ) is not None:
            return ("attribute", owner, attr)
    return None


def _element(name: str, key: object, function: Function) -> ast.expr | None:
    """What a written-out dictionary, assigned once and not changed, holds under a key; or a dict of all settings."""
    match assignments(function).get(name, ()):
        case [ast.Dict(keys=keys, values=values)]:
            found = [v for k, v in zip(keys, values, strict=True) if _is_key(k, key)]
            if found:
                return found[-1] if all(isinstance(k, ast.Constant) for k in keys) else None
    return _setting(name, key, function) if isinstance(key, str) else None


def _setting(name: str, key: str, function: Function) -> ast.expr | None:
    """The attribute of the arguments that a dict was made of, or told of, in the function that asks for it.

    ParallelWaveGAN 8674037 parallel_wavegan/bin/train.py:1101: `config.update(vars(args))`, then `config["outdir"]`.
    """
    told: list[ast.expr] = [
        value.args[0] for value in assignments(function).get(name, ()) if _is_vars(value)
    ]
    for node in own_nodes(function, ast.Call, ast.Subscript):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner), attr="update"), args=[given]
            ) if owner == name and _is_vars(given):
                told.append(given.args[0])
            case ast.Subscript(value=ast.Name(id=owner), slice=of, ctx=ast.Store()) if (
                owner == name and _is_key(of, key)
            ):
                return None
    return ast.Attribute(told[0], key, ast.Load()) if len(told) == 1 else None


def _is_vars(node: ast.expr) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and dotted_name(node.func) == "vars" and len(node.args) == 1


def _is_key(node: ast.expr | None, key: object) -> bool:
    return isinstance(node, ast.Constant) and node.value == key


def readable(parts: Parts) -> set[str] | None:
    """The parameters in a path made of them and of constants alone; None where there is more to it."""
    names: set[str] = set()
    for part in parts:
        match part:
            case str():
                pass
            case ("parameter", int(), str() as name):
                names.add(name)
            case ("text", tuple() as pieces):
                for piece in pieces:
                    inner = readable(piece)
                    if inner is None:
                        return None
                    names |= inner
            case _:
                return None
    return names


def _scope(node: ast.expr, function: Function) -> Hashable:
    """Attributes of `self` mean the same in all methods of a class; other names in one function only."""
    name = dotted_name(node)
    if name.startswith("self.") and function.cls is not None:
        return function.cls.full_name
    return id(_home(name.partition(".")[0], function) if name else function)


def _home(name: str, function: Function) -> Function:
    """The function that a variable belongs to: a nested one reads those of the functions around it.

    EasyAnimate c2a70d1 scripts/train_reward_lora.py:1308: `save_model` makes `args.output_dir`, of `main`, itself.
    """
    inner = function
    while name not in inner.parameters and not assignments(inner).get(name):
        if inner.parent is None or inner.parent.is_module_body:
            return function
        inner = inner.parent
    return inner


def _split(text: str) -> Parts:
    return tuple(part for part in text.split("/") if part not in ("", "."))


def _pieces(node: ast.expr) -> list[ast.expr] | None:
    """What is put together to a text, as in an f-string: `f"{a}.json"`, `a + ".json"`, `"{}.json".format(a)`."""
    match node:
        case ast.JoinedStr(values=values):
            return values
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=str()) as right):
            return [_put_in(left), right]
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str() as text), attr="format"), args=args
        ) if args and text.count("{") == text.count("{}") == len(args):
            words = [ast.Constant(piece) for piece in text.split("{}")]
            pairs = zip(words, map(_put_in, args), strict=False)
            return [*(each for pair in pairs for each in pair), words[-1]]
    return None


def _put_in(node: ast.expr) -> ast.expr:
    return ast.FormattedValue(value=node, conversion=-1)


def _formatted(values: list[ast.expr], function: Function, depth: int) -> Parts:
    """An f-string: constants hold the separators, a component alone between two is an expression."""
    components: list[list[Parts]] = [[]]
    for value in values:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            first, *rest = value.value.split("/")
            if first:
                components[-1].append((first,))
            for part in rest:
                components.append([(part,)] if part else [])
        elif isinstance(value, ast.FormattedValue):
            components[-1].append(_parts(value.value, function, depth))
    found: list[Hashable] = []
    for pieces in components:
        if len(pieces) == 1:
            found.extend(pieces[0])
        elif pieces:
            found.append(("text", tuple(pieces)))
    return tuple(found)


def bound(parts: Parts, arguments: Mapping[Hashable, Parts]) -> Parts:
    """A path of a function in terms of its caller: parameters replaced by what is passed for them."""
    return tuple(p for part in parts for p in _bound(part, arguments))


def _bound(part: Hashable, arguments: Mapping[Hashable, Parts]) -> Parts:
    match part:
        case ("folder", inner):
            path = _bound(inner, arguments)
            return path[:-1] if len(path) > 1 else (("folder", *path),)
        case ("text", tuple() as pieces):
            passed = [bound(piece, arguments) for piece in pieces]
            words = [each[0] for each in passed if len(each) == 1 and isinstance(each[0], str)]
            return ("".join(words),) if len(words) == len(passed) else (("text", tuple(passed)),)
    return arguments.get(part, (_told(part, arguments),))


def _told(part: Hashable, arguments: Mapping[Hashable, Parts]) -> Hashable:
    """`args.out` in terms of the caller, who may call what it passes `options`."""
    match part:
        case ("attribute", owner, attr):
            return ("attribute", _told(owner, arguments), attr)
        case ("object", *_) if part in arguments:
            return arguments[part][0]
    return part


def ending(parts: Parts) -> str:
    """The end of a path as far as it is written out: `.mp4` of `f"sample-{step}.mp4"`."""
    match parts[-1:]:
        case [str() as name]:
            return name
        case [("text", [*_, [str() as last]])]:
            return last
    return ""


def holds(outer: Parts, inner: Parts) -> bool:
    """Whether `inner` is the path `outer`, or lies in it."""
    return bool(outer) and inner[: len(outer)] == outer


def may_be_named(path: ast.expr, function: Function, name: str) -> bool:
    """Whether a path may end in a name of a file: `f"checkpoint_{epoch}.pt"` never is `checkpoint.pt`."""
    if isinstance(path, ast.Name) and path.id not in function.parameters:
        values = assignments(function).get(path.id, ())
        if len(values) > 1:
            return any(_may_end_in(value, function, name) for value in values)
    return _may_end_in(path, function, name)


def _may_end_in(path: ast.expr, function: Function, name: str) -> bool:
    last = _pattern(path, function, _MAX_DEPTH).rpartition("/")[2]
    return re.fullmatch(last, name) is not None


def _pattern(node: ast.expr, function: Function, depth: int) -> str:
    """A regular expression of all that a path may be, as far as it is written out."""
    match node:
        case ast.Constant(value=str() as text):
            return re.escape(text)
        case ast.JoinedStr(values=values):
            return "".join(_pattern(each, function, depth) for each in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _pattern(left, function, depth) + _pattern(right, function, depth)
        case ast.BinOp(op=ast.Div(), right=inner):
            return "/" + _pattern(inner, function, depth)
        case (
            ast.BinOp(left=ast.Constant(value=str() as text), op=ast.Mod())
            | ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as text), attr="format"))
        ):
            return _ANY.join(map(re.escape, _FIELD.split(text)))
        case ast.Call(func=called, args=[_, *_, inner]) if dotted_name(called) in _JOINS:
            return "/" + _pattern(inner, function, depth)
        case ast.Call(func=called, args=[only]) if dotted_name(called) in _SAME:
            return _pattern(only, function, depth)
        case ast.IfExp(body=one, orelse=other):
            either = [_pattern(each, function, depth) for each in (one, other)]
            return _ANY if any("/" in each for each in either) else f"(?:{'|'.join(either)})"
        case ast.Name(id=name) if depth and name not in function.parameters:
            match assignments(function).get(name, ()):
                case [value]:
                    return _pattern(value, function, depth - 1)
    return _ANY
