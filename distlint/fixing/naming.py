"""Under which name a file knows each runtime function, and which imports it needs for that.

Reads the `ast` tree only. A name is free when nothing in the file binds or reads it; an import that
the file already has is used where it always runs, runs early enough and means nothing else anywhere.
"""

from __future__ import annotations

import ast
import builtins
import enum
from collections.abc import Iterator

from distlint.records import dataclass

BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True)
class Needed:
    """An import to add: `from module import name as local`, or `import module` (`name` empty)."""

    module: str
    name: str
    local: str


class _Scope(enum.Enum):
    MODULE = enum.auto()
    CLASS = enum.auto()
    FUNCTION = enum.auto()


@dataclass(frozen=True, slots=True)
class _Imported:
    """An import directly in the module's body: the module it loads, what it binds to which name."""

    loads: str
    target: str
    local: str
    index: int


class Names:
    """What one file binds and reads, without regard to where: any other meaning is one too many."""

    def __init__(self, tree: ast.Module) -> None:
        self._meanings: dict[str, set[str]] = {}
        self._in_class: set[str] = set()
        self._read: set[str] = set()
        self._stars = 0
        self._collect(tree)
        self._star_at = [i for i, each in enumerate(tree.body) if _is_star(each)]
        self._imports = list(_top_level_imports(tree))

    def reachable(self, module: str, name: str, before: int) -> str | None:
        """How code may write `module.name` with the imports that there are, if it may.

        `before` is the index of the first statement of the module's body that will use it.
        """
        found = []
        for imported in self._imports:
            if imported.index >= before or self._meanings[imported.local] != {imported.target}:
                continue
            if imported.target == f"{module}.{name}":
                return imported.local
            if imported.target == module:
                found.append(f"{imported.local}.{name}")
            elif imported.loads == module and imported.local == module.partition(".")[0]:
                found.append(f"{module}.{name}")
        return found[0] if found else None

    def available(self, module: str, name: str, before: int) -> bool:
        """Whether `name` (or, where it is empty, the dotted `module`) already means the import.

        What a file reads and binds nowhere itself comes with a star: Pretrained-Language-Model 0598f02
        JABER-PyTorch/run_alue.py:50, `from generate_data import *`, and `os.path` below.
        """
        from_star = any(at < before for at in self._star_at)
        if not name and from_star and module in self._read and module not in self._meanings:
            return True
        return any(
            imported.index < before
            and self._meanings[imported.local] == {imported.target}
            and (
                (imported.target == f"{module}.{name}" and imported.local == name)
                if name
                else (imported.loads == module and imported.local == module.partition(".")[0])
            )
            for imported in self._imports
        )

    def hidden_by_star(self, before: int) -> bool:
        """Whether an import behind those with a star, and above a statement, may be hidden by one of them."""
        return len(self._star_at) < self._stars or any(at >= before for at in self._star_at)

    def in_class(self, written: str) -> bool:
        """Whether the body of some class binds the first part of a dotted name."""
        return written.partition(".")[0] in self._in_class

    def unused(self, name: str, target: str, *, in_class: bool = True, read: bool = False) -> bool:
        """Whether a new import of `target` (dotted) at the top may bind `name`.

        With `in_class`, names in the bodies of classes (methods, above all) count, with `read`, a
        name that is only read does not: the new import may be the one it waits for.
        """
        if in_class and name in self._in_class:
            return False
        meanings = self._meanings.get(name)
        if meanings is None:
            return read or name not in self._read
        # Bound only by imports of the same thing under conditions: no other meaning.
        return meanings == {target}

    def _bind(self, name: str, scope: _Scope, target: str = "") -> None:
        if scope is _Scope.CLASS:
            self._in_class.add(name)
        else:
            # A function's import is a local of that function, whatever it imports.
            meaning = target if scope is _Scope.MODULE else ""
            self._meanings.setdefault(name, set()).add(meaning)

    def _collect(self, tree: ast.Module) -> None:
        stack: list[tuple[ast.AST, _Scope]] = [(tree, _Scope.MODULE)]
        while stack:
            node, scope = stack.pop()
            inner = scope
            match node:
                case ast.Name(id=name, ctx=ast.Load()):
                    self._read.add(name)
                case ast.Name(id=name):
                    self._bind(name, scope)
                case ast.arg(arg=name):
                    self._bind(name, _Scope.FUNCTION)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    self._bind(name, scope)
                    inner = _Scope.FUNCTION
                case ast.Lambda():
                    inner = _Scope.FUNCTION
                case ast.ClassDef(name=name):
                    self._bind(name, scope)
                    inner = _Scope.CLASS
                case ast.Import(names=aliases):
                    for alias in aliases:
                        root = alias.name.partition(".")[0]
                        target = alias.name if alias.asname else root
                        self._bind(alias.asname or root, scope, target)
                case ast.ImportFrom(names=aliases, module=module, level=level):
                    for alias in aliases:
                        if alias.name == "*":
                            self._stars += 1
                        else:
                            target = f"{'.' * level}{module or ''}.{alias.name}"
                            self._bind(alias.asname or alias.name, scope, target)
                case (
                    ast.ExceptHandler(name=str(name))
                    | ast.MatchAs(name=str(name))
                    | ast.MatchStar(name=str(name))
                    | ast.MatchMapping(rest=str(name))
                ):
                    self._bind(name, scope)
                case ast.Global(names=names) | ast.Nonlocal(names=names):
                    for name in names:
                        self._bind(name, _Scope.FUNCTION)
                case _ if type(node).__name__ in {"TypeVar", "ParamSpec", "TypeVarTuple"}:
                    self._bind(node.name, _Scope.FUNCTION)  # type: ignore[attr-defined]  # 3.12
            stack.extend((child, inner) for child in ast.iter_child_nodes(node))


def _is_star(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*"


def _top_level_imports(tree: ast.Module) -> Iterator[_Imported]:
    for index, statement in enumerate(tree.body):
        match statement:
            case ast.Import(names=aliases):
                for alias in aliases:
                    root = alias.name.partition(".")[0]
                    if alias.asname:
                        yield _Imported(alias.name, alias.name, alias.asname, index)
                    else:
                        yield _Imported(alias.name, root, root, index)
            case ast.ImportFrom(names=aliases, module=str(module), level=0):
                for alias in aliases:
                    if alias.name != "*":
                        local = alias.asname or alias.name
                        yield _Imported(module, f"{module}.{alias.name}", local, index)


def choose_name(
    names: Names,
    runtime_module: str,
    name: str,
    *,
    bound: set[str],
    read: set[str],
    before: int,
    in_class: bool,
) -> tuple[str, Needed | None]:
    """How `$name` is written in a file, and the import that this takes, if any.

    `bound` and `read` are the names that the new code binds and reads itself; it reads them with the
    meaning that they have in the file. `before` is the index of the
    first statement of the module's body that uses it. `in_class` says that one use stands in the
    body of a class, where names of methods hide those of the module.
    """
    known = names.reachable(runtime_module, name, before)
    if (
        known is not None
        and known.partition(".")[0] not in bound
        and not (in_class and names.in_class(known))
    ):
        return known, None
    taken = bound | read
    target = f"{runtime_module}.{name}"
    # A builtin keeps its meaning for people who read the file.
    candidates = [] if name in BUILTINS or names.hidden_by_star(before) else [name]
    candidates.append(f"distlint_{name}")
    number = 2
    while True:
        for local in candidates:
            if local not in taken and names.unused(local, target, in_class=in_class):
                return local, Needed(runtime_module, name, local)
        candidates = [f"distlint_{name}_{number}"]
        number += 1
