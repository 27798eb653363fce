"""Values that are made and kept, and that no code reads."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from distlint.analysis.program.syntax import own_nodes
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Class, Function


def never_read(live: LiveProgram, function: Function, node: ast.AST) -> bool:
    """Whether an expression only makes a `torch.device` for a name or an attribute that nobody reads.

    Making one asks no driver for anything. SLAM-LLM a68e78f examples/s2s/utils/cosyvoice/utils/executor.py:33:
    `self.device = torch.device(f"cuda:{rank}")`, and the batches go elsewhere.
    """
    for statement in own_nodes(function, ast.Assign):
        match statement:
            case ast.Assign(
                targets=[target], value=ast.Call(func=ast.Attribute(attr="device"), args=args)
            ) if node in args:
                match target:
                    case ast.Name(id=name) if not function.is_module_body:
                        return not _reads_name(function, name)
                    case ast.Attribute(value=ast.Name(id="self"), attr=name):
                        return function.cls is not None and not _is_asked(live, function.cls, name)
    return False


def _reads_name(function: Function, name: str) -> bool:
    return any(
        node.id == name and isinstance(node.ctx, ast.Load) for node in walk(function.node, ast.Name)
    )


def _is_asked(live: LiveProgram, cls: Class, attr: str) -> bool:
    """Whether the attribute of a class's objects may be read: by its family, or of what is called like the class."""
    family = {*live.program.mro(cls)[0], *live.program.subclasses(cls)}
    name = cls.name.lower()
    for module in live.program.modules.values():
        if attr not in module.source.text:
            continue
        inside = {
            id(node) for each in module.all_classes if each in family for node in walk(each.node)
        }
        for node in walk(module.source.tree):
            if isinstance(node, ast.Constant) and node.value == attr and id(node) in inside:
                return True  # `getattr(self, "device")`
            if not isinstance(node, ast.Attribute) or node.attr != attr:
                continue
            if not isinstance(node.ctx, ast.Load):
                continue
            owner = last_name(node.value).lower().replace("_", "")
            own = id(node) in inside and owner == "self"
            if own or attr != "device" or (owner != "self" and owner and owner in name):
                return True
    return False
