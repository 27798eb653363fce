"""Calls that make accelerate's plugins or TrainingArguments, and what they are given."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from distlint.analysis.model import Model
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.launch import plugins
from distlint.launch.defects import Defect
from distlint.launch.plugins import Arguments
from distlint.launch.tree import Keys
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function

Read = tuple[dict[str, Any], dict[Keys, ast.expr]]

_WORDS = ("FullyShardedDataParallelPlugin", "DeepSpeedPlugin", "fsdp_config", "fsdp=", "deepspeed=")
_PLUGINS: Mapping[str, Callable[[Arguments], Iterator[Defect]]] = {
    "FullyShardedDataParallelPlugin": plugins.fsdp,
    "DeepSpeedPlugin": plugins.deepspeed,
}
_ENUMERATIONS = frozenset({"ShardingStrategy", "StateDictType", "BackwardPrefetch"})
_EXPECTING = frozenset({"raises", "warns", "assertRaises", "assertRaisesRegex", "assertWarns"})


def may_have_calls(text: str) -> bool:
    """Whether a file's text may hold such a call."""
    return any(word in text for word in _WORDS)


def defects_of_calls(
    model: Model, function: Function, literal: Callable[[ast.Dict], Read]
) -> Iterator[tuple[Defect, ast.AST]]:
    """What calls of a function say against themselves, with where; `literal` reads DeepSpeed's dicts."""
    expected = _expected(function)
    for node in own_nodes(function):
        if not isinstance(node, ast.Call) or node in expected or not node.keywords:
            continue
        judge = _judge(str(model.resolve(function.module, node.func)))
        if judge is None or any(isinstance(each, ast.Starred) for each in node.args):
            continue
        given, places = _arguments(model, function, node, literal)
        if judge is not plugins.trainer and node.args:
            continue  # which positions there are, is another thing in each version
        for defect in judge(given):
            keys = defect.keys
            while keys and keys not in places:
                keys = keys[:-1]
            yield defect, places.get(keys, node)


def _judge(name: str) -> Callable[[Arguments], Iterator[Defect]] | None:
    library, _, last = name.partition(".")[0], "", name.rpartition(".")[2]
    if library == "accelerate":
        return _PLUGINS.get(last)
    if library == "transformers" and last.endswith("TrainingArguments"):
        return plugins.trainer
    return plugins.trainer if library == "trl" and last.endswith("Config") else None


def _expected(function: Function) -> set[ast.AST]:
    """What stands in `with pytest.raises(…):`, which a test wants to go wrong."""
    return {
        inside
        for node in own_nodes(function, ast.With)
        if any(
            isinstance(item.context_expr, ast.Call)
            and last_name(item.context_expr.func) in _EXPECTING
            for item in node.items
        )
        for statement in node.body
        for inside in walk(statement)
    }


def _arguments(
    model: Model, function: Function, call: ast.Call, literal: Callable[[ast.Dict], Read]
) -> tuple[Arguments, dict[Keys, ast.AST]]:
    values: dict[str, Any] = {}
    objects: dict[str, str] = {}
    members: set[str] = set()
    places: dict[Keys, ast.AST] = {}
    for keyword in call.keywords:
        name = keyword.arg
        if name is None:
            continue
        places[(name,)] = keyword
        value = _written_out(function, keyword.value)
        match value:
            case ast.Dict() | ast.Call(func=ast.Name(id="dict"), args=[]) if name == "fsdp_config":
                values[name], inner = _settings(value)
                places |= {(name, key): each for key, each in inner.items()}
            case ast.Dict():
                values[name], _ = literal(value)
                if not all(isinstance(key, ast.Constant) for key in value.keys):
                    values[name][""] = None
            case ast.Constant(value=constant) if constant is not None:
                values[name] = constant
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
                values[name] = -number
            case ast.List(elts=elements):
                words = [each.value for each in elements if isinstance(each, ast.Constant)]
                if len(words) == len(elements):
                    values[name] = words
            case ast.Attribute(value=holder, attr=member) if last_name(holder) in _ENUMERATIONS:
                values[name] = member
                members.add(name)
            case ast.Call(func=func):
                made = str(model.resolve(function.module, func))
                if made.startswith("torch.distributed."):
                    objects[name] = made.rpartition(".")[2]
    known = frozenset(keyword.arg for keyword in call.keywords if keyword.arg is not None)
    complete = len(known) == len(call.keywords)
    return Arguments(values, known, complete, objects, frozenset(members)), places


def _written_out(function: Function, value: ast.expr) -> ast.expr:
    """A dict that a name was given, where nothing else is done with it."""
    if not isinstance(value, ast.Name) or value.id in function.parameters:
        return value
    made = assignments(function).get(value.id, ())
    used = [
        node for node in walk(function.node, ast.Name) if node.id == value.id and node is not value
    ]
    if len(made) == 1 and isinstance(made[0], ast.Dict | ast.Call) and len(used) == 1:
        return made[0]
    return value


def _settings(node: ast.Dict | ast.Call) -> tuple[dict[str, Any], dict[str, ast.AST]]:
    """The keys of fsdp_config with what is written out, None for what is computed; "" for what may be spread."""
    values: dict[str, Any] = {}
    places: dict[str, ast.AST] = {}
    for name, key, value in _entries(node):
        values[name] = value.value if name and isinstance(value, ast.Constant) else None
        if key is not None:
            places[name] = key
    return values, places


def _entries(node: ast.Dict | ast.Call) -> Iterator[tuple[str, ast.AST | None, ast.expr]]:
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            yield keyword.arg or "", keyword, keyword.value
        return
    for key, value in zip(node.keys, node.values, strict=True):
        known = isinstance(key, ast.Constant) and isinstance(key.value, str)
        yield (str(key.value) if known and isinstance(key, ast.Constant) else ""), key, value
