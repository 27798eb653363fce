"""Whether a file starts its processes on one machine, where local and global ranks are the same."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.memory import remembered
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module

_ADDRESS: Final = re.compile(r"(?:tcp://)?(?:localhost|127\.0\.0\.1)(?::\d*)?$")
_MACHINES: Final = re.compile(r"machine_rank|node_rank|num_machines|nnodes|num_nodes|n_nodes")
_SPAWNS: Final = ("mp.spawn", "multiprocessing.spawn", "notebook_launcher")
_ADDRESSES: Final = ("MASTER_ADDR", "init_method", "dist_url")


@remembered
def on_one_machine(module: Module) -> bool:
    """Whether a file starts one machine: it meets at localhost, or spawns and counts no machines.

    Not whatever names the host otherwise: yolov7 a207844 train.py:614 logs a URL of tensorboard,
    InternVL internvl/dist_utils.py:27 lists the addresses of this host, YOLOX yolox/core/launch.py:69
    starts each of several machines.
    """
    text = module.source.text
    if _MACHINES.search(text):
        return False
    return any(word in text for word in _SPAWNS) or (
        ("localhost" in text or "127.0.0.1" in text) and _meets_at_localhost(module.source.tree)
    )


def _meets_at_localhost(tree: ast.Module) -> bool:
    """Whether the address at which the processes meet is written out as this machine's own."""
    for statement in walk(tree):
        match statement:
            case ast.Assign(targets=[target], value=value):
                name = _text(target)
            case ast.keyword(arg=str() as name, value=value):
                pass
            case ast.Call(args=[ast.Constant(value=str() as name), value]):
                pass
            case ast.arguments(defaults=defaults) if any(map(_is_local, defaults)):
                return True
            case _:
                continue
        if any(word in name for word in _ADDRESSES) and any(map(_is_local, walk(value))):
            return True
    return False


def _is_local(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and _ADDRESS.match(node.value) is not None
    )


def _text(target: ast.expr) -> str:
    match target:
        case ast.Subscript(slice=ast.Constant(value=str() as key)):
            return key
    return dotted_name(target)
