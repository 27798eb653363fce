"""Ports at which Linux lets root alone listen."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.syntax import own_nodes
from distlint.knowledge.configuration.launchers import PORT_VARIABLES

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module

_FIRST: Final = 1024
"""The first port that is everybody's: Linux ip(7), `ip_unprivileged_port_start`."""
_OFTEN: Final = 0.1
"""From this share of the draws on, a draw below counts: PixelRec 9a04747 code/main.py:19 draws from 1002 to 9999."""
_DRAWS: Final = {"random.randint": 1, "random.randrange": 0, "numpy.random.randint": 0}
"""What draws a whole number, and what comes to its upper bound."""


def is_privileged(text: str) -> bool:
    """Whether root alone may listen at a port. At 0, the system chooses one."""
    return text.strip().isdecimal() and 0 < int(text) < _FIRST


def drawn_low(model: Model, module: Module) -> Iterator[tuple[ast.Call, int, int]]:
    """The draws of a port that end below often enough, each with the first and the last number.

    De-limiter e15f80b main_ddp.py:36: `os.environ["MASTER_PORT"] = str(random.randint(0, 1800))`.
    """
    if "rand" not in module.source.text:
        return
    for function in module.all_functions:
        for node in own_nodes(function, ast.Assign):
            match node:
                case ast.Assign(
                    targets=[ast.Subscript(slice=ast.Constant(value=str(name)))],
                    value=ast.Call(
                        func=ast.Name(id="str"),
                        args=[
                            ast.Call(
                                args=[ast.Constant(value=int(low)), ast.Constant(value=int(high))]
                            ) as call
                        ],
                    ),
                ) if name in PORT_VARIABLES:
                    meaning = model.program.resolve_dotted(module, dotted_name(call.func))
                    more = _DRAWS.get(meaning) if isinstance(meaning, str) else None
                    if more is None:
                        continue
                    last = high - 1 + more
                    below = min(_FIRST - 1, last) - low + 1
                    if below > _OFTEN * (last - low + 1):
                        yield call, low, last
