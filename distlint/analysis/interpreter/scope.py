"""What is in force at one statement of the abstract run: conditions, loops, handlers."""

from __future__ import annotations

import ast
from dataclasses import field
from typing import NamedTuple

from distlint.analysis.interpreter.ir import Guard, Loop
from distlint.analysis.interpreter.values import Value, Variance
from distlint.analysis.interpreter.variables import Variables
from distlint.records import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class OpenLoop:
    """A loop whose body is being followed, with the names that it assigns.

    `loop` is None for a loop over a generator of the project, whose body stands at the `yield`.
    """

    statement: ast.stmt
    loop: Loop | None = None
    assigned: frozenset[str] = frozenset()
    ended: list[Variables] = field(default_factory=list)
    """What the variables held at each `break` of the turn that is followed."""
    cut_short: list[Variables] = field(default_factory=list)
    """And at each `continue`."""


class Scope(NamedTuple):
    """What surrounds a statement, each outermost first. Immutable: a block gets a scope of its own."""

    guards: tuple[Guard, ...] = ()
    """Conditions that hold here, or do not."""
    loops: tuple[OpenLoop, ...] = ()
    tries: tuple[ast.Try, ...] = ()
    """`try` statements whose handlers may catch what is raised here."""
    control: Value | None = None
    """The innermost condition that ranks may decide differently: what is assigned under it varies."""
    handling: bool = False
    """Whether this is inside an `except` block."""
    alone: Guard | None = None
    """Inside an `except` block: the condition on the rank under which its whole `try` stands."""
    without_gradients: bool = False
    tries_around_shared: int | None = None
    """How many of `tries` surround the innermost context that raises one rank's exception on all."""

    def under(self, guard: Guard) -> Scope:
        """The scope where a condition holds as well."""
        return Scope((*self.guards, guard), *self[1:])

    def controlled_by(self, test: Value) -> Scope:
        """The scope of an arm of this test; what it binds varies as the test does."""
        return self if test.variance is Variance.UNIFORM else self._replace(control=test)

    def inside(self, loop: OpenLoop) -> Scope:
        """The scope of a loop's body."""
        return self._replace(loops=(*self.loops, loop))

    def attempted(self, statement: ast.Try) -> Scope:
        """The scope of the body of a `try` that has handlers."""
        return self._replace(tries=(*self.tries, statement)) if statement.handlers else self

    def handler(self) -> Scope:
        """The scope of an `except` block of a `try` that stands here."""
        return self._replace(handling=True, alone=self.alone or self.innermost_rank_guard())

    def innermost_rank_guard(self) -> Guard | None:
        """The innermost condition on the rank that lets this class of ranks come here."""
        for guard in reversed(self.guards):
            if (
                guard.value.variance is Variance.RANK_DEPENDENT
                and guard.value.truthiness() is not None
            ):
                return guard
        return None

    @property
    def failure_reaches_all(self) -> bool:
        """Whether no handler sees an exception from here before all ranks have it."""
        return self.tries_around_shared == len(self.tries)

    @property
    def loop_statements(self) -> tuple[ast.stmt, ...]:
        """The enclosing loops, outermost first."""
        return tuple(open_.statement for open_ in self.loops) if self.loops else ()
