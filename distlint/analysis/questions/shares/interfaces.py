"""What following a function, a call and a program ask of one another."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Class, Definition, Function, Module
    from distlint.analysis.questions.shares.reading import Met
    from distlint.analysis.questions.shares.values import Held


class Following(Protocol):
    """A function that is being followed."""

    shares: Known
    function: Function
    module: Module
    variables: dict[str, Held]
    filled: set[str]

    def value(self, node: ast.expr) -> Held:
        """Whose an expression is."""

    def bind(self, target: ast.expr, value: Held) -> None:
        """Put a value into a target of an assignment."""

    def put(self, path: str, value: Held) -> None:
        """Let a variable hold a value."""

    def keep(self, container: ast.expr, value: Held) -> None:
        """Put a value into what a container holds."""

    def forget_parts(self, holder: str) -> None:
        """Take note that an object puts together what it was made of."""


class Known(Protocol):
    """What is known of a program."""

    live: LiveProgram
    shared: frozenset[str]
    empty: frozenset[str]

    def of(self, node: ast.AST) -> Held:
        """Whose an expression is, as far as it was followed."""

    def see(self, node: ast.expr, value: Held, function: Function) -> None:
        """Remember whose an expression is."""

    def summed(self, value: Held, module: Module, node: ast.AST) -> Held:
        """A share that is added up, or put beside the others of its rank."""

    def averaged(self, value: Held, module: Module, node: ast.AST) -> Held:
        """A share that was divided by something."""

    def gone_over(self, value: Held, trained: bool) -> Held:
        """What a loop that trains on a share, or evaluates on it, gets from it."""

    def attribute_of(self, owner: Held, attr: str) -> Held | None:
        """What the methods of a class put into an attribute."""

    def global_of(self, function: Function, name: str) -> Held | None:
        """What the statements of a file have put into a variable that a function reads."""

    def loader_named(self, attr: str) -> Held | None:
        """What each class of the program keeps under the name of a loader."""

    def meaning(self, function: Function, node: ast.Call) -> tuple[Met | None, Definition | None]:
        """The call as the ranks make it, and what is called."""

    def method(self, cls: Class, name: str) -> Function | None:
        """A method of a class."""

    def run(
        self,
        caller: Following,
        function: Function,
        node: ast.Call,
        args: list[Held],
        keywords: dict[str, Held],
        receiver: Held | None,
        around: dict[str, Held] | None = None,
    ) -> Held:
        """What a function of the program returns for these arguments."""

    def construct(
        self,
        caller: Following,
        cls: Class,
        node: ast.Call,
        args: list[Held],
        keywords: dict[str, Held],
    ) -> Held:
        """An object of a class of the program."""
