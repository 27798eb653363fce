"""The layers that the classes of a model make, and where the program reads them, by names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, dotted_name
from distlint.analysis.program.syntax import own_nodes
from distlint.knowledge.randomness import DRAWS
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function

_MODULE: Final = "torch.nn.Module"
_WITH_PARAMETERS: Final = pattern(
    r"torch\.nn\.(?:Linear|Bilinear|Conv(?:Transpose)?\dd|Embedding(?:Bag)?|LSTM|GRU|RNN|LayerNorm|GroupNorm"
    r"|MultiheadAttention|Transformer\w*Layer|PReLU|Parameter|parameter\.Parameter)"
)
_BY_KEY: Final = frozenset({"torch.nn.ModuleDict", "torch.nn.ParameterDict"})
_CONTAINERS: Final = _BY_KEY | {
    "torch.nn.Sequential",
    "torch.nn.ModuleList",
    "torch.nn.ParameterList",
}
_BY_NAME: Final = frozenset(
    {"children", "named_children", "_modules", "_parameters", "getattr", "__dict__", "requires_grad", "eval"}
)  # fmt: skip
"""What reaches layers without their names, or takes them out of training."""
_ALL_BELOW: Final = frozenset(
    {"modules", "named_modules", "parameters", "named_parameters", "requires_grad_"}
)
"""The same, where it is not to set the first values."""


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A layer that each object of a class has: `self.name = …` in its `__init__`, or an entry of a container there."""

    cls: Class
    name: str
    node: ast.Assign | ast.expr


@dataclass(frozen=True, slots=True, eq=False)
class Chance:
    """A condition that a random number decides."""

    function: Function
    test: ast.expr


def unused(live: LiveProgram, root: Class) -> Iterator[tuple[Layer, Chance | None]]:
    """Layers of a model that no code reads, and with a condition those that it reads by chance alone.

    Args:
        live: the program.
        root: the class of the model.
    """
    for cls, family in followed_parts(live, root):
        if live.program.find_method(cls, "forward") is None:
            continue
        for layer in _layers(live, cls):
            if _is_read_from_outside(live, layer):
                continue
            readers = list(_readers(family, layer))
            if not readers:
                yield layer, None
            elif entries := _entries_left(live, layer, readers):
                yield from ((Layer(cls, layer.name, entry), None) for entry in entries)
            elif all(function.name == "forward" for function, _ in readers):
                chances = [_chance(live, function, node) for function, node in readers]
                if chances[0] is not None and all(chances):
                    yield layer, chances[0]


def _entries_left(
    live: LiveProgram, layer: Layer, readers: list[tuple[Function, ast.Attribute]]
) -> list[ast.expr]:
    """The layers in a container under written keys that nothing asks it for, where it is asked for written keys alone."""
    match layer.node:
        case ast.Assign(value=ast.Call(func=func, args=[ast.Dict(keys=keys, values=values)])) if (
            live.resolve(layer.cls.module, func) in _BY_KEY
        ):
            reads = {id(read) for _, read in readers}
            asked = [
                node.slice.value
                for function in dict.fromkeys(function for function, _ in readers)
                for node in walk(function.node, ast.Subscript)
                if id(node.value) in reads and isinstance(node.slice, ast.Constant)
            ]
            if len(asked) == len(reads):
                return [
                    value
                    for key, value in zip(keys, values, strict=True)
                    if isinstance(key, ast.Constant)
                    and key.value not in asked
                    and _trains(live, layer.cls, value)
                ]
    return []


def followed_parts(live: LiveProgram, root: Class) -> Iterator[tuple[Class, list[Class]]]:
    """The classes in a model that reach their layers by name alone, each with those above and below it."""
    for cls in _parts_of_objects(live, root):
        own, outside = live.program.mro(cls)
        family = [*own, *live.program.subclasses(cls)]
        if not set(outside) - {_MODULE, "object"} and _is_followed(family):
            yield cls, family


def _parts_of_objects(live: LiveProgram, root: Class) -> list[Class]:
    """A class, and those of which each of its objects makes one, at any distance."""
    found = [root]
    for cls in found:
        for statement in made_always(live, cls):
            for node in walk(statement.value):
                made = live.resolve(cls.module, node.func) if isinstance(node, ast.Call) else None
                if isinstance(made, Class) and made not in found:
                    found.append(made)
    return found


