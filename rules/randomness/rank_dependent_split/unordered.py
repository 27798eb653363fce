"""Lists made from sets of texts, of which each rank takes its part: texts have another hash in each process."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, dotted_name, last_name
from distlint.analysis.program.linked import linked
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, mentions_rank, own_nodes
from distlint.analysis.questions.never import never_run
from distlint.knowledge import facts
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

_DATA_SET: Final = "torch.utils.data.Dataset"
_MAKERS: Final = ("from_list", "from_dict", "from_pandas", "from_generator")
"""Class methods of `datasets.Dataset` that make one of a list."""
_NAMED: Final = ("Dataset", "DataSet", "Pipeline")
_SET_METHODS: Final = frozenset(
    {"union", "intersection", "difference", "symmetric_difference", "copy"}
)
TEXTS: Final = frozenset({
    "text", "prompt", "sentence", "caption", "question", "answer", "response", "completion", "word", "name", "path",
    "file", "filename", "url", "title", "phrase", "query", "passage", "document", "doc", "string", "str", "line",
    "utterance", "transcript", "instruction", "listdir", "glob", "strip",
})  # fmt: skip
"""Parts of the names of what is a text."""
_DIVIDERS: Final = (
    "DistributedSampler",
    "DistributedBucketSampler",
    "split_between_processes",
    "split_dataset_by_node",
    "Trainer",
)
_DIVIDE: Final = pattern(rf"\b({'|'.join(_DIVIDERS)})\b")
_PREPARES: Final = frozenset({"prepare", "prepare_data_loader", "prepare_dataloader"})
_LOADERS: Final = pattern(r"load|data|(?:\b|_)(?:dl|set|iter)|train|val|test|batch", re.IGNORECASE)
"""Parts of the names of what `prepare()` divides; models and optimizers it does not."""
_DIVIDING_CALLS: Final = (
    "split_between_processes",
    "split_dataset_by_node",
    "shard",
    "DistributedSampler",
)
_LIST: Final = ("list", "tuple")


@dataclass(frozen=True, slots=True, eq=False)
class Unordered:
    """A list made from a set of texts, and where the ranks divide it or make a data set of it."""

    made: ast.expr
    used: ast.AST
    sure: bool
    """Whether the ranks are seen to divide it; else a data set is made of it, in a program that divides some."""
    by_hash: bool = False
    """Whether it is sorted, by what `hash` makes of the texts."""


def unordered_lists(model: Model, module: Module) -> Iterator[Unordered]:
    """The lists of a file that come from sets of texts and are divided among the ranks."""
    text = module.source.text
    hashed = "hash" in text and "key" in text
    if not (hashed or "set(" in text or " for " in text or ".keys()" in text):
        return
    if "PYTHONHASHSEED" in text:
        return
    seen: set[int] = set()
    for function in module.all_functions:
        uses = list(_by_hash(model, function)) if hashed else []
        if makes_sets(function):
            uses += [*_uses(model, function), *_kept(model, function)]
        for use in uses:
            call = model.call_at(use.made)
            if id(use.made) in seen or (call is not None and call.guarded_by_rank):
                continue
            seen.add(id(use.made))
            yield use


def _by_hash(model: Model, function: Function) -> Iterator[Unordered]:
    """Where a function sorts texts by their hashes, and what it gives back or keeps is in that order.

    MCC b04c975 util/co3d_utils.py:71: `sorted(all_categories, key=lambda x: hash(x))`.
    """
    for node in own_nodes(function, ast.Call):
        match node:
            case ast.Call(func=ast.Name(id="sorted"), args=[rows, *_]):
                name = _name_given(function, node)
            case ast.Call(func=ast.Attribute(attr="sort", value=rows)):
                name = dotted_name(rows)
            case _:
                continue
        if (
            any(k.arg == "key" and _is_hash(k.value) for k in node.keywords)
            and any(word in TEXTS for word in _words_of(function, rows))
            and is_divided(model, function.module)
            and (used := _gives_in_order(function, node, name)) is not None
        ):
            yield Unordered(node, used, False, True)


def _is_hash(key: ast.expr) -> bool:
    """Whether a key is what `hash` makes of the element itself."""
    match key:
        case ast.Name(id="hash"):
            return True
        case ast.Lambda(
            args=ast.arguments(args=[ast.arg(arg=given)]),
            body=ast.Call(func=ast.Name(id="hash"), args=[ast.Name(id=hashed)]),
        ):
            return given == hashed
    return False


def _name_given(function: Function, made: ast.expr) -> str:
    """The variable or attribute that a call's result is put into."""
    return next((n for n, v in assignments(function).items() if any(e is made for e in v)), "")


