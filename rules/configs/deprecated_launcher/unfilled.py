"""Options that nothing fills, although the program asks the environment for a rank elsewhere."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.linked import imported_below
from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module

_FILLED: Final = re.compile(
    r"""(?m:^[ \t]*(?:[\w.]+,[ ]*)*\w+\.local_rank[ ]*(?:,[ ]*[\w.]+[ ]*)*=[^=])|["']local_rank["']\s*[\],]"""
    r"""|environ\[["']LOCAL_RANK["']\]\s*=[^=]|deepspeed|accelerate|HfArgumentParser|set_defaults\([^)]*local_rank"""
)
"""What may give the option a value that no launcher passes, or the launcher that passes it."""
_SCHEDULED: Final = "SLURM_"
_READ: Final = re.compile(r"""["']LOCAL_RANK["']""")


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


def _takes_device(call: ast.Call) -> bool:
    """Whether a call has the option's number for the device of this process."""
    if last_name(call.func) == "set_device":
        return any(map(_is_option, call.args))
    return any(
        keyword.arg == "device_ids"
        and isinstance(keyword.value, ast.List)
        and any(map(_is_option, keyword.value.elts))
        for keyword in call.keywords
    )


def _is_option(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id=owner), attr="local_rank"):
            return owner != "self"
    return False
