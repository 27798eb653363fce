"""Attributes that a constructor makes on some ranks alone, and whose methods are called where others come as well."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final, NamedTuple

from distlint.analysis.interpreter.ranks import MAIN, RankClass
from distlint.analysis.live.joint_entry import maybe_guarded
from distlint.analysis.live.program import LiveProgram
from distlint.analysis.live.summaries import CallGroup
from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Class, Function, dotted_name
from distlint.analysis.program.environment import statements
from distlint.analysis.program.handed import namings
from distlint.analysis.program.memory import remembered
from distlint.analysis.questions.wrapped import catches_attribute_error
from distlint.nodes import last_name, walk

from .settings import is_decided, parts_of_test, tests_around

_ASKS: Final = frozenset({"hasattr", "getattr"})


class Attribute(NamedTuple):
    """An attribute of a class that objects have on some ranks alone."""

    name: str
    made: ast.Assign
    maker: Function
    """The constructor."""
    absent: frozenset[RankClass]
    """The ranks whose objects lack it, or hold None."""


class Use(NamedTuple):
    """A call of a method of such an attribute by a rank that lacks it."""

    call: CallGroup
    node: ast.Attribute
    attribute: Attribute


def absent_attributes(model: Model) -> Iterator[Use]:
    """The first such call of each attribute in each method, in source order."""
    attributes = model.answer(_by_rank)
    done: set[tuple[Function, str]] = set()
    for call in model.calls() if attributes else ():
        node = _of_self(call.site.node.func)
        function = call.site.function
        if node is None or function.cls is None or (function, node.attr) in done:
            continue
        attribute = attributes.get(function.cls, {}).get(node.attr)
        if attribute is not None and _lacks(model, call, attribute):
            done.add((function, node.attr))
            yield Use(call, node, attribute)


def _of_self(called: ast.expr) -> ast.Attribute | None:
    """`self.x` of `self.x.update`."""
    while isinstance(called, ast.Attribute):
        inner = called.value
        if isinstance(inner, ast.Attribute) and dotted_name(inner) == f"self.{inner.attr}":
            return inner
        called = inner
    return None


def _lacks(model: Model, call: CallGroup, attribute: Attribute) -> bool:
    """Whether a rank without the attribute makes the call, whatever the settings say."""
    function = call.site.function
    if _asks_for(function, attribute.name) or any(map(catches_attribute_error, call.site.tries)):
        return False
    if _is_left_over(model, function):
        return False
    lacking = [site for rank, site in call.sites if rank in attribute.absent]
    made = tests_around(attribute.maker, attribute.made)
    if _lets_in(function, made):
        return False
    reached = MAIN in call.entered_by and any(
        not maybe_guarded(site) and all(is_decided(model.program, g, made) for g in site.guards)
        for site in lacking
    )
    return reached and (
        model.joint_entry_at(call) is not None or not _may_be_called(model, function)
    )


def _lets_in(function: Function, made: frozenset[str]) -> bool:
    """Whether a decorator of its class calls a method only under what was asked where the attribute was made.

    SMDE-Pytorch ebf8a5c logger.py:32: `if self.rank_id == 0: ret = func(self, *args, **kwargs)` in `_parallel_mask`.
    """
    methods = function.cls.methods if function.cls is not None else {}
    makers = [methods.get(last_name(each)) for each in function.decorators]
    for wrapper in (inner for each in makers if each is not None for inner in each.nested.values()):
        wrapped = {name for outer in wrapper.outward() for name in outer.parameters}
        calls = [
            {
                text
                for each in around
                if isinstance(each, ast.If)
                for text in parts_of_test(each.test)
            }
            for statement, around in statements(wrapper.body)
            if not isinstance(statement, ast.If)
            and any(dotted_name(call.func) in wrapped for call in walk(statement, ast.Call))
        ]
        if calls and not any(made.isdisjoint(asked) for asked in calls):
            return True
    return False


def _is_left_over(model: Model, function: Function) -> bool:
    """Whether the program makes the objects, names the method nowhere, and looks up none by what a variable says.

    MSRN-RCAN-SRGAN 1490b75 MyNet_ddp/code/net/solver_ddp.py:244: `test()`, where each mode takes `test_Y()`.
    """
    cls = function.cls
    return (
        cls is not None
        and not function.decorators
        and namings(model.program, function.name) == ((), False)
        and bool(namings(model.program, cls.name).calls)
        and not model.answer(_looks_up)
    )


def _looks_up(live: LiveProgram) -> bool:
    """Whether the program asks for an attribute by a name that is not written there."""
    return any(
        last_name(node.func) == "getattr" and not isinstance(node.args[1], ast.Constant)
        for module in live.program.modules.values()
        for node in walk(module.source.tree, ast.Call)
        if len(node.args) > 1
    )


def _may_be_called(model: Model, function: Function) -> bool:
    """Whether a call that is not followed may lead to a method, on one rank only."""
    return function.name in model.answer(_called_methods)


def _called_methods(live: LiveProgram) -> frozenset[str]:
    """The names of methods that are called on objects; `torch.load` is none."""
    return frozenset(
        node.func.attr
        for module in live.program.modules.values()
        for node in walk(module.source.tree, ast.Call)
        if isinstance(node.func, ast.Attribute)
        and dotted_name(node.func).partition(".")[0] not in module.imports
    )


def _asks_for(function: Function, name: str) -> bool:
    """Whether a method looks at the attribute in another way than by using what it holds."""
    used = {id(n.value) for n in walk(function.node, ast.Attribute)}
    return any(
        (
            isinstance(node, ast.Attribute)
            and node.attr == name
            and isinstance(node.ctx, ast.Load)
            and id(node) not in used
        )
        or (isinstance(node, ast.Constant) and node.value == name and _is_asked(function))
        for node in walk(function.node)
    )


def _is_asked(function: Function) -> bool:
    return any(n.id in _ASKS for n in walk(function.node, ast.Name))


def _by_rank(live: LiveProgram) -> dict[Class, dict[str, Attribute]]:
    """For each class the attributes that its objects have on some ranks alone."""
    found: dict[Class, dict[str, Attribute]] = {}
    for module in live.program.modules.values():
        for cls in module.all_classes:
            for name, methods in cls.self_assigned.items():
                attribute = _made(live, cls, name) if len(methods) == 1 else None
                if attribute is not None:
                    for each in (cls, *live.program.subclasses(cls)):
                        found.setdefault(each, {})[name] = attribute
    return found


@remembered
def _made(live: LiveProgram, cls: Class, name: str) -> Attribute | None:
    """The attribute, where the constructor alone makes it, and not on every rank."""
    (method,) = cls.self_assigned[name]
    runs = live.summaries_of(method) if method.name == "__init__" else None
    if runs is None or MAIN not in runs.classes or len(runs.classes) == 1:
        return None
    bound = [
        s
        for s, _ in statements(method.body)
        if isinstance(s, ast.Assign) and any(dotted_name(t) == f"self.{name}" for t in s.targets)
    ]
    made = [s for s in bound if not _is_none(s.value)]
    if len(made) != 1 or len(bound) > 2:
        return None
    lacking = {
        rank: name not in run.self_attributes or run.self_attributes[name].const is None
        for rank, run in runs.summaries()
    }
    absent = frozenset(rank for rank, lacks in lacking.items() if lacks)
    if not absent or MAIN in absent or not _made_here_alone(live, cls, name):
        return None
    return Attribute(name, made[0], method, absent)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _made_here_alone(live: LiveProgram, cls: Class, name: str) -> bool:
    """Whether nothing else in the program sets the attribute, and nothing finds attributes by other means."""
    own, outside = live.program.mro(cls)
    if set(outside) - {"torch.nn.Module", "object", "abc.ABC"}:
        return False  # a base class that is not seen may have set it
    family = (*own, *live.program.subclasses(cls))
    elsewhere = any(
        name in each.methods
        or name in each.attributes
        or (each is not cls and name in each.self_assigned)
        or "__getattr__" in each.methods
        for each in family
    )
    return not elsewhere and name not in live.answer(_set_on_others)


def _set_on_others(live: LiveProgram) -> frozenset[str]:
    """The names of attributes that code sets on other objects than `self`."""
    return frozenset(
        node.attr
        for module in live.program.modules.values()
        for node in walk(module.source.tree, ast.Attribute)
        if isinstance(node.ctx, ast.Store) and dotted_name(node) != f"self.{node.attr}"
    )
