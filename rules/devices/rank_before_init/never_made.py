"""Scripts that import what makes the process group, and never call it, though DDP needs one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Function, Module
from distlint.analysis.program.handed import namings
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.entry_points import led_to
from distlint.analysis.questions.without_group import makers_of
from distlint.nodes import walk
from distlint.records import dataclass

_INIT: Final = "torch.distributed.init_process_group"
_NEEDS_GROUP: Final = frozenset(
    {
        "torch.nn.parallel.DistributedDataParallel",
        "torch.distributed.fsdp.FullyShardedDataParallel",
    }
)


@dataclass(frozen=True, slots=True)
class NeverMade:
    """The import of what would make the group, the function, and the wrapper that needs one."""

    module: Module
    imported: ast.ImportFrom
    maker: Function
    where: Module
    wrap: ast.Call


def never_made(model: Model, module: Module) -> Iterator[NeverMade]:
    """What a script imports to make the group, where nothing of the program calls it or makes one otherwise.

    StereoTool f6bb187 stereo/train.py:24 imports `setup_distributed`, asks `get_rank()` and wraps in DDP.
    """
    if not module.is_script:
        return
    for statement in walk(module.source.tree, ast.ImportFrom):
        for alias in statement.names:
            maker = model.resolve(module, ast.Name(alias.asname or alias.name))
            if (
                isinstance(maker, Function)
                and any(
                    model.resolve(maker.module, node.func) == _INIT
                    for node in own_nodes(maker, ast.Call)
                )
                and namings(model.program, maker.name) == ((), False)
                and not makers_of(model.program, module)
            ):
                wrap = next(_wrapping(model, module), None)
                if wrap is not None:
                    yield NeverMade(module, statement, maker, *wrap)


def _wrapping(model: Model, entry: Module) -> Iterator[tuple[Module, ast.Call]]:
    for module, part in led_to(model.program, entry):
        for node in walk(part, ast.Call):
            if model.resolve(module, node.func) in _NEEDS_GROUP:
                yield module, node
