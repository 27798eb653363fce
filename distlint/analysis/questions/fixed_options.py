"""Options of the command line that have one value, whether or not they are given."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.memory import remembered
from distlint.analysis.program.options import Option, options_of
from distlint.nodes import walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.program.program import Program

_SETS_ANY: Final = pattern(r"set_defaults\(|setattr\(|__dict__|vars\(\w+\)\.update")
"""What may set an option whose name is not written there."""


def fixed_option(program: Program, module: Module, test: ast.expr) -> bool | None:
    """What a condition on an option comes out as that has one value only; None where it may be another.

    research-contributions 21ed8e5 DAE/Pretrain_full_contrast/main_runner.py:194: `if not args.thread_loader:`, of
    `add_argument("--thread_loader", default=True, action="store_true")`.
    """
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            held = fixed_option(program, module, operand)
            return None if held is None else not held
        case ast.Attribute(value=ast.Name(), attr=name) if name in _fixed_options(module):
            options = _fixed_options(module)
            return options[name] if _is_read_only(program, name) else None
    return None


@remembered
def _fixed_options(module: Module) -> dict[str, bool]:
    """The options of a file whose flag stores what they are without it."""
    fixed = ((option.name, _fixed(option)) for option in options_of(module))
    return {name: value for name, value in fixed if value is not None}


def _fixed(option: Option) -> bool | None:
    match option.given.get("action"), option.default:
        case ast.Constant(value="store_true"), ast.Constant(value=True):
            return True
        case ast.Constant(value="store_false"), ast.Constant(value=False):
            return False
    return None


@remembered
def _is_read_only(program: Program, name: str) -> bool:
    """Whether nothing in a program but one option puts anything into what is called by a name."""
    around = [m for m in program.modules.values() if name in m.source.text]
    return sum(o.name == name for m in around for o in options_of(m)) == 1 and not any(
        name in set_in(m) or _SETS_ANY.search(m.source.text) for m in around
    )


@remembered
def set_in(module: Module) -> dict[str, list[ast.expr]]:
    """What a file puts into attributes, by their names, whatever they are of; fields and keywords of the name too."""
    found: dict[str, list[ast.expr]] = {}
    for node in walk(module.source.tree, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.keyword):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    for part in walk(target, ast.Attribute, ast.Name):
                        if isinstance(part.ctx, ast.Store):
                            name = part.attr if isinstance(part, ast.Attribute) else part.id
                            found.setdefault(name, []).append(value)
            case ast.AnnAssign(target=ast.Attribute(attr=name) | ast.Name(id=name), value=value):
                found.setdefault(name, []).append(value or node.annotation)
            case ast.AugAssign(target=ast.Attribute(attr=name), value=value):
                found.setdefault(name, []).append(node.target)
            case ast.keyword(arg=str(name), value=value):
                found.setdefault(name, []).append(value)
    return found
