"""Attributes that a block saves, sets, and sets back: found by syntax, in the shapes that real code has.

What puts the old value back also after an exception (a `finally`, a handler that re-raises) is left out
here, as there is nothing to say of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from distlint.analysis.program.definitions import FunctionNode
from distlint.nodes import walk
from distlint.records import dataclass

Block = list[ast.stmt]

_NOT_PLAIN: Final = (
    ast.For,
    ast.While,
    ast.With,
    ast.AsyncFor,
    ast.AsyncWith,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
)
"""Statements in which an assignment does not simply take place before what follows."""
_QUESTIONS: Final = frozenset({"next", "isinstance", "hasattr", "getattr"})


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """An attribute that statements of one block save, set, and set back after some work.

    The statements are direct members of `block`; `save` and `sets` are the assignments themselves,
    which may stand inside `save_statement` and `set_statement`.
    """

    owner: ast.expr
    attr: str
    path: str
    """`owner.attr` as normalised text."""
    saved: str
    """The variable that holds the old value."""
    block: Block
    save: ast.Assign
    save_statement: ast.stmt
    set_statement: ast.stmt
    restore_statement: ast.stmt
    sets: tuple[ast.stmt, ...]
    by_method: bool = False
    """Set by `owner.eval()` or `owner.train()`, not by an assignment."""

    @property
    def bounds(self) -> tuple[int, int, int]:
        """Positions in the block: save, set, restore."""
        return (
            self.block.index(self.save_statement),
            self.block.index(self.set_statement),
            self.block.index(self.restore_statement),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Settings of one block that hold over the same statements, and those statements."""

    settings: tuple[Setting, ...]
    work: tuple[ast.stmt, ...]

    @property
    def contiguous(self) -> bool:
        """Whether nothing else stands between the first and the last statement of the work."""
        block = self.settings[0].block
        first, last = block.index(self.work[0]), block.index(self.work[-1])
        return last - first + 1 == len(self.work)


def stretches(function: FunctionNode | ast.Module) -> Iterator[Stretch]:
    """Work that a function does under attributes set for a while, restored on the straight path only.

    Args:
        function: a function, or a module for its own statements; functions inside are not entered.

    Yields:
        Each stretch of work that calls something, with the settings in force over it.
    """
    if isinstance(function, ast.Lambda):
        return
    for block, restored in _blocks(function.body, frozenset()):
        settings = [s for s in _settings(block) if s.path not in restored]
        yield from _grouped(block, settings)


def _blocks(block: Block, restored: frozenset[str]) -> Iterator[tuple[Block, frozenset[str]]]:
    """Every block, with the attributes that an enclosing `try` puts back whatever happens."""
    yield block, restored
    for statement in block:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        safe = restored | _put_back_on_error(statement)
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(statement, name, None)
            if inner and isinstance(inner[0], ast.stmt):
                yield from _blocks(inner, safe if name == "body" else restored)
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from _blocks(part.body, restored)


def _grouped(block: Block, settings: Sequence[Setting]) -> Iterator[Stretch]:
    own = {
        id(s) for x in settings for s in (x.save_statement, x.set_statement, x.restore_statement)
    }
    by_work: dict[tuple[int, ...], tuple[list[Setting], list[ast.stmt]]] = {}
    for setting in settings:
        _, start, end = setting.bounds
        work = [s for s in block[start + 1 : end] if id(s) not in own]
        if any(setting.path in _put_back_on_error(s) for s in work) or not _may_raise(work):
            continue
        key = tuple(id(s) for s in work)
        by_work.setdefault(key, ([], work))[0].append(setting)
    for group, work in by_work.values():
        yield Stretch(tuple(group), tuple(work))


def _settings(block: Block) -> Iterator[Setting]:
    for end, statement in enumerate(block):
        for path, saved in _restores(statement):
            found = _setting(block, end, path, saved)
            if found is not None:
                yield found