def made_always(live: LiveProgram, cls: Class) -> Iterator[ast.Assign]:
    """What `__init__` puts on each object, under no condition."""
    method = live.program.find_method(cls, "__init__")
    for statement in method.body if method is not None and method.cls is cls else ():
        match statement:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"))]):
                yield statement


def _layers(live: LiveProgram, cls: Class) -> Iterator[Layer]:
    for statement in made_always(live, cls):
        target = statement.targets[0]
        assert isinstance(target, ast.Attribute)
        if len(cls.self_assigned.get(target.attr, ())) == 1 and _trains(live, cls, statement.value):
            yield Layer(cls, target.attr, statement)


def _trains(live: LiveProgram, cls: Class, made: ast.expr) -> bool:
    """Whether what is made has parameters that require gradients."""
    if not isinstance(made, ast.Call):
        return False
    meaning = live.resolve(cls.module, made.func)
    if not isinstance(meaning, str):
        return False
    if meaning in _CONTAINERS:
        return any(_trains(live, cls, n) for a in made.args for n in walk(a, ast.Call))
    stays = any(
        k.arg in ("requires_grad", "elementwise_affine", "affine", None) for k in made.keywords
    )
    return not stays and _WITH_PARAMETERS.fullmatch(meaning) is not None


def _is_followed(family: list[Class]) -> bool:
    """Whether the classes reach their layers by their names alone, and leave all in training."""
    for cls in family:
        for method in cls.methods.values():
            for node in walk(method.node):
                name = node.attr if isinstance(node, ast.Attribute) else ""
                name = node.id if isinstance(node, ast.Name) else name
                if name in _BY_NAME or (name in _ALL_BELOW and not _sets_first_values(method.name)):
                    return False
    return True


def _sets_first_values(name: str) -> bool:
    return "init" in name or "reset" in name


def _is_read_from_outside(live: LiveProgram, layer: Layer) -> bool:
    """Whether code reads a layer of something that is not `self`, or names it in a text."""
    word = re.compile(rf"\b{re.escape(layer.name)}\b")
    for module in live.program.modules.values():
        if not word.search(module.source.text):
            continue
        for node in walk(module.source.tree, ast.Attribute, ast.Constant):
            match node:
                case ast.Attribute(attr=layer.name, value=value) if dotted_name(value) != "self":
                    return True
                case ast.Constant(value=str(text)) if word.search(text) and not re.search(
                    r"\s", text
                ):
                    return True
    return False


def _readers(family: list[Class], layer: Layer) -> Iterator[tuple[Function, ast.Attribute]]:
    """The reads of a layer by the objects themselves, but for those that give it its first values."""
    for cls in family:
        for method in cls.methods.values():
            given = {
                id(n)
                for statement in walk(method.node, ast.Expr)
                if _gives_first_values(statement.value)
                for n in walk(statement)
            }
            for node in walk(method.node, ast.Attribute):
                match node:
                    case ast.Attribute(attr=layer.name, value=ast.Name(id="self"), ctx=ast.Load()):
                        if id(node) not in given:
                            yield method, node
                    case ast.Attribute(attr=layer.name, ctx=ast.Del()):
                        yield method, node


def _gives_first_values(called: ast.expr) -> bool:
    """`nn.init.zeros_(self.layer.weight)`, `self.layer.weight.data.zero_()`, `self.layer.apply(…)`."""
    name = dotted_name(called.func) if isinstance(called, ast.Call) else ""
    return "init" in name or (
        name.startswith("self.") and name.count(".") > 1 and name.endswith(("_", ".apply"))
    )


def _chance(live: LiveProgram, function: Function, read: ast.Attribute) -> Chance | None:
    """The condition drawn at random under which a read stands, whatever else is asked with it."""
    drawn = {
        target.id
        for node in own_nodes(function, ast.Assign)
        if _draws(live, function, node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in own_nodes(function):
        match node:
            case ast.If(test=test, body=body) if any(n is read for s in body for n in walk(s)):
                pass
            case ast.IfExp(test=test, body=value) if any(n is read for n in walk(value)):
                pass
            case _:
                continue
        asked = {n.id for n in walk(test, ast.Name)}
        if _draws(live, function, test) or asked & drawn:
            return Chance(function, test)
    return None


def _draws(live: LiveProgram, function: Function, node: ast.expr) -> bool:
    return any(live.resolve(function.module, n.func) in DRAWS for n in walk(node, ast.Call))
