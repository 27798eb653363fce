"""The program: modules, what their names mean, classes and their bases, functions.

Built from syntax alone; nothing is imported. A name that the project defines is the project's, whatever
a table says of a library's function of that name; what cannot be resolved stays unresolved.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from distlint.analysis.nodes import children
from distlint.analysis.source import Source
from distlint.knowledge.libraries import canonical_name

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_MAX_REEXPORTS: Final = 12


@dataclass(slots=True, eq=False)
class Function:
    """A function, method, lambda, or the body of a module (`node` is then the `ast.Module`)."""

    name: str
    qualname: str
    node: FunctionNode | ast.Module
    module: Module
    cls: Class | None = None
    parent: Function | None = None
    decorators: tuple[ast.expr, ...] = ()
    is_generator: bool = False
    nested: dict[str, Function] = field(default_factory=dict)

    @property
    def is_module_body(self) -> bool:
        """Whether this stands for the statements of a module."""
        return isinstance(self.node, ast.Module)

    @property
    def body(self) -> list[ast.stmt]:
        """The statements; a lambda's expression counts as its `return`."""
        if isinstance(self.node, ast.Lambda):
            statement = ast.Return(value=self.node.body)
            return [ast.copy_location(statement, self.node.body)]
        return self.node.body

    @property
    def parameters(self) -> list[str]:
        """Names of the positional parameters, in order, then the keyword-only ones."""
        if isinstance(self.node, ast.Module):
            return []
        arguments = self.node.args
        return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]

    def has_decorator(self, *names: str) -> bool:
        """Whether a decorator's last name is one of `names` (``property``, ``staticmethod`` …)."""
        return any(_last_name(d) in names for d in self.decorators)

    def __repr__(self) -> str:
        return f"<Function {self.module.name}:{self.qualname}>"


@dataclass(slots=True, eq=False)
class Class:
    """A class of the project. `bases` are the base expressions as written."""

    name: str
    qualname: str
    node: ast.ClassDef
    module: Module
    methods: dict[str, Function] = field(default_factory=dict)
    attributes: dict[str, ast.expr] = field(default_factory=dict)
    self_assigned: dict[str, list[Function]] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """Module and qualified name, dotted."""
        return f"{self.module.name}.{self.qualname}"

    def __repr__(self) -> str:
        return f"<Class {self.full_name}>"


@dataclass(slots=True, eq=False)
class Module:
    """A file: its imports (local name → dotted name), its definitions, every function in it."""

    name: str
    source: Source
    imports: dict[str, str] = field(default_factory=dict)
    star_imports: list[str] = field(default_factory=list)
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    all_functions: list[Function] = field(default_factory=list)
    all_classes: list[Class] = field(default_factory=list)
    body: Function = field(init=False)

    @property
    def path(self) -> str:
        """How findings name the file."""
        return self.source.path

    @property
    def package(self) -> str:
        """What a relative import with one dot starts from."""
        return self.name if self.source.is_package else self.name.rpartition(".")[0]

    def __repr__(self) -> str:
        return f"<Module {self.name}>"


Definition = Function | Class | Module | str
"""What a name means: something of the project, or the canonical dotted name of something outside."""


