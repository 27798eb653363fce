"""The model: its transformers configuration, and the source of its classes, read as syntax.

Nothing is imported or run: the modeling files of the installed transformers, and those that lie in
the model's own folder (custom code), are parsed.
"""

from __future__ import annotations

import ast
import importlib.util
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from distlint.hardware.doctor.machine import ModelFacts, Options, Unknown


def look(options: Options) -> ModelFacts | Unknown:
    """Numbers of the configuration, names of the classes, and the blocks that wrap by default."""
    if options.model is None:
        return Unknown("no --model was given")
    path = Path(options.model)
    file = path / "config.json" if path.is_dir() else path
    try:
        described = json.loads(file.read_text(encoding="utf-8"))
    except OSError as problem:
        return ModelFacts(options.model, problem=f"{file.name}: {problem.strerror or problem}")
    except ValueError as problem:
        return ModelFacts(options.model, problem=f"not JSON: {problem}")
    if not isinstance(described, dict) or "model_type" not in described:
        return ModelFacts(options.model, problem="no model_type in it: not a transformers config")
    types = tuple(dict.fromkeys(_model_types(described)))
    sources = [*_own_sources(file.parent, described), *_library_sources(types)]
    classes: set[str] = set()
    blocks: list[str] = []
    for source in sources:
        for name, found in _classes(source):
            classes.add(name)
            blocks += found
    return ModelFacts(
        path=options.model,
        model_type=str(described["model_type"]),
        numbers={
            key: value
            for key, value in _numbers(described)
            if key in ("num_attention_heads", "num_key_value_heads", "num_hidden_layers")
        },
        classes=frozenset(classes),
        blocks=tuple(dict.fromkeys(blocks)),
    )


def _model_types(described: Mapping[str, Any]) -> Iterator[str]:
    """The type of the model and of the models inside it (text_config, vision_config)."""
    for value in (described, *(v for v in described.values() if isinstance(v, dict))):
        if isinstance(value.get("model_type"), str):
            yield value["model_type"]


def _numbers(described: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """The text model's numbers: its own, else those of text_config."""
    inner = described.get("text_config")
    for values in (inner if isinstance(inner, dict) else {}, described):
        for key, value in values.items():
            if isinstance(value, int) and not isinstance(value, bool):
                yield key, value


def _own_sources(folder: Path, described: Mapping[str, Any]) -> list[Path]:
    return sorted(folder.glob("*.py")) if described.get("auto_map") else []


def _library_sources(types: tuple[str, ...]) -> list[Path]:
    spec = importlib.util.find_spec("transformers")
    if spec is None or not spec.submodule_search_locations:
        return []
    models = Path(next(iter(spec.submodule_search_locations))) / "models"
    names = [one.replace("-", "_") for one in types]
    # Some types share the folder of another: kosmos-2.5 lies in kosmos2_5, xlm-roberta's is its own.
    found = [path for name in names for path in (models / name).glob("modeling_*.py")]
    # clip_vision_model, siglip_text_model lie in clip, siglip.
    found += [
        path
        for name in names
        if not (models / name).is_dir()
        for path in (models / name.partition("_")[0]).glob("modeling_*.py")
    ]
    return sorted(set(found))


def _classes(source: Path) -> Iterator[tuple[str, list[str]]]:
    """Each class of a file, with the names in its `_no_split_modules`."""
    try:
        tree = ast.parse(source.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError):
        return
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name, list(_no_split(node))


def _no_split(node: ast.ClassDef) -> Iterator[str]:
    for statement in node.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id="_no_split_modules")], value=value)
                | ast.AnnAssign(target=ast.Name(id="_no_split_modules"), value=ast.expr() as value)
            ):
                for element in ast.walk(value):
                    if isinstance(element, ast.Constant) and isinstance(element.value, str):
                        yield element.value
