"""The `with` that takes the place of save, set and restore."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.model import source_of, span_of
from distlint.edits import AddImport, Delete, Edit, Insert, Replace, WrapInWith
from distlint.findings import Applicability, Fix
from distlint.knowledge import settings
from distlint.nodes import walk

from .temporary import Setting, Stretch, new_value

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module


def repaired(
    module: Module, function: Function, stretch: Stretch, wrapped: set[tuple[Function, str]]
) -> Fix | None:
    """The fix of a stretch; None where the shape leaves open what ran under which value."""
    if not stretch.contiguous:
        return None
    edits: list[Edit] = []
    items: list[tuple[str, str, str]] = []
    for setting in stretch.settings:
        change = _Change(module, function, setting)
        value = change.value()
        if value is None or not change.restores_always():
            return None
        edits += change.edits
        items.append((*_context(change, stretch, wrapped), value))
    header = ", ".join(_merged(items))
    edits.append(WrapInWith(span_of(stretch.work[0]), span_of(stretch.work[-1]), header))
    leaves = any(_leaves(statement) for statement in stretch.work)
    what = header.replace("$", "")
    return Fix(
        Applicability.UNSAFE if leaves else Applicability.SAFE,
        f"Put the work under `with {what}:`",
        tuple(dict.fromkeys(edits)),
    )


def _merged(items: list[tuple[str, str, str]]) -> Iterator[str]:
    """Context managers in order; attributes of one object in one call."""
    calls: dict[str, list[str]] = {}
    for opening, keyword, value in items:
        if not keyword and not opening:
            yield value
        elif not keyword:
            yield f"{opening}, {value})"
        else:
            calls.setdefault(opening, []).append(f"{keyword}={value}")
    for opening, values in calls.items():
        yield f"{opening}, {', '.join(values)})"


def _context(
    change: _Change, stretch: Stretch, wrapped: set[tuple[Function, str]]
) -> tuple[str, str]:
    """The opening of the context manager's call, and the keyword of the value.

    `temporary_attr` is exact for every object. A model's config has shorter names; but as
    `temporary_config` changes what `generate()` reads as well, it is not used around one.
    """
    if change.context_variable:
        return "", ""
    setting = change.setting
    owner = change.text(setting.owner)
    if isinstance(setting.owner, ast.Attribute) and setting.owner.attr == "config":
        holder = setting.owner.value
        model = change.text(holder)
        if setting.attr == settings.ATTENTION:
            return f"$attn_implementation({model}", ""
        named = holder.attr if isinstance(holder, ast.Attribute) else getattr(holder, "id", "")
        if settings.names_model(named) and not _generates(stretch):
            return f"$temporary_config({model}", setting.attr
        if (change.function, ast.unparse(setting.owner)) in wrapped:
            owner = f"$unwrap({model}).config"
    return f"$temporary_attr({owner}", setting.attr


class _Change:
    """What becomes of the statements of one setting."""

    def __init__(self, module: Module, function: Function, setting: Setting) -> None:
        self.module = module
        self.function = function
        self.setting = setting
        self.edits: list[Edit] = []
        self.context_variable = False

    def text(self, node: ast.expr) -> str:
        """An expression as written, in parentheses where it has line breaks."""
        text = source_of(self.module, node)
        return f"({text})" if "\n" in text and not text.endswith((")", "]", "}")) else text

    def value(self) -> str | None:
        """The new value as the header takes it; what leads there is in `edits`. None: no way."""
        setting = self.setting
        self.edits.append(Delete(span_of(setting.restore_statement)))
        match setting.set_statement:
            case ast.Assign() | ast.AnnAssign() | ast.Expr():
                self.edits.append(Delete(span_of(setting.set_statement)))
                self._drop_save()
                return self.text(new_value(setting.set_statement))
            case ast.If() as statement if setting.save_statement is not statement:
                return self._chosen(statement)
            case ast.Try() as statement:
                return self._attempted(statement)
        return None

    def restores_always(self) -> bool:
        """Whether the restore depends on nothing but whether there was something to restore."""
        match self.setting.restore_statement:
            case ast.If(test=test, orelse=[]):
                names = {n.id for n in walk(test, ast.Name)}
                return self.setting.saved in names or any(
                    getattr(n.func, "id", "") == "hasattr" for n in walk(test, ast.Call)
                )
        return True

    def _drop_save(self) -> None:
        """Remove the save, where only the set and the restore used the variable."""
        setting = self.setting
        inside = {
            id(n) for s in (setting.save_statement, setting.restore_statement) for n in walk(s)
        }
        used = any(
            n.id == setting.saved and isinstance(n.ctx, ast.Load) and id(n) not in inside
            for n in walk(self.function.node, ast.Name)
        )
        match setting.save_statement:
            case ast.Assign(targets=[ast.Name()]) if not used:
                self.edits.append(Delete(span_of(setting.save_statement)))

    def _chosen(self, statement: ast.If) -> str | None:
        """`if`/`elif`/`else` that sets: its branches set a variable."""
        arms = list(_arms(statement))
        sets = [[s for s in arm if s in self.setting.sets] for arm in arms]
        if any(len(found) > 1 for found in sets) or sum(map(len, sets)) != len(self.setting.sets):
            return None
        name = self._fresh(f"new_{self.setting.attr.strip('_')}")
        if not all(sets) or not _ends_in_else(statement):
            # Where no arm sets it, the attribute keeps its value.
            self.edits.append(Insert(span_of(statement), f"{name} = {self.setting.saved}"))
        else:
            self._drop_save()
        for found in self.setting.sets:
            self.edits.append(Replace(span_of(found), f"{name} = {self.text(new_value(found))}"))
        return name

    def _attempted(self, statement: ast.Try) -> str | None:
        """`try` around the set: it makes the context manager, each handler makes one of nothing."""
        if statement.orelse or statement.finalbody or len(self.setting.sets) != 1:
            return None
        found = self.setting.sets[0]
        if found not in statement.body or any(_leaves(s) for s in walk(statement)):
            return None
        name = self._fresh(f"new_{self.setting.attr.strip('_')}")
        owner, value = self.text(self.setting.owner), self.text(new_value(found))
        self.edits.append(
            Replace(
                span_of(found), f"{name} = $temporary_attr({owner}, {self.setting.attr}={value})"
            )
        )
        for handler in statement.handlers:
            last = handler.body[-1]
            code = f"{name} = nullcontext()"
            if isinstance(last, ast.Pass):
                self.edits.append(Replace(span_of(last), code))
            else:
                self.edits.append(Insert(span_of(last), code, after=True))
        self.edits.append(AddImport("contextlib", "nullcontext"))
        self.context_variable = True
        return name

    def _fresh(self, name: str) -> str:
        taken = {n.id for n in walk(self.function.node, ast.Name)}
        while name in taken:
            name += "_"
        return name


def _arms(statement: ast.If) -> Iterator[list[ast.stmt]]:
    yield statement.body
    match statement.orelse:
        case [ast.If() as following]:
            yield from _arms(following)
        case []:
            return
        case _:
            yield statement.orelse


def _ends_in_else(statement: ast.If) -> bool:
    match statement.orelse:
        case [ast.If() as following]:
            return _ends_in_else(following)
    return bool(statement.orelse)


def _leaves(statement: ast.AST) -> bool:
    """Whether the statement may leave the block on a way that skipped the restore."""
    return any(walk(statement, ast.Return, ast.Break, ast.Continue))


def _generates(stretch: Stretch) -> bool:
    return any(
        isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and n.func.attr.startswith("generate")
        for statement in stretch.work
        for n in walk(statement)
    )
