"""Scripts whose configuration hydra composes, and the launches that override a key which it does not have."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.live.several import uses_ranks
from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.linked import imported_below
from distlint.launch.composed import Composed, compose, refused, started

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module
    from distlint.findings import Place

_OTHERS = ("ConfigStore", "SearchPathPlugin", "initialize_config")
"""What has hydra compose something else than the YAML beside the code."""


def overridden(model: Model, module: Module) -> Iterator[tuple[ast.expr, str, Place]]:
    """The decorator of a script of several processes, and each key that a launch overrides although its configuration does not have it.

    rllm 874daa4 scripts/simple_math_example.sh:52: `python3 -m verl.trainer.main_ppo … actor_rollout_ref.rollout.async_engine=False`.
    """
    mains = list(_mains(model, module))
    for decorator, folder, name in mains if mains and uses_ranks(model.program, module) else ():
        config = compose(model.launch.composed, folder, name)
        if config is not None:
            for key, place in _refused(model, module, config):
                yield decorator, key, place


def _refused(model: Model, module: Module, config: Composed) -> Iterator[tuple[str, Place]]:
    for script in model.launch.scripts:
        for command in script.commands if script.followed else ():
            start = started(command)
            if start is None or not start.program.sure:
                continue
            called = start.program.text or ""
            path = f"{called.replace('.', '/')}.py" if start.is_module else called
            if model.launch.is_surely(path, script, module.path, below=start.is_module):
                yield from ((key, word.place) for key, word in refused(config, start.given))


def _mains(model: Model, module: Module) -> Iterator[tuple[ast.expr, str, str]]:
    """The decorators by which hydra starts functions of a file, each with the folder and the name of the configuration."""
    if "hydra" not in module.source.text or any(
        word in each.source.text
        for each in imported_below(model.program, module)
        for word in _OTHERS
    ):
        return
    for function in module.all_functions:
        if not isinstance(function.node, ast.FunctionDef):
            continue
        for each in function.node.decorator_list:
            if (
                isinstance(each, ast.Call)
                and not each.args
                and model.program.resolve_dotted(module, dotted_name(each.func)) == "hydra.main"
            ):
                given = {k.arg: k.value for k in each.keywords}
                match given.get("config_path"), given.get("config_name"):
                    case ast.Constant(value=str(folder)), ast.Constant(value=str(name)):
                        beside = posixpath.dirname(module.path)
                        yield each, posixpath.normpath(posixpath.join(beside, folder)), name
