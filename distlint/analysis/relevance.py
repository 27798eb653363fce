"""Which functions are worth following: those that may have to do with ranks, by the words in them.

A function is followed when it holds a word of the tables (a collective, a rank predicate, a wrapper), when
its class does, or when it names such a function: so that what calls it, and under which guard, is known.
Words can only add functions here; what a call means is decided by resolved names later.
"""

from __future__ import annotations

import re
from typing import Final

from distlint.analysis.program import Class, Function, Module, Program
from distlint.knowledge import facts

_WORD: Final = re.compile(r"[A-Za-z_]\w*")

# Names so common that a function of this name says nothing of its callers. Guards around them are in the
# same function or class nearly always.
_COMMON: Final = frozenset(
    {"forward", "__init__", "__call__", "get", "update", "append", "items", "__getattr__", "__iter__", "__len__",
     "__enter__", "__exit__", "__next__", "__repr__", "__getitem__", "copy", "format", "encode", "decode", "size"}
)  # fmt: skip


def relevant_functions(program: Program) -> set[Function]:
    """The functions from which an abstract run should start. Bodies of modules are always among them."""
    words: dict[Function, frozenset[str]] = {}
    for module in program.modules.values():
        words.update(_words_of_functions(module))
    strong = {f for f, found in words.items() if not found.isdisjoint(facts.STRONG_WORDS)}
    for module in program.modules.values():
        for cls in module.all_classes:
            if facts.is_training_class(program.mro(cls)[1]):
                strong.update(cls.methods.values())
    strong |= _of_the_same_class(strong)
    names = {f.name for f in strong if f.name not in _COMMON}
    names |= _derived_names(program)
    waiting = [f for f in words if f not in strong]
    while True:
        more = [f for f in waiting if not words[f].isdisjoint(names)]
        if not more:
            break
        strong.update(more)
        fresh = {f.name for f in more if f.name not in _COMMON} - names
        if not fresh:
            break
        names |= fresh
        taken = set(more)
        waiting = [f for f in waiting if f not in taken]
    strong.update(module.body for module in program.modules.values())
    return strong


def _words_of_functions(module: Module) -> dict[Function, frozenset[str]]:
    lines = module.source.text.splitlines()
    found: dict[Function, frozenset[str]] = {}
    for function in module.all_functions:
        if not function.is_module_body:
            node = function.node
            first, last = node.lineno, node.end_lineno or node.lineno  # type: ignore[union-attr]
            for decorator in function.decorators:
                first = min(first, decorator.lineno)
            found[function] = frozenset(_WORD.findall("\n".join(lines[first - 1 : last])))
    return found


def _of_the_same_class(functions: set[Function]) -> set[Function]:
    classes: set[Class] = {f.cls for f in functions if f.cls is not None}
    return {method for cls in classes for method in cls.methods.values()}


def _derived_names(program: Program) -> set[str]:
    """Variables of modules and attributes of `self` that are computed from the rank."""
    found: set[str] = set()
    for module in program.modules.values():
        for match in _ASSIGNMENT.finditer(module.source.text):
            if not facts.RANK_WORDS.isdisjoint(_WORD.findall(match[2])):
                found.add(match[1])
    return found


_ASSIGNMENT: Final = re.compile(
    r"^(?:[ \t]+self\.)?(\w+)[ \t]*(?::[^=\n]+)?=([^=\n][^\n]*)$", re.MULTILINE
)
