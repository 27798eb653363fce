"""Whether a table at the top of a file holds what is written there wherever it is read: no file of the program changes it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.memory import remembered
from distlint.nodes import parents_in, walk

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.program.program import Program

_READS = frozenset({"copy", "count", "get", "index", "items", "keys", "values"})
"""Methods that leave a table as it is."""
_TAKERS = frozenset(
    {"dict", "enumerate", "frozenset", "iter", "len", "list", "print", "set", "sorted", "str"}
    | {"tuple", "zip"}
)
"""Functions that leave a table as it is, and give none back that is the same."""


def is_left_alone(program: Program, home: Module, name: str) -> bool:
    """Whether all that the files of a program do with a table is to read it.

    What hands it on, or gives its name to another value (a parameter, a local variable), may do anything.
    """
    return all(
        _only_reads(module, name, at_home=module is home)
        for module in program.modules.values()
        if name in module.source.text
    )


@remembered
def _only_reads(module: Module, name: str, *, at_home: bool) -> bool:
    tree = module.source.tree
    imports = [
        alias
        for node in walk(tree, ast.ImportFrom)
        for alias in node.names
        if alias.name in (name, "*")
    ]
    own = at_home or bool(imports)
    if any(alias.name == name and alias.asname not in (None, name) for alias in imports):
        return False
    above = parents_in(tree)
    stored = 0
    for node in walk(tree):
        match node:
            case ast.Name(id=found, ctx=context) if own and found == name:
                stored += not isinstance(context, ast.Load)
                reads = not isinstance(context, ast.Load) or _reads(node, above)
            case ast.Attribute(attr=found, ctx=context) if found == name:
                reads = isinstance(context, ast.Load) and _reads(node, above)
            case (
                ast.arg(arg=found)
                | ast.FunctionDef(name=found)
                | ast.AsyncFunctionDef(name=found)
                | ast.ClassDef(name=found)
                | ast.ExceptHandler(name=found)
                | ast.MatchAs(name=found)
                | ast.MatchStar(name=found)
            ) if own:
                reads = found != name
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                reads = name not in names
            case _:
                reads = True
        if not reads:
            return False
    return stored == at_home


def _reads(node: ast.expr, above: dict[int, ast.AST]) -> bool:
    """Whether what is done with a table where it is named leaves it as it is."""
    match above.get(id(node)):
        case ast.Attribute(attr=method):
            return method in _READS
        case ast.Subscript(value=value, ctx=context):
            return value is not node or isinstance(context, ast.Load)
        case ast.Call(func=ast.Name(id=taker)):
            return taker in _TAKERS
        case ast.Call(func=ast.Attribute(attr=taker)):
            return taker == "join"
        case ast.keyword(arg=given):
            return given == "choices"
        case ast.For(iter=walked) | ast.AsyncFor(iter=walked) | ast.comprehension(iter=walked):
            return walked is node
        case ast.BinOp() | ast.Compare() | ast.FormattedValue() | ast.Starred():
            return True
    return False
