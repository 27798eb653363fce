"""Parts of a data set that each rank draws by itself, before the ranks divide what is left."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.nodes import last_name

from .unordered import is_data_set

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

DRAWS: Final = frozenset(
    {
        "random.sample",
        "numpy.random.choice",
        "numpy.random.permutation",
        "torch.randperm",
    }
)
"""What draws some of the elements or indices it is given, none of them twice."""
_WORDS: Final = ("sample(", "choice(", "permutation(", "randperm(")
_TAKES: Final = {"Subset": 1, "select": 0}
"""What makes a data set of the indices that it is given, and where these stand."""
_GENERATORS: Final = frozenset({"generator", None})


def drawn_subsets(model: Model, module: Module) -> Iterator[tuple[Function, ast.Call]]:
    """The draws of a file by which a data set keeps some of its samples, each with the function that makes it.

    Groma d3a95b6 groma/data/build.py:58: `Subset(data, np.random.choice(len(data), n, replace=False))`; Uni-Perceiver
    db76b4c uniperceiver/datasets/task_dataset/vqa.py:209: `datalist.extend(random.sample(rows, k))` in a method that the
    constructor calls.
    """
    if not any(word in module.source.text for word in _WORDS):
        return
    for function in module.all_functions:
        for node in own_nodes(function, ast.Call):
            if (
                _draws(model, function, node)
                and _is_kept(model, function, node)
                and ((group := model.call_at(node)) is None or not group.guarded_by_rank)
            ):
                yield function, node


def _draws(model: Model, function: Function, node: ast.Call) -> bool:
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if model.resolve(function.module, node.func) not in DRAWS or not _GENERATORS.isdisjoint(given):
        return False
    replace = given.get("replace")
    # With replacement it is a draw of values, as a rule: which angle, which word.
    return last_name(node.func) != "choice" or (
        isinstance(replace, ast.Constant) and replace.value is False
    )


def _is_kept(model: Model, function: Function, draw: ast.Call) -> bool:
    names = _made_of(function, draw)
    if any(
        (place := _TAKES.get(last_name(node.func))) is not None
        and len(node.args) > place
        and _holds(node.args[place], draw, names)
        for node in own_nodes(function, ast.Call)
    ):
        return True
    if any(_is_put_into(model, function, name) for name in names):
        return True
    cls = function.cls
    kept = set() if cls is None else _numbered(model, cls)
    if cls is None or not kept:
        return False
    if function.name == "__init__":
        return not kept.isdisjoint(names)
    made = model.program.find_method(cls, "__init__")
    if made is None:
        return False
    calls = [node for node in own_nodes(made) if _calls(node, function)]
    if not calls:
        return False
    given_back = any(
        node.value is not None and _holds(node.value, draw, names)
        for node in own_nodes(function, ast.Return)
    )
    return not kept.isdisjoint(names) or (
        given_back and any(not kept.isdisjoint(_made_of(made, call)) for call in calls)
    )


def _is_put_into(model: Model, function: Function, name: str) -> bool:
    """Whether a name is an attribute of a data set that a function makes, which numbers the samples by it.

    Text4Vis d61b34d train.py:183: `train_data.video_list = …`, of `random.sample(…)` for each class.
    """
    owner, _, attr = name.rpartition(".")
    return owner not in ("", "self") and any(
        isinstance(value, ast.Call)
        and isinstance(cls := model.resolve(function.module, value.func), Class)
        and f"self.{attr}" in _numbered(model, cls)
        for value in assignments(function).get(owner, ())
    )


def _calls(node: ast.AST, method: Function) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == f"self.{method.name}"


def _numbered(model: Model, cls: Class) -> set[str]:
    """The attributes of a data set that its methods read by the number they are handed."""
    if not is_data_set(model, cls) and not {"__getitem__", "__len__"} <= cls.methods.keys():
        return set()
    item = model.program.find_method(cls, "__getitem__")
    owners = [cls] if item is None or item.cls in (None, cls) else [cls, item.cls]
    return {
        ast.unparse(node.value)
        for owner in owners
        if owner is not None
        for method in owner.methods.values()
        for node in own_nodes(method, ast.Subscript)
        if isinstance(node.ctx, ast.Load)
        and isinstance(node.slice, ast.Name)
        and node.slice.id in method.parameters
        and isinstance(node.value, ast.Attribute)
    }


def _made_of(function: Function, source: ast.AST) -> set[str]:
    """The variables and attributes of a function that hold what a call gives, also by way of others or of `extend`."""
    names: set[str] = set()
    known = -1
    while known < len(names):
        known = len(names)
        for name, values in assignments(function).items():
            if any(_holds(value, source, names) for value in values):
                names.add(name)
        for node in own_nodes(function, ast.Call):
            match node:
                case ast.Call(func=ast.Attribute(attr="extend", value=owner), args=[given]):
                    if _holds(given, source, names):
                        names.add(ast.unparse(owner))
    return names


def _holds(value: ast.AST, source: ast.AST, names: set[str]) -> bool:
    """Whether a value is some elements of another, or made of them one by one: no call takes them to other things."""
    match value:
        case ast.Call() if value is source:
            return True
        case ast.Name() | ast.Attribute():
            return ast.unparse(value) in names
        case ast.Subscript(value=inner, slice=index):
            return _holds(inner, source, names) or _holds(index, source, names)
        case ast.ListComp(generators=[first, *_]):
            return _holds(first.iter, source, names)
        case ast.BinOp(left=left, right=right):
            return _holds(left, source, names) or _holds(right, source, names)
        case ast.Call(func=ast.Attribute(attr="tolist" | "copy" | "numpy", value=inner)):
            return _holds(inner, source, names)
        case ast.Call(func=func, args=[inner, *_]):
            # `list(…)`, `sorted(…)`, `pa.array(…)`: what holds the same elements.
            return last_name(func) in ("list", "tuple", "sorted", "array", "asarray") and _holds(
                inner, source, names
            )
    return False
