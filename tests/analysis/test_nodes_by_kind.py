"""Nodes asked for by their kinds are those of all nodes that have these kinds, in the same order."""

import ast
import inspect
import itertools

import pytest

from distlint import nodes
from distlint.analysis import Source, build_model
from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import walk

TEXT = inspect.getsource(nodes)
KINDS = (ast.Call, ast.Name, ast.If, ast.Return, ast.Match)
ASKED = [(), *((kind,) for kind in KINDS), *itertools.combinations(KINDS, 2)]


@pytest.mark.parametrize("order", (ASKED, ASKED[::-1]), ids=("all first", "all last"))
def test_kinds_in_whatever_order_they_are_asked_for(order: list[tuple[type[ast.AST], ...]]) -> None:
    tree = ast.parse(TEXT)
    program = build_model([Source("m.py", "m", TEXT, tree)]).program
    for kinds in order:
        for root in (tree, *(node for node in ast.walk(tree) if isinstance(node, ast.stmt))):
            every = [node for node in walk(root) if node.__class__ in kinds or not kinds]
            assert list(walk(root, *kinds)) == every
        for function in program.functions():
            every = [node for node in own_nodes(function) if node.__class__ in kinds or not kinds]
            assert list(own_nodes(function, *kinds)) == every
