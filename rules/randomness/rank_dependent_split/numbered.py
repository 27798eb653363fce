"""Sets of texts whose order becomes numbers: the ids of new tokens, of characters, of speakers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.handed import namings
from distlint.analysis.program.linked import importers
from distlint.analysis.program.syntax import own_nodes

from .unordered import TEXTS, from_set, is_divided, makes_sets, set_of

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

_ADDS: Final = ("add_special_tokens", "add_tokens")
"""Methods of tokenizers that number the texts which they get: transformers 5.23.0 tokenization_utils_base.py."""
_NAMES: Final = TEXTS | {
    "char", "character", "letter", "tag", "speaker", "entity", "intent", "category", "relation", "vocab", "phoneme",
}  # fmt: skip
"""Parts of the names of what is a text where it is numbered; labels and classes may be numbers already."""


def numbered_sets(model: Model, module: Module) -> Iterator[tuple[ast.expr, ast.AST]]:
    """The expressions whose order differs between processes, each with what numbers them.

    Open-Assistant model/model_training/utils/utils.py:239: `list(set(tokens))` in `add_special_tokens`.
    """
    if "set(" not in module.source.text or not is_divided(model, module):
        return
    for function in module.all_functions:
        if not makes_sets(function) or _is_left_over(model, function):
            continue
        for rows, used, words in _numbered(function):
            made = from_set(function, rows, words)
            if made is None and set_of(function, rows, words):
                made = rows
            call = model.call_at(used)
            if made is not None and (call is None or not call.guarded_by_rank):
                yield made, used


def _is_left_over(model: Model, function: Function) -> bool:
    """Whether nothing in the program calls a function of a file that others import, or hands it on.

    scGPT cebd6fa scgpt/utils/util.py:56: an example imports `category_str2int` and takes the codes of pandas.
    """
    return (
        not function.is_module_body
        and not any(namings(model.program, function.name))
        and len(importers(model.program, function.module)) > 1
    )


def _numbered(function: Function) -> Iterator[tuple[ast.expr, ast.AST, frozenset[str]]]:
    """What a function gives numbers to by its order, with the words that show it to be texts; none where it is."""
    for node in own_nodes(function, ast.Call, ast.DictComp):
        match node:
            case ast.Call(func=ast.Attribute(attr=attr), args=[given, *_]) if attr in _ADDS:
                for part in given.values if isinstance(given, ast.Dict) else [given]:
                    yield part, node, frozenset()
            case ast.DictComp(
                key=ast.Name(id=key),
                value=ast.Name(id=value),
                generators=[
                    ast.comprehension(
                        target=ast.Tuple(elts=[ast.Name(id=number), ast.Name(id=text)]),
                        iter=ast.Call(func=ast.Name(id="enumerate"), args=[rows, *_]),
                    )
                ],
            ) if {key, value} == {number, text}:
                yield rows, node, _NAMES
            case ast.Call(
                func=ast.Name(id="dict"),
                args=[ast.Call(func=ast.Name(id="zip"), args=[first, second])],
            ):
                for rows, numbers in ((first, second), (second, first)):
                    if isinstance(numbers, ast.Call) and ast.unparse(numbers.func) == "range":
                        yield rows, node, _NAMES
