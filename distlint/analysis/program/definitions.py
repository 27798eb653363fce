"""What a file defines: modules, classes, functions, and the names by which code refers to them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field

from distlint.analysis.program.memory import Memory, remembered
from distlint.analysis.program.source import Source
from distlint.nodes import last_name as last_name
from distlint.records import dataclass

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


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
    memory: Memory = field(default_factory=dict)
    is_module_body: bool = field(init=False)
    """Whether this stands for the statements of a module."""
    parameters: list[str] = field(init=False)
    """Names of the positional parameters, in order, then the keyword-only ones."""
    _decorated: frozenset[str] = field(init=False)
    """The last names of the decorators."""

    def __post_init__(self) -> None:
        self.is_module_body = isinstance(self.node, ast.Module)
        self._decorated = frozenset(map(last_name, self.decorators))
        self.parameters = []
        if not isinstance(self.node, ast.Module):
            given = self.node.args
            self.parameters = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]

    @property
    def body(self) -> list[ast.stmt]:
        """The statements; a lambda's expression counts as its `return`."""
        if isinstance(self.node, ast.Lambda):
            statement = ast.Return(value=self.node.body)
            return [ast.copy_location(statement, self.node.body)]
        return self.node.body

    def outward(self) -> Iterator[Function]:
        """The function and those around it, innermost first."""
        function: Function | None = self
        while function is not None:
            yield function
            function = function.parent

    def has_decorator(self, *names: str) -> bool:
        """Whether a decorator's last name is one of `names` (``property``, ``staticmethod`` …)."""
        return not self._decorated.isdisjoint(names)

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
    """A file: its imports (local name → dotted name), its definitions, every function in it.

    `installed` are the local names whose imports mean nothing of the tree, though a file of the tree may
    have such a name. `folders` are those that its imports name and the modules of the tree do not (`import src.util`,
    where the file is the module `util`), with what it imports from each. `rebound` is what names were imported as before
    another import took them, in another arm or function. `submodules` are the modules of the tree that an `import a.b` reads
    beside the name that it binds.
    """

    name: str
    source: Source
    imports: dict[str, str] = field(default_factory=dict)
    rebound: list[str] = field(default_factory=list)
    submodules: list[str] = field(default_factory=list)
    installed: set[str] = field(default_factory=set)
    star_imports: list[str] = field(default_factory=list)
    folders: dict[str, dict[str, str]] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    all_functions: list[Function] = field(default_factory=list)
    all_classes: list[Class] = field(default_factory=list)
    body: Function = field(init=False)
    memory: Memory = field(default_factory=dict)

    @property
    def path(self) -> str:
        """How findings name the file."""
        return self.source.path

    @property
    def written(self) -> str:
        """The name by which its neighbours import it: without the number that tells it from others."""
        top, dot, rest = self.name.partition(".")
        return top.partition("~")[0] + dot + rest

    @property
    def package(self) -> str:
        """What a relative import with one dot starts from."""
        return self.name if self.source.is_package else self.name.rpartition(".")[0]

    @property
    def is_script(self) -> bool:
        """Whether the file may be started: it asks whether it is `__main__`."""
        return _is_script(self)

    def __repr__(self) -> str:
        return f"<Module {self.name}>"


@remembered
def _is_script(module: Module) -> bool:
    return any(
        isinstance(statement, ast.If) and asks_for_start(statement)
        for statement in module.source.tree.body
    )


def asks_for_start(statement: ast.If) -> bool:
    """Whether a branch of a file is for the process that is started with it."""
    return "__main__" in ast.unparse(statement.test)


Definition = Function | Class | Module | str
"""What a name means: something of the project, or the canonical dotted name of something outside."""


def dotted_name(node: ast.AST) -> str:
    """`a.b.c` for a chain of attributes on a name, "" for anything else."""
    if node.__class__ is ast.Name:
        return node.id
    path = ""
    while node.__class__ is ast.Attribute:
        path = f".{node.attr}{path}"
        node = node.value
    return f"{node.id}{path}" if path and node.__class__ is ast.Name else ""
