"""Which functions are worth following: those that may have to do with ranks, by the words in them.

A function is followed when it holds a word of the tables (a collective, a rank predicate, a wrapper), when
its class does, or when it names such a function: so that what calls it, and under which guard, is known.
Words can only add functions here; what a call means is decided by resolved names later.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from distlint.analysis.program.definitions import Class, Function, Module
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.program import Program
from distlint.analysis.program.rank_globals import rank_globals
from distlint.knowledge import conventions, facts
from distlint.knowledge.debugging import TRACKERS
from distlint.knowledge.facts import Knowledge
from distlint.knowledge.libraries import canonical_name
from distlint.patterns import pattern
from distlint.records import dataclass
from distlint.words import words_in

# Names so common that a function of this name says nothing of its callers. Guards around them are in the
# same function or class nearly always.
_COMMON: Final = frozenset(
    {
        "join", "_init_weights", "__post_init__", "__init_subclass__", "state", "stop",
        "forward", "__init__", "__call__", "get", "update", "append", "items", "keys", "values", "copy",
        "__getattr__", "__iter__", "__len__", "__enter__", "__exit__", "__next__", "__repr__", "__getitem__",
        "format", "encode", "decode", "size", "apply", "generate", "from_pretrained", "save_pretrained", "to",
    }
)  # fmt: skip
_ASKED: Final = "is_available("
_DISTRIBUTED_ASKED: Final = pattern(r"\bdist(?:ributed)?\.is_available\(")
"""jukebox 08efbbc jukebox/utils/dist_adapter.py:17, `is_available()`, in front of each of its collectives."""
_PLACE_ASKED: Final = pattern(r"\brank(?:\(\))?\s*%\s*[\w.]*(?:per_|local|count|gpus)")
"""relabel_imagenet 3d4824f train.py:287, a method that gives back `self.context.rank % self.context.ngpus_per_node == 0`."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """`starts`: the functions from which an abstract run should start, bodies of modules always among
    them. `plain`: those whose calls need not be followed, for nothing in them concerns any rule.
    `called`: names of functions that stand somewhere beside their definitions.
    """

    starts: set[Function]
    plain: set[Function]
    called: set[str]


def relevance(program: Program, knowledge: Knowledge, flags: frozenset[str]) -> Relevance:
    """Sort the functions of a program by what their words may have to do with ranks.

    `flags` are names of this program that are each rank's own (`analysis.signals`).
    """
    texts: dict[Function, str] = {}
    held: dict[Function, frozenset[str]] = {}
    mentions: Counter[str] = Counter()
    telling: dict[Module, frozenset[str]] = {}
    strong: set[Function] = set()
    for module in program.modules.values():
        mentions.update(_written(module))
        telling[module] = frozenset(_written(module))
        of_module = _texts_of_functions(module)
        texts.update(of_module)
        held.update(_words_of_functions(module))
        strong |= _with_common_calls(module, telling[module], of_module)
    strong |= _holding(held, knowledge.strong_words)
    weak = _holding(held, facts.WEAK_WORDS)
    # `torch.cuda` is asked in the same word.
    weak |= {
        f for f, words in held.items() if _ASKED in words and _DISTRIBUTED_ASKED.search(texts[f])
    }
    weak |= {f for f, words in held.items() if "rank" in words and _PLACE_ASKED.search(texts[f])}
    for module in program.modules.values():
        for cls in module.all_classes:
            if facts.is_training_class(program.mro(cls)[1]):
                strong.update(cls.methods.values())
    strong |= _of_the_same_objects(program, strong, texts, held, knowledge.strong_words)
    filled = {name.rpartition(".")[2] for module in telling for name in rank_globals(module)}
    strong |= _holding(held, _derived_names(telling) | filled | flags)
    names, read = _called_as(program, strong), _read_as(strong)
    while names or read:
        calls = {f"{name}(" for name in names} | read
        more = _constructing(program, strong, held)
        for module, in_module in telling.items():
            called_here = in_module & calls
            if called_here:
                more.update(
                    f
                    for f in module.all_functions
                    if f in held and f not in strong and not held[f].isdisjoint(called_here)
                )
        strong |= more
        names, read = _called_as(program, more) - names, _read_as(more) - read
    weak |= _calling_writers(program, texts, held, strong)
    strong |= _making_data_sets(program, texts, held, weak)
    strong |= _constructing_bases(program, strong, held)
    strong |= _taking_classes(program, strong, texts, held)
    weak |= _giving_objects(program, strong | weak, texts, held) - strong
    plain = {f for f in texts if f not in strong and f not in weak}
    strong.update(module.body for module in program.modules.values())
    defined = Counter(f.name for f in texts)
    called = {
        name for name, times in defined.items() if mentions[name] + mentions[f"{name}("] > times
    }
    return Relevance(strong, plain, called)


def _calling_writers(
    program: Program,
    texts: dict[Function, str],
    held: dict[Function, frozenset[str]],
    strong: set[Function],
) -> set[Function]:
    """The functions between one that has to do with ranks and one that writes or fetches files.

    By names that one function or class of the program has: `net()` → `fetch()` → `open(path, "wb")`. The constructor of a
    data set whose library class fetches it is one of them (ginr-ipc 135f55c src/datasets/mydatasets.py:119).
    """
    defined = Counter(f.cls.name if f.cls and f.name == "__init__" else f.name for f in texts)
    found = {
        method
        for module in program.modules.values()
        for cls in module.all_classes
        if (method := cls.methods.get("__init__")) in held
        and not facts.FETCHING_CLASSES.isdisjoint(program.mro(cls)[1])
    }
    work = found | {f for f in held if f not in strong and _may_write(texts[f], held[f])}
    for _ in range(_CALLS_TO_WRITERS):
        calls = {f"{name}(" for name in _called_as(program, work) if defined[name] <= 1}
        beside = _calling_beside(work, held)
        work = {f for f in held if f not in found and not held[f].isdisjoint(calls)} | beside
        work -= strong
        found |= work
    return found


def _making_data_sets(
    program: Program,
    texts: dict[Function, str],
    held: dict[Function, frozenset[str]],
    weak: set[Function],
) -> set[Function]:
    """The constructors of data sets that may write or fetch files, the methods that do, and those that call them."""
    found: set[Function] = set()
    for module in program.modules.values():
        for cls in module.all_classes:
            own, outside = program.mro(cls)
            if facts.is_data_set(outside):
                methods = {m for each in own for m in each.methods.values() if m in texts}
                writing = {m for m in methods if _may_write(texts[m], held[m])}
                calls = {f"{m.name}(" for m in writing if m.name != "__init__"}
                while more := {m for m in methods - writing if not held[m].isdisjoint(calls)}:
                    writing |= more
                    calls |= {f"{m.name}(" for m in more if m.name != "__init__"}
                found |= writing
                found |= {m for m in methods & weak if m.name == "__init__"}
    return found


def _calling_beside(
    functions: Iterable[Function], held: dict[Function, frozenset[str]]
) -> set[Function]:
    """The methods that may call one of their own class, be its name that of methods of others, too: `self.reset()`."""
    return {
        method
        for function in functions
        if function.cls is not None
        for method in function.cls.methods.values()
        if method is not function and method in held and f"{function.name}(" in held[method]
    }


def _may_write(text: str, words: frozenset[str]) -> bool:
    return (
        not words.isdisjoint(_WRITES)
        or ("open(" in words and _OPENED_TO_WRITE.search(text) is not None)
        or (not words.isdisjoint(_SAVING) and _SAVES.search(text) is not None)
        or (not words.isdisjoint(_OPENING) and _OPENS.search(text) is not None)
    )


_CALLS_TO_WRITERS: Final = 2
_SAVES: Final = pattern(
    r"\b(?:(?:torch|np|numpy)\.save|joblib\.dump)\(|\bos\.(?:mkdir|makedirs)\(|\bFileHandler\("
)
"""Calls whose last names, `save` and `dump`, are also those of other methods; what makes folders."""
_SAVING: Final = frozenset({"save(", "dump(", "mkdir(", "makedirs("})
"""Their last names: few functions have one, and the others need no search."""
_OPENING: Final = frozenset(f"{tracker.name.rpartition('.')[2]}(" for tracker in TRACKERS)
_OPENS: Final = pattern(
    r"\b(?:SummaryWriter|"
    + "|".join(sorted(re.escape(".".join(each.name.split(".")[-2:])) for each in TRACKERS))
    + r")\("
)
"""Runs of trackers, which some functions open for another: FeatureDecorrelationSSL 408bd9e tools/logger.py:21, `reset()`,
which the constructor calls."""
_WRITES: Final = facts.WRITING_WORDS | {f"{word}(" for word in facts.WRITING_WORDS}
_OPENED_TO_WRITE: Final = pattern(r"\bopen\(.*[\"'][rb]?[wx]b?\+?[\"']")


def _called_as(program: Program, functions: Iterable[Function]) -> set[str]:
    """The names by which functions are called, without those too common: constructors and contexts by their classes'."""
    found: set[str] = set()
    for function in functions:
        if function.cls is not None and function.name in _BY_CLASS:
            found.add(function.cls.name)
            found.update(cls.name for cls in program.subclasses(function.cls))
        elif function.name not in _COMMON:
            found.add(function.name)
    return found