def _last_name(node: ast.expr) -> str:
    while isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def dotted_name(node: ast.AST) -> str:
    """`a.b.c` for a chain of attributes on a name, "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if not isinstance(node, ast.Attribute):
        return ""
    known: str | None = getattr(node, "_distlint_dotted", None)
    if known is None:
        base = dotted_name(node.value)
        known = f"{base}.{node.attr}" if base else ""
        node._distlint_dotted = known  # type: ignore[attr-defined]
    return known


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
        for statement in body:
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
                if alias.asname:
                    imports[alias.asname] = alias.name
                else:
                    top = alias.name.partition(".")[0]
                    imports.setdefault(top, top)
            return
        base = node.module or ""
        if node.level:
            package = self.module.package.split(".") if self.module.package else []
            keep = len(package) - (node.level - 1)
            base = ".".join([*package[: max(keep, 0)], *([base] if base else [])])
        for alias in node.names:
            if alias.name == "*":
                self.module.star_imports.append(base)
            else:
                imports[alias.asname or alias.name] = f"{base}.{alias.name}" if base else alias.name


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


class Program:
    """All modules of the analysed tree, and what names mean in them."""

    def __init__(self, sources: Iterator[Source] | list[Source]) -> None:
        self.modules: dict[str, Module] = {}
        self._tops: set[str] = set()
        self._bases: dict[Class, tuple[Definition, ...]] = {}
        self._members: dict[tuple[Module, str], Definition | None] = {}
        self._cuts = 0
        self._mro: dict[Class, tuple[tuple[Class, ...], tuple[str, ...]]] = {}
        self._subclasses: dict[Class, list[Class]] | None = None
        for source in sources:
            module = Module(source.module, source)
            _Scanner(module).scan()
            # Two scripts may share a module name (examples/*/train.py): each is known by its path too.
            name = (
                source.module
                if source.module not in self.modules
                else f"{source.module}@{source.path}"
            )
            self.modules[name] = module
            self._tops.add(source.module.partition(".")[0])

    def lookup(self, dotted: str, depth: int = 0) -> Definition | None:
        """What an absolute dotted name means; None for a name of the project that cannot be found."""
        if dotted in self.modules:
            return self.modules[dotted]
        if dotted.partition(".")[0] not in self._tops:
            return canonical_name(dotted)
        head, _, attribute = dotted.rpartition(".")
        tail: list[str] = []
        while head:
            module = self.modules.get(head)
            if module is not None:
                found: Definition | None = self.member(module, attribute, depth + 1)
                for name in tail:
                    if isinstance(found, Class):
                        found = self.find_method(found, name)
                    elif isinstance(found, Module):
                        found = self.member(found, name, depth + 1)
                    elif isinstance(found, str):
                        found = canonical_name(f"{found}.{name}")
                    else:
                        return None
                return found
            tail.insert(0, attribute)
            head, _, attribute = head.rpartition(".")
        # The tree has a folder of that name, but not this module: an installed package of the same name,
        # or a file that was not read.
        return canonical_name(dotted) if dotted.partition(".")[0] not in self.modules else None

    def member(self, module: Module, name: str, depth: int = 0) -> Definition | None:
        """What `name` means at the top level of a module, followed through re-exports."""
        key = (module, name)
        if key not in self._members:
            cuts = self._cuts
            found = self._member(module, name, depth)
            if depth and self._cuts != cuts:
                return found  # right only in here: the search ended early, in a cycle perhaps
            self._members[key] = found
        return self._members[key]

    def _member(self, module: Module, name: str, depth: int) -> Definition | None:
        if depth > _MAX_REEXPORTS:
            self._cuts += 1
            return None
        if name in module.functions:
            return module.functions[name]
        if name in module.classes:
            return module.classes[name]
        if name in module.imports:
            dotted = module.imports[name]
            if dotted == f"{module.name}.{name}" and dotted not in self.modules:
                return None
            return self.lookup(dotted, depth + 1)
        submodule = self.modules.get(f"{module.name}.{name}")
        if submodule is not None:
            return submodule
        if name in module.assigned:
            return None
        for star in module.star_imports:
            target = self.modules.get(star)
            if (
                target is not None
                and target is not module
                and (found := self.member(target, name, depth + 1))
            ):
                return found
        return None

    def bases(self, cls: Class) -> tuple[Definition, ...]:
        """The base classes of a class that could be resolved (subscripts are ignored)."""
        if cls not in self._bases:
            self._bases[cls] = ()  # a class that is its own base, through a name it shadows
            found = []
            for base in cls.node.bases:
                node = base.value if isinstance(base, ast.Subscript) else base
                meaning = self.resolve_dotted(cls.module, dotted_name(node))
                if isinstance(meaning, (Class, str)) and meaning is not cls:
                    found.append(meaning)
            self._bases[cls] = tuple(found)
        return self._bases[cls]

    def resolve_dotted(self, module: Module, dotted: str) -> Definition | None:
        """What a dotted name written at the top level of `module` means."""
        if not dotted:
            return None
        first, _, rest = dotted.partition(".")
        meaning = self.member(module, first)
        for name in rest.split(".") if rest else ():
            match meaning:
                case Module():
                    meaning = self.member(meaning, name)
                case str():
                    meaning = canonical_name(f"{meaning}.{name}")
                case Class():
                    meaning = next(
                        (
                            c
                            for c in module.all_classes
                            if c.qualname == f"{meaning.qualname}.{name}"
                        ),
                        None,
                    )
                case _:
                    return None
        return meaning

    def mro(self, cls: Class) -> tuple[tuple[Class, ...], tuple[str, ...]]:
        """The project classes a class inherits from (itself first), and the external ones by name."""
        if cls not in self._mro:
            own: list[Class] = []
            outside: list[str] = []
            stack: list[Definition] = [cls]
            while stack:
                current = stack.pop(0)
                if isinstance(current, Class):
                    if current not in own:
                        own.append(current)
                        stack.extend(self.bases(current))
                elif isinstance(current, str) and current not in outside:
                    outside.append(current)
            self._mro[cls] = (tuple(own), tuple(outside))
        return self._mro[cls]

    def find_method(self, cls: Class, name: str, after: Class | None = None) -> Function | None:
        """The method that `name` means on a class; with `after`, the next one behind that class."""
        own, _ = self.mro(cls)
        if after is not None:
            own = own[own.index(after) + 1 :] if after in own else self.mro(after)[0][1:]
        return next((c.methods[name] for c in own if name in c.methods), None)

    def subclasses(self, cls: Class) -> list[Class]:
        """Every project class that inherits from `cls`, at any distance."""
        if self._subclasses is None:
            self._subclasses = {}
            for module in self.modules.values():
                for candidate in module.all_classes:
                    for base in self.mro(candidate)[0][1:]:
                        self._subclasses.setdefault(base, []).append(candidate)
        return self._subclasses.get(cls, [])

    def functions(self) -> Iterator[Function]:
        """Every function of every module, module bodies included."""
        for module in self.modules.values():
            yield from module.all_functions
