"""Mixtures of data sets that each process draws by itself."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.syntax import mentions_rank, own_nodes
from distlint.patterns import pattern

from .unseeded import has_ranks

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module

_MIXES: Final = "datasets.interleave_datasets"
_DRAWS, _SEED = "probabilities", "seed"
"""Its second and third argument."""
_STREAMED: Final = pattern(r"streaming|IterableDataset|split_dataset_by_node")
"""Words of files whose data sets are no lists: what a rank gets of a stream, others decide."""


def drawn_mixtures(model: Model, module: Module) -> list[ast.Call]:
    """The calls of `interleave_datasets` with probabilities and without a seed, where ranks divide the data by index.

    It draws from `np.random.default_rng(seed)`, which no seed of the program reaches (datasets 5.2.0
    datasets/arrow_dataset.py:7298). AnyGPT 282b58f
    anygpt/src/train/stage1_pretrain.py:557.
    """
    text = module.source.text
    if "interleave_datasets" not in text or _STREAMED.search(text):
        return []
    found = [
        node
        for function in module.all_functions
        if not any(mentions_rank(n.test) for n in own_nodes(function, ast.If))
        for node in own_nodes(function, ast.Call)
        if model.resolve(module, node.func) == _MIXES and _draws_unseeded(node)
    ]
    if not found or not has_ranks(model, module):
        return []
    return sorted(found, key=lambda call: call.lineno)


def _draws_unseeded(call: ast.Call) -> bool:
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    given |= dict(zip(("", _DRAWS, _SEED), call.args, strict=False))
    if None in given or any(isinstance(each, ast.Starred) for each in call.args):
        return False
    return not _is_none(given.get(_DRAWS)) and _is_none(given.get(_SEED))


def _is_none(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value is None)
