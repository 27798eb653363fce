"""What the choices of an option may be, where all that they are put together from is known."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.memory import remembered
from distlint.knowledge import model_names
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.program.program import Program

_DEPTH = 8
"""So many names lead to the words at most."""
_ASKED = frozenset({"keys", "values", "items", "get", "index", "count", "copy"})
"""Methods that leave a table as it is."""
_READ_BY = frozenset(
    {
        "list",
        "set",
        "frozenset",
        "tuple",
        "dict",
        "sorted",
        "len",
        "iter",
        "enumerate",
        "str",
        "print",
        "any",
        "all",
        "join",
    }
)
"""Last names of calls that leave what they are given as it is."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The words that may be given, and how others begin that may be given, too."""

    words: frozenset[str] = frozenset()
    beginnings: tuple[str, ...] = ()

    def takes(self, value: str) -> bool:
        """Whether a value may be one of them."""
        return value in self.words or value.startswith(self.beginnings)

    def __or__(self, other: Choices) -> Choices:
        return Choices(self.words | other.words, self.beginnings + other.beginnings)


def choices_of(program: Program, module: Module, node: ast.expr, depth: int = 0) -> Choices | None:
    """The choices that an expression at the top of a file means; None where a part of them is not known.

    HIPT 780fafa 1-Hierarchical-Pretraining/main_dino4k.py:48: `["vit4k_xs", …] + torchvision_archs + torch.hub.list(…)`.
    """
    if depth > _DEPTH:
        return None
    match node:
        case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts) | ast.Dict(keys=elts):
            known = [each.value for each in elts if isinstance(each, ast.Constant)]
            return Choices(frozenset(map(str, known))) if len(known) == len(elts) else None
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            found = [choices_of(program, module, each, depth + 1) for each in (left, right)]
            return found[0] | found[1] if found[0] is not None and found[1] is not None else None
        case ast.Call(
            func=ast.Name(id="list" | "set" | "sorted" | "tuple"), args=[inner], keywords=[]
        ):
            return choices_of(program, module, inner, depth + 1)
        case ast.Call(func=ast.Attribute(value=inner, attr="keys"), args=[]):
            return choices_of(program, module, inner, depth + 1)
        case ast.Call(func=func, args=[ast.Constant(value=str() as hub), *_]) if (
            program.resolve_dotted(module, dotted_name(func)) == "torch.hub.list"
        ):
            begun = model_names.OF_HUBS.get(hub.partition(":")[0])
            return Choices(beginnings=begun) if begun is not None else None
        case (
            ast.ListComp(elt=elt, generators=[made]) | ast.GeneratorExp(elt=elt, generators=[made])
        ) if ast.dump(elt) == ast.dump(made.target).replace("Store()", "Load()"):
            return _some_of(program, module, made.iter, depth)
        case ast.Name():
            return _held(program, module, node, depth)
    return None


def _some_of(program: Program, module: Module, node: ast.expr, depth: int) -> Choices | None:
    """The choices of a comprehension that leaves some out: those of what it goes through may be more."""
    match node:
        case ast.Attribute(value=owner, attr="__dict__"):
            begun = model_names.OF_LIBRARIES.get(
                str(program.resolve_dotted(module, dotted_name(owner)))
            )
            return Choices(beginnings=begun) if begun is not None else None
    return choices_of(program, module, node, depth + 1)


def _held(program: Program, module: Module, node: ast.Name, depth: int) -> Choices | None:
    """The choices that a name holds which is set once, at the top of a file, and that nothing changes."""
    home, name = module, node.id
    if (imported := module.imports.get(name)) is not None:
        path, _, name = imported.rpartition(".")
        if (found := program.modules.get(path)) is None:
            return None
        home = found
    given = [
        statement.value
        for statement in home.source.tree.body
        if isinstance(statement, ast.Assign)
        and any(isinstance(each, ast.Name) and each.id == name for each in statement.targets)
    ]
    if len(given) != 1 or _is_hidden(module, node.id) or _may_change(program, home, name):
        return None
    return choices_of(program, home, given[0], depth + 1)


def _is_hidden(module: Module, name: str) -> bool:
    """Whether a name of a file may mean something else in one of its functions: `def get_args(SIZES=("small",))`."""
    return any(
        each.arg == name
        if isinstance(each, ast.arg)
        else isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Store)
        for function in module.all_functions
        if not function.is_module_body
        for each in walk(function.node, ast.arg, ast.Name)
    )


@remembered
def _may_change(program: Program, home: Module, name: str) -> bool:
    """Whether a table may hold something else than it is made with: it is set twice, or a file of the program does anything
    but read it (`MODELS["large"] = Big` where it is imported, `registry.MODELS.update(…)`, `register(MODELS)`)."""
    if _is_hidden(home, name) or len(_stores(home, name)) != 1:
        return True
    return any(
        _changes(module, name, {name} if module is home else _imported_as(module, name))
        for module in program.modules.values()
        if name in module.source.text
    )


def _stores(module: Module, name: str) -> list[ast.Name]:
    return [
        each
        for each in walk(module.source.tree, ast.Name)
        if each.id == name and not isinstance(each.ctx, ast.Load)
    ]


def _imported_as(module: Module, name: str) -> set[str]:
    """What a file calls whatever it imports by a name; that itself where it may come with a star."""
    found = {each for each, whole in module.imports.items() if whole.rpartition(".")[2] == name}
    return found | {name} if module.star_imports else found


def _changes(module: Module, name: str, names: set[str]) -> bool:
    """Whether a file does anything with a table but read it."""
    return any(
        not _only_reads(around, each)
        for around in walk(module.source.tree)
        for each in ast.iter_child_nodes(around)
        if (isinstance(each, ast.Name) and each.id in names and isinstance(each.ctx, ast.Load))
        or (isinstance(each, ast.Attribute) and each.attr == name)
    )


def _only_reads(around: ast.AST, table: ast.AST) -> bool:
    match around:
        case ast.Attribute(attr=attr):
            return attr in _ASKED
        case ast.Subscript(ctx=ctx):
            return isinstance(ctx, ast.Load)
        case ast.Call(func=func):
            return func is not table and last_name(func) in _READ_BY
        case ast.keyword(arg=arg):
            return arg in ("choices", "help")
        case ast.For() | ast.comprehension():
            return around.iter is table
        case ast.Compare() | ast.BinOp() | ast.BoolOp() | ast.UnaryOp() | ast.FormattedValue():
            return True
    return isinstance(around, ast.Starred | ast.Assert)
