"""Options that nothing fills, although the program asks the environment for a rank elsewhere."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.linked import imported_below
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.knowledge.configuration.launchers import Launcher
from distlint.nodes import last_name, walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function, Module
    from distlint.launch.commands import Launch

_FILLED: Final = pattern(
    r"""(?m:^[ \t]*(?:[\w.]+,[ ]*)*\w+\.local_rank[ ]*(?:,[ ]*[\w.]+[ ]*)*=[^=])|["']local_rank["']\s*[\],]"""
    r"""|environ\[["']LOCAL_RANK["']\]\s*=[^=]|deepspeed|accelerate|HfArgumentParser|set_defaults\([^)]*local_rank"""
)
"""What may give the option a value that no launcher passes, or the launcher that passes it."""
_SCHEDULED: Final = "SLURM_"
_READ: Final = pattern(r"""["']LOCAL_RANK["']""")


def is_unfilled(model: Model, module: Module, declared: ast.Call) -> bool:
    """Whether a number of `--local_rank` keeps its default in each process that `torchrun` starts, and does harm there.

    Where the wrapper or the current device take it, although LOCAL_RANK gives the device beside (Efficient-AI-Backbones
    f90e129 ghostnetv3_pytorch/train.py:364 and 516); or where only behind a test of it the group is made (opacus 4d0ebc8
    examples/cifar10.py:81): each process goes on alone.
    """
    texts = [each.source.text for each in imported_below(model.program, module)]
    if not _is_number(declared) or any(map(_FILLED.search, texts)):
        return False
    nodes = [node for function in module.all_functions for node in own_nodes(function)]
    if any(isinstance(node, ast.If) and _joins_behind(node) for node in nodes):
        return True
    return (
        _READ.search(module.source.text) is not None
        and not any(_SCHEDULED in text for text in texts)
        and any(isinstance(node, ast.Call) and _takes_device(node) for node in nodes)
    )


def ignored_by_torchrun(model: Model, module: Module, declared: ast.Call) -> list[Launch]:
    """The launches of a script by `torchrun`, which passes no such argument, where nothing else gives each rank its device.

    Deep_Object_Pose 035f8e7 train/train.py:413: `--local-rank` with the default 0, and `local_rank = opt.local_rank`. Its
    README.md starts it with `torchrun`.
    """
    texts = [each.source.text for each in imported_below(model.program, module)]
    if not _is_number(declared) or any(
        _READ.search(text) or _FILLED.search(text) or _SCHEDULED in text for text in texts
    ):
        return []
    if not any(
        isinstance(node, ast.Call) and _takes_device(node, _held(function))
        for function in module.all_functions
        for node in own_nodes(function)
    ):
        return []
    return [
        launch
        for _, launch in model.launch.surely_starting(module.path)
        if launch.launcher is Launcher.TORCHRUN and _is_of_several(launch)
    ]


def _is_of_several(launch: Launch) -> bool:
    """Whether a launch starts several processes of a machine, or as many as it is told."""
    number = launch.number("nproc_per_node")
    return "nproc_per_node" in launch.options if number is None else number[0] > 1


def _held(function: Function) -> frozenset[str]:
    """The names under which a function holds the option: `local_rank = opt.local_rank`; not what the group has numbered.

    ares 306e35f detection/run.py:71: `local_rank = dist.get_rank()`, wherever there are several GPUs.
    """
    return frozenset(
        name
        for name, values in assignments(function).items()
        if any(map(_is_option, values))
        and not any(last_name(v) == "get_rank" for v in values if isinstance(v, ast.Call))
    )


def _is_number(declared: ast.Call) -> bool:
    """Whether the default is a number that is written out."""
    default = next((k.value for k in declared.keywords if k.arg == "default"), None)
    return default is not None and re.fullmatch(r"-?\d+", ast.unparse(default)) is not None


def _joins_behind(choice: ast.If) -> bool:
    """Whether a process joins the group where the option has a number, by what torch's launchers set."""
    return any(map(_is_option, walk(choice.test))) and any(
        isinstance(node, ast.Call)
        and last_name(node.func) == "init_process_group"
        and not any(keyword.arg in ("rank", "world_size") for keyword in node.keywords)
        for statement in choice.body
        for node in walk(statement)
    )


def _takes_device(call: ast.Call, held: frozenset[str] = frozenset()) -> bool:
    """Whether a call has the option's number for the device of this process, which is `held` under some names."""
    if last_name(call.func) == "set_device":
        return any(_is_option(each, held) for each in call.args)
    return any(
        keyword.arg == "device_ids"
        and isinstance(keyword.value, ast.List)
        and any(_is_option(each, held) for each in keyword.value.elts)
        for keyword in call.keywords
    )


def _is_option(node: ast.AST, held: frozenset[str] = frozenset()) -> bool:
    match node:
        case ast.Name(id=name):
            return name in held
        case ast.Attribute(value=ast.Name(id=owner), attr="local_rank"):
            return owner != "self"
    return False