def _read_as(functions: Iterable[Function]) -> set[str]:
    """The names of properties that tell of the rank: `return self._backend.rank == 0` calls nothing.

    ace 57c54a7 fme/core/distributed/distributed.py:410.
    """
    return {
        function.name
        for function in functions
        if function.name in conventions.RANK_PROPERTIES
        and function.has_decorator("property", "cached_property")
    }


def _constructing(
    program: Program, strong: set[Function], held: dict[Function, frozenset[str]]
) -> set[Function]:
    """Methods that make another object of their class, by `cls(`, where other methods are followed."""
    return {
        method
        for cls in {f.cls for f in strong if f.cls is not None}
        for owner in program.mro(cls)[0]
        for method in owner.methods.values()
        if method in held and method not in strong and not _OWN_CLASS.isdisjoint(held[method])
    }


def _constructing_bases(
    program: Program, strong: set[Function], held: dict[Function, frozenset[str]]
) -> set[Function]:
    """The constructors that may call one which is followed, by `super().__init__(…)` or by the name of its class.

    DROID-SLAM 2dfd39f droid_slam/data_readers/tartan.py:24: all that its base does with files is done on every rank.
    """
    return {
        constructor
        for base in strong
        if base.cls is not None and base.name == "__init__"
        for cls in program.subclasses(base.cls)
        if (constructor := cls.methods.get("__init__")) in held
        and constructor not in strong
        and "__init__(" in held[constructor]
    }