def _setting(block: Block, end: int, path: str, saved: str) -> Setting | None:
    """The setting that ends with a restore of `path` from `saved` at a position of the block."""
    for start in range(end - 1, -1, -1):
        found = _saves(block[start]).get((path, saved))
        if found is None:
            continue
        owner, save = found
        for position in range(start, end):
            sets = tuple(
                s
                for s in walk(block[position])
                if isinstance(s, ast.stmt) and _sets(s, path, saved)
            )
            if not sets:
                continue
            if not _stands_for(owner, block[start:end]) or isinstance(block[position], _NOT_PLAIN):
                return None
            return Setting(
                owner,
                path.rpartition(".")[2],
                path,
                saved,
                block,
                save,
                block[start],
                block[position],
                block[end],
                sets,
                by_method=isinstance(sets[0], ast.Expr) and _mode_call(sets[0]) is not None,
            )
        return None
    return None


def _stands_for(owner: ast.expr, statements: Sequence[ast.stmt]) -> bool:
    """Whether `owner` is the same object throughout: a plain path that nothing rebinds."""
    node, paths = owner, set()
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
            return False
        paths.add(ast.unparse(node))
        node = node.value
    if not isinstance(node, ast.Name):
        return False
    paths.add(node.id)
    return not any(
        isinstance(part, (ast.Name, ast.Attribute, ast.Subscript))
        and not isinstance(part.ctx, ast.Load)
        and ast.unparse(part) in paths
        for statement in statements
        for part in walk(statement)
    )


def _saves(statement: ast.stmt) -> dict[tuple[str, str], tuple[ast.expr, ast.Assign]]:
    """What a statement saves: owner and assignment by (path, variable). Also inside `try` and `if`."""
    found: dict[tuple[str, str], tuple[ast.expr, ast.Assign]] = {}
    pairs: list[tuple[ast.expr, ast.expr]] = []
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(
            names
        ) == len(values):
            pairs = list(zip(names, values, strict=True))
        case ast.Assign(targets=[target], value=value):
            pairs = [(target, value)]
        case ast.Try(body=body, finalbody=[]) | ast.If(body=body, orelse=[]):
            for inner in body:
                found |= _saves(inner)
    for target, value in pairs:
        read = _read(value)
        if isinstance(target, ast.Name) and read is not None and isinstance(statement, ast.Assign):
            found[f"{ast.unparse(read[0])}.{read[1]}", target.id] = (read[0], statement)
    return found


def _read(value: ast.expr) -> tuple[ast.expr, str] | None:
    """`owner.attr`, `getattr(owner, "attr", ...)`, or one of them where the attribute exists."""
    match value:
        case ast.Attribute(value=owner, attr=attr):
            return owner, attr
        case ast.Call(
            func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str() as attr), *_]
        ):
            return owner, attr
        case ast.IfExp(test=ast.Call(func=ast.Name(id="hasattr")), body=body):
            return _read(body)
    return None


def _sets(node: ast.stmt, path: str, saved: str) -> bool:
    """Whether a node gives the attribute a new value."""
    match node:
        case ast.Expr() if (owner := _mode_call(node)) is not None:
            return f"{ast.unparse(owner)}.training" == path
        case ast.Assign() | ast.AnnAssign() | ast.Expr():
            written = _written(node)
            return written is not None and written[0] == path and not _is_name(written[1], saved)
    return False


def _mode_call(statement: ast.Expr) -> ast.expr | None:
    """The module of `module.eval()` and `module.train()`."""
    match statement.value:
        case ast.Call(func=ast.Attribute(value=owner, attr="eval" | "train"), args=[]):
            return owner
    return None


def _written(statement: ast.AST) -> tuple[str, ast.expr] | None:
    """The attribute that a statement assigns, and the value."""
    match statement:
        case ast.Assign(targets=[ast.Attribute() as target], value=value):
            return ast.unparse(target), value
        case ast.AnnAssign(target=ast.Attribute() as target, value=ast.expr() as value):
            return ast.unparse(target), value
        case ast.Expr(
            value=ast.Call(
                func=ast.Name(id="setattr"),
                args=[owner, ast.Constant(value=str() as attr), value],
            )
        ):
            return f"{ast.unparse(owner)}.{attr}", value
    return None


