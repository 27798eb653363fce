"""Pipelines of webdataset that shuffle the shards in front of what gives each rank its part of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module

_SHUFFLES: Final = frozenset({"webdataset.shuffle", "webdataset.filters.shuffle"})
"""Without a generator it makes one of the process's number and the clock (webdataset 0.2.100 filters.py:214); that of
`detshuffle` is the same everywhere."""
_DIVIDES: Final = frozenset({"webdataset.split_by_node", "webdataset.shardlists.split_by_node"})
_GIVEN: Final = frozenset({"rng", "seed"})


def shuffled_shards(model: Model, module: Module) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The shuffles of a file by each process's own order, each with what divides the shards behind it.

    TurboDiffusion aaecff5 turbodiffusion/rcm/datasets/webdataset.py:39.
    """
    if "split_by_node" not in module.source.text:
        return
    for node in walk(module.source.tree):
        match node:
            case ast.Call(args=stages) | ast.List(elts=stages):
                pass
            case _:
                continue
        own: ast.Call | None = None
        for stage in stages:
            if isinstance(stage, ast.Call):
                if model.resolve(module, stage.func) in _SHUFFLES and not any(
                    keyword.arg in _GIVEN for keyword in stage.keywords
                ):
                    own = own or stage
            elif own is not None and model.resolve(module, stage) in _DIVIDES:
                yield own, stage
                break