def _taking_classes(
    program: Program,
    strong: set[Function],
    texts: dict[Function, str],
    held: dict[Function, frozenset[str]],
) -> set[Function]:
    """The functions that name a data set whose constructor is followed, and make what they take out of a table."""
    names = {
        name
        for f in strong
        if f.name == "__init__" and f.cls and facts.is_data_set(program.mro(f.cls)[1])
        for name in _called_as(program, (f,))
    }
    return {
        f
        for f, words in held.items()
        if f not in strong and not words.isdisjoint(names) and "](" in texts[f]
    }


def _giving_objects(
    program: Program,
    followed: set[Function],
    texts: dict[Function, str],
    held: dict[Function, frozenset[str]],
) -> set[Function]:
    """The functions that give objects whose methods are followed: `build(name)`, and methods that `return self`."""
    classes = {f.cls for f in followed if f.cls is not None}
    classes |= {below for cls in classes for below in program.subclasses(cls)}
    names = {word for cls in classes for word in (cls.name, f"{cls.name}(")}
    makers = {f for f, words in held.items() if "return" in words and not words.isdisjoint(names)}
    return makers | {
        method
        for cls in classes
        for method in cls.methods.values()
        if method in texts and "return self\n" in f"{texts[method]}\n"
    }


def _with_common_calls(
    module: Module, words: frozenset[str], texts: dict[Function, str]
) -> set[Function]:
    """The functions that call a collective of a common name: `dist.scatter(`, or `scatter(` where imported.

    axolotl 0.19.0 integrations/expert_parallel/shard.py, a function that does nothing but `dist.scatter`.
    """
    if words.isdisjoint(_COMMON_WORDS):
        return set()
    calls = {call for name in words & _FULL_CALLS.keys() for call in _FULL_CALLS[name]}
    for local, dotted in module.imports.items():
        if dotted.partition(".")[0] not in _COMMON_OWNERS:
            continue
        meaning = canonical_name(dotted)
        names = facts.COMMON_COLLECTIVES.get(meaning, frozenset())
        calls.update(f"{local}.{name}(" for name in names if f"{name}(" in words)
        owner, _, last = meaning.rpartition(".")
        if f"{local}(" in words and last in facts.COMMON_COLLECTIVES.get(owner, ()):
            calls.add(f"{local}(")
    text = module.source.text
    calls = {call for call in calls if call in text}
    return {f for f, own in texts.items() if any(call in own for call in calls)} if calls else set()


