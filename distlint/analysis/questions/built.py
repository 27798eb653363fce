"""Of which classes of the program a model is, and what those classes are built from, by names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.chosen import chosen
from distlint.analysis.program.definitions import Class, Function
from distlint.analysis.program.syntax import assignments, own_nodes, target_names
from distlint.knowledge.conventions import SAME_MODEL_METHODS
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Definition, Module

_GIVES_IT_BACK: Final = SAME_MODEL_METHODS | {"double", "convert_sync_batchnorm", "compile"}
"""Methods and functions that give the model back which they get."""
_DEPTH: Final = 4


def wrapped_classes(live: LiveProgram, wrap: CallSite) -> frozenset[Class | None]:
    """The classes that the model may be of which a call wraps; with None where one is not known."""
    value = wrap.argument(0, "module")
    meaning = live.program.lookup(value.type) if value is not None and value.type else None
    if isinstance(meaning, Class):
        return frozenset({meaning})
    node = wrap.argument_node(0, "module")
    return classes_of(live, wrap.function, node) if node is not None else frozenset({None})


def classes_of(
    live: LiveProgram, function: Function, node: ast.expr, depth: int = _DEPTH
) -> frozenset[Class | None]:
    """The classes that an expression of a function may make an object of; with None for what is not known."""
    unknown: frozenset[Class | None] = frozenset({None})
    if not depth:
        return unknown
    match node:
        case ast.Call(func=ast.Attribute(attr=attr, value=inner)) if attr in _GIVES_IT_BACK:
            return (
                classes_of(live, function, node.args[0] if _is_module(inner) else inner, depth)
                if (node.args or not _is_module(inner))
                else unknown
            )
        case ast.Call():
            return _of_call(live, function, node, depth)
        case ast.Name() | ast.Attribute():
            path = ast.unparse(node)
            values = [v for f in _writers(function, path) for v in assignments(f).get(path, ())]
            made = [v for v in values if path not in {ast.unparse(n) for n in _names(v)}]
            found = [classes_of(live, function, value, depth - 1) for value in made]
            return frozenset().union(*found) or unknown
        case ast.IfExp(body=body, orelse=orelse):
            return classes_of(live, function, body, depth) | classes_of(
                live, function, orelse, depth
            )
    return unknown


def _of_call(
    live: LiveProgram, function: Function, call: ast.Call, depth: int
) -> frozenset[Class | None]:
    match call.func:
        case ast.Attribute(attr="from_pretrained" | "from_config", value=of):
            made = live.resolve(function.module, of)
            if isinstance(made, Class) and not live.program.find_method(made, call.func.attr):
                return frozenset({made})
    meaning = live.resolve(function.module, call.func)
    if isinstance(meaning, (Class, Function)):
        return _made(live, meaning, depth)
    # Latte b27c24a models/latte.py:501: `Latte_models = {"Latte-XL/2": Latte_XL_2, …}`.
    found = [_made(live, each, depth) for each in chosen(live.program, function, call).candidates]
    return frozenset().union(*found) or frozenset({None})


def _made(live: LiveProgram, meaning: Definition | None, depth: int) -> frozenset[Class | None]:
    """The classes that a call may make an object of, by what is called."""
    match meaning:
        case Class():
            return frozenset({meaning})
        case Function():
            given = [n.value for n in own_nodes(meaning, ast.Return) if n.value is not None]
            found = [classes_of(live, meaning, value, depth - 1) for value in given]
            return frozenset().union(*found) or frozenset({None})
    return frozenset({None})


def lacks(live: LiveProgram, cls: Class, attr: str) -> bool:
    """Whether an object of a class surely has no such attribute: its whole class is seen, and sets none.

    What a base class of another library has is not seen, nor what a class makes of names at run time.
    """
    own, outside = live.program.mro(cls)
    if set(outside) - {"torch.nn.Module", "object"}:
        return False
    return not any(
        attr in each.methods
        or attr in each.attributes
        or attr in each.self_assigned
        or any(_sets_by_name(node) for node in walk(each.node))
        for each in (*own, *live.program.subclasses(cls))
    )


def _sets_by_name(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef(name="__getattr__" | "__getattribute__"):
            return True
        case ast.Name(id="setattr") | ast.Attribute(attr="__dict__"):
            return True
    return False


def named_anywhere(live: LiveProgram) -> frozenset[str]:
    """All names that the program gives to attributes, and all of its texts, which may name one."""
    return frozenset(
        name
        for module in live.program.modules.values()
        for node in walk(module.source.tree)
        for name in _given_names(node)
    )


def _given_names(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.Attribute(attr=name, ctx=ast.Store()) | ast.Constant(value=str(name)):
            yield name
        case ast.ClassDef(body=body):
            for statement in body:
                match statement:
                    case ast.Assign(targets=targets):
                        yield from (name for t in targets for name in target_names(t))
                    case ast.AnnAssign(target=target):
                        yield from target_names(target)


def parts(live: LiveProgram, root: Class) -> tuple[list[Class], list[Function]]:
    """What a class is built from and runs: itself, its bases, and all that these name, at any distance.

    Returns:
        The classes and the functions of the program, each once.
    """
    seen: dict[Class | Function, None] = {root: None}
    work: list[Class | Function] = [root]
    while work:
        each = work.pop()
        for other in _mentioned(live, each.module, each.node):
            if other not in seen:
                seen[other] = None
                work.append(other)
    return [c for c in seen if isinstance(c, Class)], [f for f in seen if isinstance(f, Function)]


def _mentioned(live: LiveProgram, module: Module, node: ast.AST) -> Iterator[Class | Function]:
    for part in walk(node, ast.Name, ast.Attribute):
        if isinstance(part.ctx, ast.Load):
            meaning = live.resolve(module, part)
            if isinstance(meaning, (Class, Function)):
                yield meaning


def _writers(function: Function, path: str) -> list[Function]:
    """The functions in which a name of a function, or an attribute of its object, is assigned."""
    if path.startswith("self.") and function.cls is not None:
        return list(function.cls.methods.values())
    return [function]


def _is_module(node: ast.expr) -> bool:
    """Whether a method is called on a library: `nn.SyncBatchNorm.convert_sync_batchnorm(model)`."""
    return last_name(node) in ("SyncBatchNorm", "torch")


def _names(node: ast.expr) -> Iterator[ast.expr]:
    return (n for n in walk(node, ast.Name, ast.Attribute))
