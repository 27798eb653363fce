"""Pipelines of webdataset over shards that nobody divides between the ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.linked import linked
from distlint.analysis.program.memory import all_remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.lightning import fits
from distlint.nodes import walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module

_PIPELINE: Final = "webdataset.WebDataset"
_DIVIDES: Final = pattern(
    r"nodesplitter|split_by_node|resampled|ResampledShards|SimpleShardList|DataPipeline|single_node_only"
)
"""What divides shards, draws them anew on each rank, or changes what webdataset does, in the same file."""
_OF_RANK: Final = pattern(r"rank|world_size|process_index|node_count")
_SINCE: Final = (0, 2)
"""webdataset 0.2.100 webdataset/shardlists.py, `single_node_only`: "you need to add an explicit nodesplitter"; older ones divide."""


@all_remembered
def undivided_shards(model: Model, module: Module) -> Iterator[tuple[ast.Call, Module, ast.AST]]:
    """The pipelines of a file that several ranks go through, each with what shows the ranks.

    webdataset issue 25, DALLE-pytorch 58c1e1a train_dalle.py:383.
    """
    text = module.source.text
    if "WebDataset(" not in text or _DIVIDES.search(ast.unparse(module.source.tree)):
        return
    if model.is_before("webdataset", _SINCE, module):
        return
    for function in module.all_functions:
        for node in own_nodes(function, ast.Call):
            if model.resolve(module, node.func) == _PIPELINE:
                if any(k.arg is None for k in node.keywords) or _is_of_rank(function, node):
                    continue
                if (ranks := _several(model, function, node)) is not None:
                    yield node, *ranks


def _is_of_rank(function: Function, pipeline: ast.Call) -> bool:
    """Whether the shards may be those of a rank by what they are called or made of, or are for the callers to say.

    EasyNLP a4ee956 examples/feature_extractor/pai_feature_extractor.py:61: each rank has folders of its own.
    """
    named = {n.id for given in pipeline.args for n in walk(given, ast.Name)}
    made = [value for name in named for value in assignments(function).get(name, ())]
    named |= {n.id for value in made for n in walk(value, ast.Name)}
    return not named.isdisjoint({*function.parameters} - {"self"}) or any(
        _OF_RANK.search(ast.unparse(each)) for each in (*pipeline.args, *made)
    )


def _several(model: Model, function: Function, node: ast.Call) -> tuple[Module, ast.AST] | None:
    """What shows that several ranks come to a pipeline: where they join, or the `fit` of Lightning beside it."""
    group = model.call_at(node)
    if group is not None and (group.guarded_by_rank or not group.by_all):
        return None
    entry = model.joint_entry_at(group) if group is not None else None
    if entry is not None and entry.all_ranks and not entry.if_any:
        return entry.module, entry.node
    around = linked(model.program, function.module)
    for sites in model.answer(fits).values():
        for fit in sites:
            if fit.module in around:
                return fit.module, fit.node
    return None
