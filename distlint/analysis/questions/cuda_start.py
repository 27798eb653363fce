"""Where a program starts CUDA, and where it names a device by a constant; by resolved calls and syntax."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.knowledge.devices import DEVICE_CALLS, DEVICE_TYPES

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Module


def starts_cuda(live: LiveProgram, module: Module, node: ast.expr) -> bool:
    """Whether evaluating a call makes the CUDA driver read the environment, which it does once."""
    if not isinstance(node, ast.Call):
        return False
    meaning = live.resolve(module, node.func)
    row = DEVICE_CALLS.get(meaning) if isinstance(meaning, str) else None
    if row is not None:
        return row.initialises
    match node:
        case ast.Call(func=ast.Attribute(attr="cuda"), args=[] | [_]):
            return not isinstance(meaning, str)
        case ast.Call(func=ast.Attribute(attr="to"), args=[argument, *_]):
            return constant_device(argument) is not None
    return (
        any(k.arg == "device" and constant_device(k.value) is not None for k in node.keywords)
        and isinstance(meaning, str)
        and meaning.startswith("torch.")
    )


def constant_device(node: ast.expr) -> str | None:
    """The text of a device that is written as a constant ("cuda", "cuda:0"); None for others."""
    match node:
        case ast.Constant(value=str() as text) if text.partition(":")[0] in DEVICE_TYPES:
            return text
        case ast.Call(func=ast.Attribute(attr="device"), args=[ast.Constant(value=str() as text)]):
            return text if text.partition(":")[0] in DEVICE_TYPES else None
    return None