def _gives_in_order(function: Function, made: ast.Call, name: str) -> ast.AST | None:
    """Where a function gives back a list or what a loop over it fills, or keeps it in an attribute."""
    if name.startswith("self."):
        return made
    names = {name} - {""}
    for loop in own_nodes(function, ast.For):
        if loop.iter is made or dotted_name(loop.iter) in names:
            for each in walk(loop, ast.Subscript, ast.Call):
                match each:
                    case ast.Subscript(value=ast.Name(id=filled), ctx=ast.Store()):
                        names.add(filled)
                    case ast.Call(func=ast.Attribute(attr="append", value=ast.Name(id=filled))):
                        names.add(filled)
    for given in own_nodes(function, ast.Return):
        parts = given.value.elts if isinstance(given.value, ast.Tuple) else [given.value]
        for part in parts:
            if part is made or (part is not None and dotted_name(part) in names):
                return given
    return None


@remembered
def makes_sets(function: Function) -> bool:
    """Whether a function makes a set at all."""
    return bool(own_nodes(function, ast.Set) or own_nodes(function, ast.SetComp)) or any(
        last_name(node.func) in ("set", "frozenset", "keys")
        for node in own_nodes(function, ast.Call)
    )


def _uses(model: Model, function: Function) -> Iterator[Unordered]:
    """Where a function divides such a list, or makes a data set of it."""
    for node in own_nodes(function, ast.Subscript, ast.Call):
        match node:
            case ast.Subscript(value=rows, slice=ast.Slice() as part) if mentions_rank(part):
                made = from_set(function, rows)
                if made is not None:
                    yield Unordered(made, node, True)
            case ast.Call(func=func, args=args, keywords=keywords):
                divides = last_name(func) in _DIVIDING_CALLS
                if not divides and not _makes_data_set(model, function, func):
                    continue
                call = model.call_at(node)
                if call is None or call.guarded_by_rank:
                    continue
                for given in (*args, *(k.value for k in keywords)):
                    made = from_set(function, given)
                    if made is not None and (divides or is_divided(model, function.module)):
                        yield Unordered(made, node, divides)


def _kept(model: Model, function: Function) -> Iterator[Unordered]:
    """Where the constructor of a data set keeps such a list, which its methods read by an index.

    ViLT 762fd39 vilt/datasets/base_dataset.py:60 keeps a list for each image, `[list(set(texts)) for texts in …]`, and
    takes `self.all_texts[index][caption_index]`.
    """
    cls = function.cls
    if cls is None or function.name != "__init__" or not is_data_set(model, cls):
        return
    item = model.program.find_method(cls, "__getitem__")
    below = (each for each in model.program.subclasses(cls) if "__getitem__" in each.methods)
    if (item is None and not any(below)) or not is_divided(model, function.module):
        return
    read = indexed(cls) | (
        indexed(item.cls) if item is not None and item.cls is not None else set()
    )
    never = {id(node) for _, node in never_run(model.program, function)}
    for path, values in assignments(function).items():
        if path not in read or is_ordered(function, path) or _is_sorted_last(path, values):
            continue
        inside = any(each.startswith(f"{path}[") for each in read)
        for value in (arm for each in values for arm in _arms(each)):
            made = from_set(function, value)
            if made is None and inside and isinstance(value, ast.ListComp):
                made = from_set(function, value.elt)
            if made is not None and id(value) not in never:
                yield Unordered(made, value, False)


def _arms(value: ast.expr) -> tuple[ast.expr, ...]:
    return (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)


def indexed(cls: Class) -> set[str]:
    """The attributes of a data set from which its methods take one by an index, and what they take so from that."""
    return {
        ast.unparse(node.value)
        for method in cls.methods.values()
        for node in own_nodes(method, ast.Subscript)
        if isinstance(node.ctx, ast.Load)
        and not isinstance(node.slice, ast.Slice | ast.Constant)
        and ast.unparse(node.value).startswith("self.")
    }


def _is_sorted_last(path: str, values: list[ast.expr]) -> bool:
    """Whether the last thing that a list is given is itself, sorted.

    cloneofsimo/lora d84074b lora_diffusion/dataset.py:193.
    """
    match max(values, key=lambda v: (v.lineno, v.col_offset)):
        case ast.Call(func=ast.Name(id="sorted"), args=[inner, *_]):
            return ast.unparse(inner) == path
    return False


def _makes_data_set(model: Model, function: Function, func: ast.expr) -> bool:
    match func:
        case ast.Attribute(attr=attr, value=owner) if attr in _MAKERS:
            return model.resolve(function.module, owner) == "datasets.Dataset"
    if last_name(func).endswith(_NAMED):  # whose bases may stand in a file that was not read
        return True
    meaning = model.resolve(function.module, func)
    return isinstance(meaning, Class) and is_data_set(model, meaning)


def is_data_set(model: Model, cls: Class) -> bool:
    if _DATA_SET in facts.with_bases(model.program.mro(cls)[1]):
        return True
    # imagen-pytorch 39e5e39 imagen_pytorch/data.py:87: `class Dataset(Dataset)`, after the name was imported.
    bases = {last_name(base) for base in cls.node.bases}
    return cls.name in bases and cls.module.imports.get(cls.name, "") == _DATA_SET


@remembered
def is_divided(model: Model, module: Module) -> bool:
    """Whether something in the files around a file gives each rank its part of a data set."""
    around = linked(model.program, module)
    return any(_names_divider(m) or prepares_data(m) for m in around) and not any(
        "PYTHONHASHSEED" in m.source.text for m in around
    )