def new_value(statement: ast.stmt) -> ast.expr:
    """The value that one of `Setting.sets` assigns."""
    written = _written(statement)
    assert written is not None
    return written[1]


def _is_name(value: ast.expr, name: str) -> bool:
    return isinstance(value, ast.Name) and value.id == name


def _restores(statement: ast.stmt) -> list[tuple[str, str]]:
    """What a statement sets back to a variable's value: (path, variable).

    A condition or a `try` around it counts where nothing else happens in it.
    """
    match statement:
        case ast.If(test=test, body=body, orelse=orelse) if _only_restores([*body, *orelse]):
            # `if was_training: model.train()` restores from the variable that it tests.
            saved = test.id if isinstance(test, ast.Name) else ""
            found = [r for inner in [*body, *orelse] for r in _restores(inner)]
            if not found and saved:
                for inner in body:
                    owner = _mode_call(inner) if isinstance(inner, ast.Expr) else None
                    if owner is not None:
                        found.append((f"{ast.unparse(owner)}.training", saved))
            return found
        case ast.Try(body=body, handlers=handlers, orelse=[], finalbody=[]) if _only_restores(body):
            if all(_only_restores(handler.body) for handler in handlers):
                return [r for inner in body for r in _restores(inner)]
            return []
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr="train"), args=[arg])):
            return [(f"{ast.unparse(owner)}.training", arg.id)] if isinstance(arg, ast.Name) else []
    written = _written(statement)
    if written is None or not isinstance(written[1], ast.Name):
        return []
    return [(written[0], written[1].id)]


def _only_restores(body: Block) -> bool:
    """Whether a block does nothing but set attributes back, delete them, or nothing at all."""
    for statement in body:
        match statement:
            case ast.Pass() | ast.Delete():
                continue
            case ast.Expr(value=ast.Call(func=ast.Name(id="delattr"))):
                continue
            case ast.Expr() if _mode_call(statement) is not None:
                continue
        if not _restores(statement):
            return False
    return True


def _put_back_on_error(statement: ast.stmt) -> frozenset[str]:
    """Attributes that a `try` puts back when its body fails: in `finally`, or in a handler of all."""
    if not isinstance(statement, ast.Try):
        return frozenset()
    bodies = [statement.finalbody]
    bodies += [h.body for h in statement.handlers if h.type is None or _catches_all(h.type)]
    found = set()
    for inner in (s for body in bodies for top in body for s in walk(top)):
        if isinstance(inner, ast.stmt):
            written = _written(inner)
            found |= {written[0]} if written is not None else set()
            found |= {path for path, _ in _restores(inner)}
    return frozenset(found)


def _catches_all(kind: ast.expr) -> bool:
    return isinstance(kind, ast.Name) and kind.id in ("Exception", "BaseException")


def _may_raise(work: Sequence[ast.stmt]) -> bool:
    """Whether an exception may leave the work. What only asks a module for its parts does not raise.

    A `try` that catches all and goes on is as good as a `finally` for what stands behind it: axolotl
    0.21.0, `utils/generation/sft.py`, restores the mode after such a block.
    """
    return any(
        isinstance(part, (ast.Yield, ast.Await, ast.Raise, ast.YieldFrom))
        or (isinstance(part, ast.Call) and not _is_question(part))
        for statement in work
        if not _goes_on(statement)
        for part in walk(statement)
    )


def _is_question(call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id=name):
            return name in _QUESTIONS
        case ast.Attribute(attr="parameters" | "buffers", value=ast.Name()):
            return True
    return False


def _goes_on(statement: ast.stmt) -> bool:
    """Whether a `try` catches whatever its body raises, and what follows it is then reached."""
    if not isinstance(statement, ast.Try) or statement.orelse or statement.finalbody:
        return False
    return any(
        (h.type is None or _catches_all(h.type))
        and not any(
            isinstance(part, (ast.Raise, ast.Return, ast.Break, ast.Continue))
            for inner in h.body
            for part in walk(inner)
        )
        for h in statement.handlers
    )
