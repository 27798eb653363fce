"""Results remembered while one program is analysed, and forgotten before the next.

`functools.cache` would keep the trees of every program alive; weak keys do not help where the value holds
nodes of the tree.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_TABLES: list[dict[Any, Any]] = []


def remembered(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Compute a function of nodes, functions or modules once for each set of positional arguments."""
    table: dict[Any, Result] = {}
    _TABLES.append(table)

    @wraps(function)
    def lookup(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if args not in table:
            table[args] = function(*args, **kwargs)
        return table[args]

    return lookup


def forget() -> None:
    """Let go of everything that was remembered."""
    for table in _TABLES:
        table.clear()
