"""Ranks that a program spawns itself, and that are to meet at an address which nobody gives them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Function, Module
from distlint.analysis.program.memory import all_remembered
from distlint.analysis.program.syntax import own_nodes

_SPAWN: Final = "torch.multiprocessing.spawn"
_INIT: Final = "torch.distributed.init_process_group"
_ADDRESS: Final = "MASTER_"
"""The beginning of both variables, in whatever way they are put together."""


@all_remembered
def without_address(model: Model, module: Module) -> Iterator[tuple[Module, ast.Call, ast.Call]]:
    """The calls that make the group by `env://` in what a file spawns, each with its file and what spawns.

    ScoreVAE c4e4ba6 train_ddp.py:32: `init_method="env://"`, and neither the program nor a script says `MASTER_ADDR`.
    """
    if "spawn(" not in module.source.text or model.launches_to(module):
        return
    for function in module.all_functions:
        for call in own_nodes(function, ast.Call):
            if model.resolve(module, call.func) == _SPAWN and call.args:
                worker = model.resolve(module, call.args[0])
                made = _made_by(model, worker) if isinstance(worker, Function) else ()
                found = list(made)
                if found and not _says_address(model):
                    yield from ((where, init, call) for where, init in found)


def _says_address(model: Model) -> bool:
    texts = [module.source.text for module in model.program.modules.values()]
    texts += [script.text for script in model.launch.scripts]
    return any(_ADDRESS in text for text in texts)


def _made_by(model: Model, worker: Function) -> Iterator[tuple[Module, ast.Call]]:
    """The calls by which a worker makes the group, itself or in what it calls, with its number and no address."""
    called = (model.resolve(worker.module, n.func) for n in own_nodes(worker, ast.Call))
    for function in (worker, *dict.fromkeys(f for f in called if isinstance(f, Function))):
        for node in own_nodes(function, ast.Call):
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            if (
                model.resolve(function.module, node.func) == _INIT
                and {"rank", "world_size"} <= given.keys()
                and given.keys().isdisjoint({"store", None})
                and len(node.args) < 2
                and _is_environment(given.get("init_method"))
            ):
                yield function.module, node


def _is_environment(method: ast.expr | None) -> bool:
    return method is None or (isinstance(method, ast.Constant) and method.value in ("env://", None))
