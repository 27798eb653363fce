"""Seeds that a program sets only where its command line asks for it, which by default it does not."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.memory import remembered
from distlint.analysis.program.options import options_of
from distlint.analysis.program.syntax import literals, own_nodes
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function


def only_on_demand(model: Model, function: Function, call: ast.Call) -> bool:
    """Whether a call stands under a test for an option that is None by default, and that no launch gives.

    ControlNeXt ab4b3ac ControlNeXt-SVD-v2-Training/train_svd.py:891: `if args.seed is not None: set_seed(args.seed)`.
    """
    return any(
        name in _unset(model)
        for test in own_nodes(function, ast.If)
        if any(part is call for statement in test.body for part in walk(statement, ast.Call))
        for each, holds in literals(test.test, True)
        if (name := _asked_for(each, holds))
    )


def _asked_for(test: ast.expr, holds: bool) -> str:
    """The option that has to be there: `args.seed`, `args.seed is not None`."""
    match test:
        case ast.Attribute(attr=name) if holds:
            return name
        case ast.Compare(
            left=ast.Attribute(attr=name), ops=[op], comparators=[ast.Constant(value=None)]
        ) if isinstance(op, ast.IsNot) is holds:
            return name
    return ""


@remembered
def _unset(model: Model) -> frozenset[str]:
    """The options that are None wherever they are declared, that no launch gives and no code sets."""
    modules = model.program.modules.values()
    by_default: dict[str, bool] = {}
    for module in modules:
        for option in options_of(module):
            known = option.default
            unset = isinstance(known, ast.Constant) and known.value is None
            by_default[option.name] = by_default.get(option.name, True) and unset
    given = {name for _, launch in model.launch.launches() for name in launch.arguments}
    stored = {
        node.attr
        for module in modules
        for node in walk(module.source.tree, ast.Attribute)
        if isinstance(node.ctx, ast.Store)
    }
    return frozenset(name for name, unset in by_default.items() if unset) - given - stored
