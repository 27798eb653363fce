"""Which functions are worth following: those that may have to do with ranks, by the words in them.

A function is followed when it holds a word of the tables (a collective, a rank predicate, a wrapper), when
its class does, or when it names such a function: so that what calls it, and under which guard, is known.
Words can only add functions here; what a call means is decided by resolved names later.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from distlint.analysis.program import Class, Function, Module, Program
from distlint.knowledge import facts

_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_CALLED: Final = re.compile(r"(\w+)\(")

# Names so common that a function of this name says nothing of its callers. Guards around them are in the
# same function or class nearly always.
_COMMON: Final = frozenset(
    {
        "forward", "__init__", "__call__", "get", "update", "append", "items", "keys", "values", "copy",
        "__getattr__", "__iter__", "__len__", "__enter__", "__exit__", "__next__", "__repr__", "__getitem__",
        "format", "encode", "decode", "size", "apply", "generate", "from_pretrained", "save_pretrained", "to",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Relevance:
    """`starts`: the functions from which an abstract run should start, bodies of modules always among
    them. `plain`: those whose calls need not be followed, for nothing in them concerns any rule.
    """

    starts: set[Function]
    plain: set[Function]


def relevance(program: Program) -> Relevance:
    """Sort the functions of a program by what their words may have to do with ranks."""
    texts: dict[Function, str] = {}
    for module in program.modules.values():
        texts.update(_texts_of_functions(module))
    words = {f: frozenset(_WORD.findall(text)) for f, text in texts.items()}
    strong = {f for f, found in words.items() if not found.isdisjoint(facts.STRONG_WORDS)}
    for module in program.modules.values():
        for cls in module.all_classes:
            if facts.is_training_class(program.mro(cls)[1]):
                strong.update(cls.methods.values())
    strong |= _of_the_same_class(strong, texts, words)
    derived = _derived_names(program)
    strong |= {f for f, found in words.items() if not found.isdisjoint(derived)}
    names = {f.name for f in strong if f.name not in _COMMON}
    waiting = {f: frozenset(_CALLED.findall(texts[f])) for f in texts if f not in strong}
    while True:
        more = [f for f, called in waiting.items() if not called.isdisjoint(names)]
        strong.update(more)
        fresh = {f.name for f in more if f.name not in _COMMON} - names
        if not fresh:
            break
        names = fresh
        for f in more:
            del waiting[f]
    plain = {
        f for f, found in words.items() if f not in strong and found.isdisjoint(facts.WEAK_WORDS)
    }
    strong.update(module.body for module in program.modules.values())
    return Relevance(strong, plain)


def _texts_of_functions(module: Module) -> dict[Function, str]:
    lines = module.source.text.splitlines()
    found: dict[Function, str] = {}
    for function in module.all_functions:
        if not function.is_module_body:
            node = function.node
            first, last = node.lineno, node.end_lineno or node.lineno  # type: ignore[union-attr]
            for decorator in function.decorators:
                first = min(first, decorator.lineno)
            found[function] = "\n".join(lines[first - 1 : last])
    return found


def _of_the_same_class(
    strong: set[Function], texts: dict[Function, str], words: dict[Function, frozenset[str]]
) -> set[Function]:
    """Methods that use an attribute which a method of their class computes from ranks or wrappers."""
    attributes: dict[Class, set[str]] = {}
    for function in strong:
        if function.cls is not None and function in texts:
            for match in _OWN_ASSIGNMENT.finditer(texts[function]):
                if not facts.STRONG_WORDS.isdisjoint(_WORD.findall(match[0])):
                    attributes.setdefault(function.cls, set()).update(_OWN.findall(match[1]))
    return {
        method
        for cls, names in attributes.items()
        for method in cls.methods.values()
        if method in words and not words[method].isdisjoint(names)
    }


def _derived_names(program: Program) -> set[str]:
    """Variables of modules and attributes of `self` that are computed from the rank."""
    found: set[str] = set()
    for module in program.modules.values():
        for match in _ASSIGNMENT.finditer(module.source.text):
            if match[1] not in _COMMON and not facts.RANK_WORDS.isdisjoint(_WORD.findall(match[2])):
                found.add(match[1])
    return found


_ASSIGNMENT: Final = re.compile(
    r"^(?:[ \t]+self\.)?(\w+)[ \t]*(?::[^=\n]+)?=([^=\n][^\n]*)$", re.MULTILINE
)
_OWN_ASSIGNMENT: Final = re.compile(
    r"^[ \t]+((?:self\.\w+[, \t]*(?::[^=\n]+)?)+)=([^=\n][^\n]*)$", re.MULTILINE
)
_OWN: Final = re.compile(r"self\.(\w+)")
