"""The names that the tables know of a module of a library: what `from library.module import *` binds of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

from distlint.knowledge import collectives, randomness, ranks, sinks, wrappers
from distlint.knowledge.libraries import CANONICAL


def _last(name: str) -> str:
    return name.rpartition(".")[2]


_TABLES: Final[tuple[Iterable[str], ...]] = (
    collectives.CALLS,
    sinks.SINKS,
    wrappers.WRAPS,
    ranks.FUNCTIONS,
    randomness.SEEDINGS,
    randomness.DRAWS,
    randomness.SAMPLERS,
    # Not whole modules: `torch.utils.data.dataset` is `torch.utils.data`.
    [name for name, known in CANONICAL.items() if _last(name) == _last(known)],
)


@cache
def names_in(module: str) -> tuple[str, ...]:
    """The last names of what tables know under a module, those without an underscore in front.

    TDN a7c7e9b main.py:25: `from torch.utils.data import *`; ml-fastvit 8af5928 train.py:53: `from timm.utils import *`,
    and `random_seed(args.seed, args.rank)`.
    """
    dot = f"{module}."
    found = {
        rest
        for table in _TABLES
        for name in table
        if name.startswith(dot)
        and (rest := name.removeprefix(dot)).isidentifier()
        and not rest.startswith("_")
    }
    return tuple(sorted(found))


__all__ = ["names_in"]
