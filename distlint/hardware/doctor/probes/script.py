"""The training script, as syntax: what it hands to accelerate, transformers and torch. Never run."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterator
from pathlib import Path

from distlint.hardware.doctor.machine import Argument, Options, ScriptFacts, Unknown

# Calls whose keywords the checks look at, by the last part of their name. transformers 5.23.0 and
# trl derive their configurations from TrainingArguments: names that end like it count as it.
_CALLS = frozenset(
    [
        "Accelerator",
        "DataLoaderConfiguration",
        "DataLoader",
        "init_process_group",
        "spawn",
        "notebook_launcher",
        "DistributedSampler",
        "from_pretrained",
    ]
)
_TRAINING = "TrainingArguments"
# trl 0.2x: subclasses of TrainingArguments.
_CONFIGURATIONS = frozenset(
    {"SFTConfig", "DPOConfig", "GRPOConfig", "RewardConfig", "KTOConfig", "ORPOConfig"}
)
# The parameters that are given by position.
_POSITIONS = {"DataLoader": ("dataset", "batch_size"), "spawn": ("fn", "args", "nprocs")}

Constant = int | float | str | bool


def look(options: Options) -> ScriptFacts | Unknown:
    """The arguments whose values stand in the script; what comes from outside is left out."""
    if options.script is None:
        return Unknown("no --script was given")
    path = Path(options.script)
    try:
        with tokenize.open(path) as stream:
            tree = ast.parse(stream.read())
    except OSError as problem:
        return ScriptFacts(options.script, problem=problem.strerror or str(problem))
    except (SyntaxError, ValueError) as problem:
        return ScriptFacts(options.script, problem=f"not Python: {str(problem).splitlines()[0]}")
    constants = _constants(tree)
    found = [
        argument
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and (name := _called(node)) is not None
        for argument in _arguments(node, name, constants)
    ]
    classes = frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return ScriptFacts(options.script, tuple(sorted(found, key=lambda one: one.line)), classes)


def _called(node: ast.Call) -> str | None:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            if name.endswith(_TRAINING) or name in _CONFIGURATIONS:
                return _TRAINING
            return name if name in _CALLS else None
    return None


def _arguments(node: ast.Call, name: str, constants: dict[str, Constant]) -> Iterator[Argument]:
    """Each argument with a value; a call without any is there by an argument without name."""
    yield Argument(name, "", "", node.lineno)
    named = [(word.arg, word.value) for word in node.keywords if word.arg is not None]
    named += zip(_POSITIONS.get(name, ()), node.args, strict=False)
    for keyword, expression in named:
        value = _value(expression, constants)
        if value is not None:
            yield Argument(name, keyword, value, expression.lineno)


def _value(node: ast.expr, constants: dict[str, Constant]) -> Constant | None:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.Name(id=name):
            return constants.get(name)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            a, b = _value(left, constants), _value(right, constants)
            return a * b if isinstance(a, int) and isinstance(b, int) else None
    return None


def _constants(tree: ast.Module) -> dict[str, Constant]:
    """Names that the whole file assigns once, a literal: `BATCH = 8`."""
    assigned: dict[str, list[ast.expr | None]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    for name in (n.id for n in ast.walk(target) if isinstance(n, ast.Name)):
                        simple = isinstance(target, ast.Name)
                        assigned.setdefault(name, []).append(value if simple else None)
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                assigned.setdefault(name, []).append(value)
            case (
                ast.AugAssign(target=ast.Name(id=name))
                | ast.For(target=ast.Name(id=name))
                | ast.NamedExpr(target=ast.Name(id=name))
                | ast.arg(arg=name)
            ):
                assigned.setdefault(name, []).append(None)
    found: dict[str, Constant] = {}
    for name, values in assigned.items():
        if len(values) == 1 and isinstance(values[0], ast.Constant):
            literal = values[0].value
            if isinstance(literal, (bool, int, float, str)):
                found[name] = literal
    return found
