"""Results remembered as long as what they are about: they are freed with it, and no other program sees them.

`functools.cache` would keep the trees of every program alive.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar
from weakref import WeakKeyDictionary

Memory = dict[Any, dict[Any, Any]]
"""What was found of one thing: by the function that found it, then by the other arguments."""


class Owner(Protocol):
    """Something of one program that keeps what is found of it."""

    @property
    def memory(self) -> Memory:
        """What was found of it."""
        ...


Whose = TypeVar("Whose", bound=Owner)
Node = TypeVar("Node", bound=ast.AST)
Others = ParamSpec("Others")
Result = TypeVar("Result")


class _Named(NamedTuple):
    """The key of what was found with named arguments; without any it is the arguments alone."""

    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...]


def remembered(
    function: Callable[Concatenate[Whose, Others], Result],
) -> Callable[Concatenate[Whose, Others], Result]:
    """Compute a function once for each set of arguments; the first keeps the results."""

    @wraps(function)
    def lookup(owner: Whose, /, *args: Others.args, **kwargs: Others.kwargs) -> Result:
        key = _Named(args, tuple(kwargs.items())) if kwargs else args
        try:
            found: Result = owner.memory[function][key]
        except KeyError:
            pass  # not inside: what the function raises would be told with this one
        else:
            return found
        found = function(owner, *args, **kwargs)
        owner.memory.setdefault(function, {})[key] = found
        return found

    return lookup


def all_remembered(
    function: Callable[Concatenate[Whose, Others], Iterator[Result]],
) -> Callable[Concatenate[Whose, Others], tuple[Result, ...]]:
    """All that a generator yields, as `remembered` computes it."""

    @wraps(function)
    def gathered(
        owner: Whose, /, *args: Others.args, **kwargs: Others.kwargs
    ) -> tuple[Result, ...]:
        return tuple(function(owner, *args, **kwargs))

    return remembered(gathered)


def recall(owner: Owner, function: Callable[..., Any], key: tuple[Any, ...]) -> Any:
    """What a remembered function finds of its first argument, by the key under which that is kept."""
    table = owner.memory.setdefault(function, {})
    if key not in table:
        table[key] = called(function, owner, key)
    return table[key]


def called(function: Callable[..., Any], owner: Owner, key: tuple[Any, ...]) -> Any:
    """What a remembered function finds now of its first argument, by the key under which that is kept."""
    args, kwargs = key if isinstance(key, _Named) else (key, ())
    return function(owner, *args, **dict(kwargs))


def remembered_of_nodes(function: Callable[[Node], Result]) -> Callable[[Node], Result]:
    """Compute a function of a syntax node once. The result must not hold the node: it would never be freed."""
    table: WeakKeyDictionary[Node, Result] = WeakKeyDictionary()

    @wraps(function)
    def lookup(node: Node) -> Result:
        if node not in table:
            table[node] = function(node)
        return table[node]

    return lookup