@remembered
def _names_divider(module: Module) -> bool:
    """Whether a file uses what divides data, and does not only write of it: `name = "Slider Trainer"`."""
    text = module.source.text
    if not any(word in text for word in _DIVIDERS) or _DIVIDE.search(text) is None:
        return False
    return any(
        _DIVIDE.fullmatch(node.name if isinstance(node, ast.alias) else last_name(node))
        for node in walk(module.source.tree, ast.Name, ast.Attribute, ast.alias)
    )


@remembered
def prepares_data(module: Module) -> bool:
    """Whether `prepare()` is given something beside models and optimizers.

    ai-toolkit 27a03a9 jobs/process/BaseSDTrainProcess.py:749: models alone, each rank shuffles all of the data.
    """
    return "prepare" in module.source.text and any(
        isinstance(given, ast.Starred) or _LOADERS.search(ast.unparse(given))
        for node in walk(module.source.tree, ast.Call)
        if last_name(node.func) in _PREPARES
        for given in (*node.args, *(k.value for k in node.keywords))
    )


def from_set(
    function: Function, node: ast.expr, words: frozenset[str] = TEXTS, depth: int = 4
) -> ast.expr | None:
    """The expression that made a list from a set of texts, in the order of which `node` is."""
    if not depth:
        return None
    match node:
        case ast.Call(func=ast.Name(id=name), args=[inner, *_]) if name in (*_LIST, "enumerate"):
            if set_of(function, inner, words):
                return node
            return from_set(function, inner, words, depth - 1)
        case ast.ListComp(generators=[first, *_]) | ast.GeneratorExp(generators=[first, *_]):
            if set_of(function, first.iter, words):
                return node
            return from_set(function, first.iter, words, depth - 1)
        case ast.Subscript(value=inner, slice=ast.Slice()):
            return from_set(function, inner, words, depth - 1)
        case ast.Dict(values=values):
            found = [from_set(function, value, words, depth - 1) for value in values]
            return next((each for each in found if each is not None), None)
        case ast.Name(id=name):
            value = last_value(function, node, name)
            if value is None or is_ordered(function, name):
                return None
            return from_set(function, value, words, depth - 1)
    return None


def last_value(function: Function, node: ast.expr, name: str) -> ast.expr | None:
    """What a name was given last above a node."""
    above = [v for v in assignments(function).get(name, ()) if v.lineno < node.lineno]
    return max(above, key=lambda v: (v.lineno, v.col_offset), default=None)


def is_ordered(function: Function, path: str) -> bool:
    """Whether a function sorts a list in place, or sends one rank's to all."""
    for node in own_nodes(function, ast.Call):
        match node:
            case ast.Call(func=ast.Attribute(attr="sort", value=owner)):
                if ast.unparse(owner) == path:
                    return True
            case ast.Call(func=func, args=args) if "broadcast" in last_name(func):
                if any(ast.unparse(part) == path for given in args for part in walk(given)):
                    return True
    return False


def set_of(function: Function, node: ast.expr, words: frozenset[str]) -> bool:
    """Whether an expression is a set, and of texts, as far as the names of what is put in tell.

    Without `words`, all that may be in it are texts.
    """
    return _is_set(function, node) and (
        not words or any(word in words for word in _words_of(function, node))
    )


def _is_set(function: Function, node: ast.expr) -> bool:
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id="set" | "frozenset")):
            return True
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() | ast.Sub() | ast.BitXor()):
            # DALLE-pytorch 58c1e1a dalle_pytorch/loader.py:38: `image_files.keys() & text_files.keys()`
            return _is_keys(left) or _is_set(function, left)
        case ast.Call(func=ast.Attribute(attr=attr, value=owner)) if attr in _SET_METHODS:
            return _is_set(function, owner)
        case ast.Name(id=name):
            value = last_value(function, node, name)
            return (
                value is not None
                and value is not node
                and not isinstance(value, ast.Name)
                and (_is_set(function, value))
            )
    return False


def _is_keys(node: ast.expr) -> bool:
    """Whether an expression is the keys of a dict, in their order; what is made of two of them is a set."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "keys"
    )


def _words_of(function: Function, node: ast.expr) -> Iterator[str]:
    """The words in the names of a set's elements: as it is written, and in what its names were given."""
    nodes = [node]
    for name in {each.id: None for each in walk(node, ast.Name)}:
        nodes += assignments(function).get(name, ())
        nodes += _appended(function, name)
    for each in nodes:
        for part in walk(each, ast.JoinedStr, ast.Name, ast.Attribute, ast.Constant):
            match part:
                case ast.JoinedStr():
                    yield "str"
                case ast.Name(id=text) | ast.Attribute(attr=text) | ast.Constant(value=str(text)):
                    yield from (word.rstrip("s0123456789") for word in text.lower().split("_"))


def _appended(function: Function, name: str) -> Iterator[ast.expr]:
    for node in own_nodes(function, ast.Call):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="append" | "add" | "extend", value=ast.Name(id=owner)),
                args=[given],
            ) if owner == name:
                yield given