_FULL_CALLS: Final = {
    f"{name}(": [f"{o}.{name}(" for o, others in facts.COMMON_COLLECTIVES.items() if name in others]
    for names in facts.COMMON_COLLECTIVES.values()
    for name in names
}
_COMMON_WORDS: Final = frozenset(_FULL_CALLS) | {call[:-1] for call in _FULL_CALLS}
_COMMON_OWNERS: Final = frozenset(owner.partition(".")[0] for owner in facts.COMMON_COLLECTIVES)


def _holding(held: dict[Function, frozenset[str]], words: Iterable[str]) -> set[Function]:
    """The functions in which one of some words stands."""
    wanted = frozenset(words)
    wanted |= {f"{word}(" for word in wanted}
    return {function for function, own in held.items() if not wanted.isdisjoint(own)}


@remembered
def _written(module: Module) -> Counter[str]:
    return Counter(words_in(module.source.text))


@remembered
def _words_of_functions(module: Module) -> dict[Function, frozenset[str]]:
    return {f: frozenset(words_in(text)) for f, text in _texts_of_functions(module).items()}


@remembered
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


def _of_the_same_objects(
    program: Program,
    strong: set[Function],
    texts: dict[Function, str],
    held: dict[Function, frozenset[str]],
    words: frozenset[str],
) -> set[Function]:
    """Methods that use an attribute which a method of the same objects computes from ranks or wrappers: of their class, of
    one above or below it, or of one beside it that a third one joins with it.
    """
    attributes: dict[Class, set[str]] = {}
    for function in strong:
        if function.cls is not None and function in texts:
            for match in _OWN_ASSIGNMENT.finditer(texts[function]):
                if not words.isdisjoint(_names(match[0])):
                    attributes.setdefault(function.cls, set()).update(_OWN.findall(match[1]))
    found: set[Function] = set()
    for cls, names in attributes.items():
        owners = {o for each in (cls, *program.subclasses(cls)) for o in program.mro(each)[0]}
        methods = (m for owner in owners for m in owner.methods.values())
        found |= _holding({m: held[m] for m in methods if m in held}, names)
    return found


def _derived_names(telling: dict[Module, frozenset[str]]) -> set[str]:
    """Variables of modules and attributes of `self` that are computed from the rank."""
    found: set[str] = set()
    asking = facts.RANK_WORDS | {f"{word}(" for word in facts.RANK_WORDS}
    for module, words in telling.items():
        if asking.isdisjoint(words):
            continue
        for match in _ASSIGNMENT.finditer(module.source.text):
            if match[1] not in _COMMON and not facts.RANK_WORDS.isdisjoint(_names(match[2])):
                found.add(match[1])
    return found


def _names(text: str) -> Iterator[str]:
    return (word.rstrip("(") for word in words_in(text))


_VALUE: Final = r"=(?!=)((?:[^\n]*[(\[,\\]\n)*[^\n]*)$"
"""What is assigned, also over several lines: those that end in an opening bracket or a comma go on."""
_ASSIGNMENT: Final = pattern(r"^(?:[ \t]+self\.)?(\w+)[ \t]*(?::[^=\n]+)?" + _VALUE, re.MULTILINE)
_OWN_ASSIGNMENT: Final = pattern(
    r"^[ \t]+[(\[]?\s*((?:self\.\w+[,\s]*(?::[^=\n]+)?)+)[)\]]?[ \t]*" + _VALUE, re.MULTILINE
)
_BY_CLASS: Final = frozenset({"__init__", "__enter__", "__exit__"})
"""Methods that run where an object of their class is made: `with First(): …`."""
_OWN_CLASS: Final = frozenset({"cls(", "__class__(", "type("})
"""What a method calls to make another object of its class."""
_OWN: Final = pattern(r"self\.(\w+)")
