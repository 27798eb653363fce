"""Trainers of Lightning that a program makes of a configuration or of options: of which sections, and of which files."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator
from typing import Final

from distlint.analysis.program.configured import keys_of
from distlint.analysis.program.definitions import Function, Module, dotted_name
from distlint.analysis.program.linked import imported, imported_below
from distlint.analysis.program.memory import all_remembered, remembered
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.lightning import TRAINER
from distlint.knowledge.conventions import CONFIGURED, FROM_CONFIGURATION, STARTS_RANKS
from distlint.knowledge.libraries import canonical_name
from distlint.nodes import last_name, walk
from distlint.records import dataclass

Keys = tuple[str, ...]
"""The last keys of a section; none for options of a command line."""

_OF_OPTIONS: Final = f"{TRAINER}.from_argparse_args"
_CLI: Final = "LightningCLI"
_OF_CLI: Final = ("trainer",)
"""The section of its configuration (pytorch-lightning 2.6.6 pytorch_lightning/cli.py:366)."""
_LIGHTNING: Final = frozenset({"lightning", "pytorch_lightning"})
_MOST: Final = 2
"""Keys that say which section it is: `cfg.lightning.trainer.params` is `trainer.params`."""
_DEPTH: Final = 3


@dataclass(frozen=True, slots=True)
class Made:
    """How a program makes Trainers: of which sections, and of which configurations where nobody names another.

    `roots` are the paths of these, `named` the texts in the code by which it may read them.
    """

    sections: frozenset[Keys]
    roots: tuple[str, ...]
    named: tuple[str, ...]


@remembered
def made_below(program: Program, entry: Module) -> Made | None:
    """How what a file leads to makes Trainers of Lightning of a configuration; None where nothing does."""
    modules = sorted(imported_below(program, entry), key=lambda each: each.path)
    sections = {keys for module in modules for keys in sections_of_trainers(program, module)}
    if not sections:
        return None
    roots = [root for module in modules for root in _roots_of_hydra(module)]
    named = [
        node.value
        for node in walk(entry.source.tree, ast.Constant)
        if isinstance(node.value, str) and node.value.endswith((".yaml", ".yml"))
    ]
    return Made(frozenset(sections), tuple(dict.fromkeys(roots)), tuple(dict.fromkeys(named)))


@remembered
def leads_to_by(program: Program, entry: Module, module: Module, classes: frozenset[str]) -> bool:
    """Whether a file leads to another one by its imports, and by no other classes of configurations than some.

    smoltalk e35a405 has two programs, and configs/asr/data names what src/project/train/run.py never makes.
    """
    found, work = {entry}, [entry]
    while work:
        each = work.pop()
        others = {
            name for _, name in each.source.chosen if "." in name and not _is_any(name, classes)
        }
        for other in imported(program, each, others):
            if other not in found:
                found.add(other)
                work.append(other)
    return module in found


def _is_any(name: str, classes: frozenset[str]) -> bool:
    return any(f".{name}".endswith(f".{each}") for each in classes)


@all_remembered
def sections_of_trainers(program: Program, module: Module) -> Iterator[Keys]:
    """The sections of which a file makes Trainers of Lightning, by their last keys; no keys for options of a command line."""
    text = module.source.text
    if "Trainer" not in text and "trainer" not in text and "LightningCLI" not in text:
        return
    for cls in module.all_classes:
        if any(base.endswith(f".{_CLI}") for base in program.mro(cls)[1]):
            yield _OF_CLI
    for function in module.all_functions:
        for call in own_nodes(function, ast.Call):
            for keys in _told_to(program, function, call):
                yield keys[-_MOST:]


def _told_to(program: Program, function: Function, call: ast.Call) -> Iterator[Keys]:
    meaning = program.resolve_dotted(function.module, dotted_name(call.func))
    named = canonical_name(meaning) if isinstance(meaning, str) else ""
    if named == TRAINER:
        for keyword in call.keywords:
            yield from _of_argument(function, keyword.arg, keyword.value, _DEPTH)
    elif named == _OF_OPTIONS:
        yield ()
        for argument in call.args[:1]:
            yield from _of_all(function, argument, _DEPTH)
    elif last_name(call.func) == _CLI:
        yield _OF_CLI
    elif meaning in FROM_CONFIGURATION and call.args:
        keys = keys_of(function, call.args[0])
        if keys and keys[-1] in CONFIGURED and _imports_lightning(function.module):
            yield keys


def _imports_lightning(module: Module) -> bool:
    return any(target.partition(".")[0] in _LIGHTNING for target in module.imports.values())


def _of_argument(
    function: Function, name: str | None, value: ast.expr, depth: int
) -> Iterator[Keys]:
    """The section in which an argument of a Trainer stands by its own name, or that is handed over as a whole."""
    if name is None:
        yield from _of_all(function, value, depth)
    elif name in STARTS_RANKS:
        keys = keys_of(function, value)
        if keys and keys[-1] == name:
            yield keys[:-1]


def _of_all(function: Function, value: ast.expr, depth: int) -> Iterator[Keys]:
    """The sections of which a dict or namespace of a Trainer's arguments is put together."""
    if not depth:
        return
    match value:
        case ast.Dict(keys=names, values=values):
            for key, each in zip(names, values, strict=True):
                match key:
                    case None:
                        yield from _of_all(function, each, depth - 1)
                    case ast.Constant(value=str(name)):
                        yield from _of_argument(function, name, each, depth - 1)
        case ast.Call(func=func, args=[], keywords=keywords) if last_name(func) in (
            "dict",
            "Namespace",
        ):
            for keyword in keywords:
                yield from _of_argument(function, keyword.arg, keyword.value, depth - 1)
        case ast.Call(func=ast.Name(id="vars"), args=[inner]):
            yield from _of_all(function, inner, depth)
        case _:
            if keys := keys_of(function, value):
                yield keys
            if isinstance(value, ast.Name):
                for each in assignments(function).get(value.id, ()):
                    yield from _of_all(function, each, depth - 1)


@remembered
def _roots_of_hydra(module: Module) -> tuple[str, ...]:
    """The configurations with which hydra starts functions of a file: `@hydra.main(config_path="conf", config_name="train")`."""
    found: list[str] = []
    for function in module.all_functions if "hydra" in module.source.text else ():
        for decorator in function.decorators:
            if not isinstance(decorator, ast.Call) or last_name(decorator.func) != "main":
                continue
            given = {k.arg: _text(module, k.value) for k in decorator.keywords}
            folder, name = given.get("config_path"), given.get("config_name")
            if name:
                beside = posixpath.dirname(module.path)
                path = posixpath.normpath(posixpath.join(beside, folder or "", name))
                found.append(path if path.endswith((".yaml", ".yml")) else f"{path}.yaml")
    return tuple(found)


def _text(module: Module, value: ast.expr) -> str | None:
    """The text that an expression is, or that a variable of the file holds."""
    if isinstance(value, ast.Name):
        values = assignments(module.body).get(value.id, ())
        value = values[0] if len(values) == 1 else value
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
