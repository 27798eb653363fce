"""One walk over the syntax of a module: definitions, imports, attributes assigned on `self`."""

from __future__ import annotations

import ast
from itertools import pairwise
from typing import Final

from distlint.analysis.program.definitions import Class, Function, Module
from distlint.analysis.program.source import Source
from distlint.knowledge.starred import names_in
from distlint.nodes import children, last_name, walk

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS: Final = (*_FUNCTIONS, ast.ClassDef)
_PLAIN_DECORATORS: Final = frozenset(
    {"classmethod", "dataclass", "inference_mode", "no_grad", "property", "staticmethod", "wraps"}
)
"""Decorators that hand on what they are given, and keep it nowhere else."""


def scan(name: str, source: Source) -> Module:
    """The module that a file makes, with all that it defines."""
    module = Module(name, source)
    _Scanner(module).scan()
    return module


class _Scanner:
    """One walk over a module's syntax: definitions, imports, attributes assigned on `self`."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.lines = module.source.text.splitlines()

    def scan(self) -> None:
        module = self.module
        module.body = Function("<module>", "<module>", module.source.tree, module)
        module.all_functions.append(module.body)
        self._statements(module.source.tree.body, module.body, None, "")

    def _statements(
        self, body: list[ast.stmt], owner: Function, cls: Class | None, prefix: str
    ) -> None:
        replaced = _replaced(body)
        for statement in body:
            if statement in replaced:
                continue
            match statement:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._function(statement, owner, cls, prefix)
                case ast.ClassDef():
                    self._class(statement, owner, prefix)
                case ast.Import() | ast.ImportFrom():
                    self._import(statement)
                case _:
                    self._other(statement, owner, cls, prefix)

    def _other(self, statement: ast.stmt, owner: Function, cls: Class | None, prefix: str) -> None:
        for name in ("body", "orelse", "finalbody"):
            block = getattr(statement, name, None)
            if isinstance(block, list):
                self._statements(block, owner, cls, prefix)
        for handler in getattr(statement, "handlers", ()):
            self._statements(handler.body, owner, cls, prefix)
        for case in getattr(statement, "cases", ()):
            self._statements(case.body, owner, cls, prefix)
        targets: list[ast.expr] = []
        match statement:
            case ast.Assign():
                targets = statement.targets
            case ast.AnnAssign() | ast.AugAssign():
                targets = [statement.target]
            case ast.For() | ast.AsyncFor():
                targets = [statement.target]
            case ast.With() | ast.AsyncWith():
                targets = [item.optional_vars for item in statement.items if item.optional_vars]
        for target in targets:
            self._target(target, statement, owner, cls)

    def _target(
        self, target: ast.expr, statement: ast.stmt, owner: Function, cls: Class | None
    ) -> None:
        match target:
            case ast.Tuple() | ast.List():
                for element in target.elts:
                    self._target(element, statement, owner, cls)
            case ast.Starred():
                self._target(target.value, statement, owner, cls)
            case ast.Name():
                if cls is not None and owner.cls is not cls:
                    value = getattr(statement, "value", None)
                    if isinstance(value, ast.expr):
                        cls.attributes[target.id] = value
                elif owner.is_module_body:
                    self.module.assigned.add(target.id)
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                method = owner
                while method.cls is None and method.parent is not None:
                    method = method.parent
                if method.cls is not None:
                    functions = method.cls.self_assigned.setdefault(target.attr, [])
                    if method not in functions:
                        functions.append(method)

    def _function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        owner: Function,
        cls: Class | None,
        prefix: str,
    ) -> None:
        in_class = cls is not None and owner.cls is not cls
        function = Function(
            node.name,
            prefix + node.name,
            node,
            self.module,
            cls if in_class else None,
            None if owner.is_module_body and not in_class else owner,
            tuple(node.decorator_list),
            _is_generator(node, self.lines),
        )
        self.module.all_functions.append(function)
        if in_class:
            assert cls is not None
            if node.name not in cls.methods or not function.has_decorator("setter", "deleter"):
                cls.methods[node.name] = function
        elif owner.is_module_body:
            self.module.functions[node.name] = function
        else:
            owner.nested[node.name] = function
        self._statements(node.body, function, function.cls, prefix + node.name + ".<locals>.")

    def _class(self, node: ast.ClassDef, owner: Function, prefix: str) -> None:
        cls = Class(node.name, prefix + node.name, node, self.module)
        self.module.all_classes.append(cls)
        if owner.is_module_body:
            self.module.classes.setdefault(node.name, cls)
        self._statements(node.body, owner, cls, prefix + node.name + ".")

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        imports = self.module.imports
        if isinstance(node, ast.Import):
            for alias in node.names:
                meant = self._meant(0, alias.name, "")
                if alias.asname:
                    self._bind(alias.asname, meant, alias.name)
                    continue
                top, dot, rest = alias.name.partition(".")
                if rest and meant is not None:
                    self.module.submodules.append(meant)
                    self._through_folders(top, rest.split("."), meant.split("."))
                if meant is not None and meant.endswith(dot + rest):
                    meant = meant.removesuffix(dot + rest)
                if top not in imports:
                    self._bind(top, meant, top)
            return
        base = node.module or ""
        if node.level:
            package = self.module.package.split(".") if self.module.package else []
            keep = len(package) - (node.level - 1)
            base = ".".join([*package[: max(keep, 0)], *([base] if base else [])])
        for alias in node.names:
            meant = self._meant(node.level, node.module or "", alias.name)
            name = f"{base}.{alias.name}" if base else alias.name
            if node.level and meant is None:
                meant = base if alias.name == "*" else name
            if alias.name != "*":
                self._bind(alias.asname or alias.name, meant, name)
                continue
            if meant is not None or self.module.source.meant is None:
                self.module.star_imports.append(base if meant is None else meant)
            if meant is None:
                for each in names_in(base):
                    if each not in self.module.imports:
                        self._bind(each, None, f"{base}.{each}")

    def _through_folders(self, top: str, written: list[str], meant: list[str]) -> None:
        """Note the folders that are no packages in front of the module that an import means, each with what is in it."""
        outside = len(written) - len(meant)
        if outside < 0 or [meant[0].partition("~")[0], *meant[1:]] != written[outside:]:
            return
        folders, here = self.module.folders, top
        for folder in written[:outside]:
            folders.setdefault(here, {})[folder] = below = f"{here}/{folder}"
            here = below
        folders.setdefault(here, {})[written[outside]] = meant[0]

    def _meant(self, dots: int, module: str, name: str) -> str | None:
        meant = self.module.source.meant
        return None if meant is None else meant.get((dots, module, name))

    def _bind(self, local: str, meant: str | None, written: str) -> None:
        """A local name for something of the tree, or for what is `written` of an installed package."""
        module, known = self.module, self.module.imports.get(local)
        means = written if meant is None else meant
        if known is not None and known != means and local not in module.installed:
            module.rebound.append(known)
        module.imports[local] = means
        if meant is None and module.source.meant is not None:
            module.installed.add(local)
        else:
            module.installed.discard(local)


def _replaced(body: list[ast.stmt]) -> set[ast.stmt]:
    """The functions and classes of a block that a later one of the same name replaces before anybody uses them.

    Otter 1e7eb9a pipeline/train/train_utils.py:190, `save_checkpoint()`: what runs is the one of line 224.
    """
    places: dict[str, list[int]] = {}
    for place, statement in enumerate(body):
        if isinstance(statement, _DEFINITIONS):
            places.setdefault(statement.name, []).append(place)
    return {
        body[first]
        for name, found in places.items()
        for first, second in pairwise(found)
        if _only_wrapped(body[first]) and not _used_between(body, name, first, second)
    }


def _only_wrapped(statement: ast.stmt) -> bool:
    """Whether no decorator may have kept a definition elsewhere."""
    return isinstance(statement, _DEFINITIONS) and all(
        last_name(each.func if isinstance(each, ast.Call) else each) in _PLAIN_DECORATORS
        for each in statement.decorator_list
    )


def _used_between(body: list[ast.stmt], name: str, first: int, second: int) -> bool:
    """Whether a definition is named by what runs until the next of its name is there, or by that one's head."""
    local = {each.name for each in body[:second] if isinstance(each, _DEFINITIONS)}
    for place in range(first + 1, second + 1):
        statement = body[place]
        runs: list[ast.AST] = [statement]
        if isinstance(statement, _DEFINITIONS):
            inside = statement.body if place == second or isinstance(statement, _FUNCTIONS) else []
            runs = [child for child in children(statement) if child not in inside]
        for node in (n for root in runs for n in walk(root)):
            match node:
                case ast.Name(id=used) if used == name:
                    return True
                case ast.Call(func=ast.Name(id=called)) if called in local:
                    return True  # which may call it
    return False


def _is_generator(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> bool:
    if not any("yield" in line for line in lines[node.lineno - 1 : node.end_lineno]):
        return False
    stack: list[ast.AST] = list(node.body)
    while stack:
        child = stack.pop()
        if isinstance(child, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            stack.extend(children(child))
    return False
