"""The dispatch of the abstract run: from a kind of syntax to the room that follows it."""

from __future__ import annotations

import ast
from typing import Final

from distlint.analysis.interpreter.assignment import bind_parameters
from distlint.analysis.interpreter.calls import call_project
from distlint.analysis.interpreter.expressions import EXPRESSIONS, operands
from distlint.analysis.interpreter.frame import Frame, SummarySource
from distlint.analysis.interpreter.ir import Summary
from distlint.analysis.interpreter.narrowing import use
from distlint.analysis.interpreter.statements import STATEMENTS, plain, start
from distlint.analysis.interpreter.values import Closure, Value

_MAX_DEPTH: Final = 200


class Interpreter(Frame):
    """A frame that knows how to follow every kind of statement and expression."""

    def evaluate(self, node: ast.expr) -> Value:
        """The value of an expression; the steps that evaluating it takes are appended."""
        if self.depth > _MAX_DEPTH:
            return Value(("deep", id(node)))
        if node.__class__ is ast.Name:
            local = self.variables.values.get(node.id)
            if local is not None:
                return local
        self.depth += 1
        value = EXPRESSIONS.get(node.__class__, operands)(self, node)
        self.depth -= 1
        return value

    def execute(self, statements: list[ast.stmt]) -> bool:
        """Follow statements in order; returns whether the end of the block is reached."""
        outer = self.scope
        alive = True
        for statement in statements:
            self.statement = statement
            if statement in self.used:
                use(self, self.used[statement])
            if not STATEMENTS.get(statement.__class__, plain)(self, statement):
                alive = False
                break
        self.scope = outer
        return alive

    def call(
        self,
        closure: Closure,
        args: list[Value],
        keywords: dict[str, Value],
        node: ast.AST,
        call: ast.Call | None,
    ) -> Value:
        """Call a project function: run it for this class of ranks, take over its steps and result."""
        return call_project(self, closure, args, keywords, node, call)


def follow(
    summaries: SummarySource,
    summary: Summary,
    bound: dict[str, Value],
    receiver: Value | None,
    captured: dict[str, Value],
) -> dict[str, Value]:
    """Fill `run`: follow its function for its class of ranks, with these arguments.

    Returns:
        The variables at the end, by name.
    """
    frame = Interpreter(summaries, summary, captured)
    bind_parameters(frame, bound, receiver)
    start(frame)
    return frame.variables.values
