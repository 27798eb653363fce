"""Rank 0 alone sets a flag, and all ranks leave the loop by it.

## What it does
Finds a variable that is set under a test of the rank and then decides, on all ranks, whether a loop or function
goes on that performs collectives, or whether a collective is performed. Nothing between the two hands it to the
other ranks.

## Why it is bad
Rank 0 sees that the training has to stop and leaves. On the others the flag still has its first value: they go
on, and wait in their next collective for ever. A `barrier()` in between makes the ranks wait for each other, and
passes no value.

## Errors you may see
- `Watchdog caught collective operation timeout`

## Example
```python
for epoch in range(epochs):
    train(model)
    if dist.get_rank() == 0:
        stop = early_stopping(evaluate(model))
    dist.barrier()
    if stop:
        break
```

## Use instead
```python
for epoch in range(epochs):
    train(model)
    if dist.get_rank() == 0:
        stop = early_stopping(evaluate(model))
    if any_rank(stop):
        break
```

## Fix safety
Unsafe: `any_rank` is a collective; all ranks have to come to the condition, as they do where the ranks go round
the loop alike.

## Known limits
Flag, condition and collective have to stand in one function. Silent where anything between the two is called
with the flag, or puts it into a list or tensor.

## References
- sleap-nn issue 471: `trainer.should_stop` set on rank 0, then a barrier
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.model import CallGroup, Model, place_of, related, source_of, span_of
from distlint.analysis.program.syntax import mentions_rank, own_nodes, target_names
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge import facts
from distlint.nodes import walk
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function

CODE = "DL111"
NAME = "flag-set-on-one-rank"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = ()

_OF_MAIN = re.compile(
    r"[\w.]*(?:rank|rank\(\)|process_index) == 0|[\w.]*(?:is_main_process|is_global_zero|is_master)(?:\(\))?"
)
_LEAVES = (ast.Break, ast.Return)


def check(model: Model) -> Iterator[Finding]:
    """Each condition that asks what one rank alone has set."""
    waits: dict[Function, list[CallGroup]] = {}
    for call in model.calls():
        if facts.is_collective(call.site.rows) and call.by_all and len(call.classes) > 1:
            waits.setdefault(call.site.function, []).append(call)
    for function, collectives in waits.items():
        tests = [n for n in own_nodes(function) if isinstance(n, ast.If)]
        guards = [n for n in tests if mentions_rank(n.test) and _is_of_main(model, n)]
        for guard in sorted(guards, key=lambda n: n.lineno):
            for flag in sorted(_set_in(guard.body) - _set_in(guard.orelse)):
                asked = _asked(function, guard, flag, tests)
                waiting = asked and _parted(function, asked, collectives)
                if asked is not None and waiting and _begins_elsewhere(function, guard, flag):
                    yield _finding(function, guard, flag, asked, waiting)


def _is_of_main(model: Model, guard: ast.If) -> bool:
    """Whether rank 0 alone goes into a branch, by the calls that are made there, else by its test."""
    groups = [
        group
        for statement in guard.body
        for node in walk(statement)
        if isinstance(node, ast.Call) and (group := model.call_at(node)) is not None
    ]
    if groups:
        return all(group.classes == {MAIN} for group in groups)
    return _OF_MAIN.fullmatch(ast.unparse(guard.test)) is not None


def _set_in(body: list[ast.stmt]) -> set[str]:
    return {
        name
        for statement in body
        for node in walk(statement)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name | ast.Attribute)
        for name in target_names(target)
    }


def _asked(function: Function, guard: ast.If, flag: str, tests: list[ast.If]) -> ast.If | None:
    """The next condition on all ranks that asks for a flag; None where something else has it first."""
    end = guard.end_lineno or guard.lineno
    inside = {id(n) for n in walk(guard)}
    uses = [
        n
        for n in own_nodes(function)
        if isinstance(n, ast.Name | ast.Attribute)
        and n.lineno > end
        and id(n) not in inside
        and ast.unparse(n) == flag
    ]
    first = min(uses, key=lambda n: (n.lineno, n.col_offset), default=None)
    for test in tests:
        if first is not None and _flag_in(test.test) is first:
            around = [t for t in tests if any(n is test for s in t.body for n in walk(s))]
            return None if any(mentions_rank(t.test) for t in around) else test
    return None


def _flag_in(test: ast.expr) -> ast.expr:
    """The flag that a condition asks for: `stop`, `not stop`."""
    return test.operand if isinstance(test, ast.UnaryOp) else test


def _parted(function: Function, asked: ast.If, collectives: list[CallGroup]) -> CallGroup | None:
    """A collective that only those perform which the condition lets through."""
    inside = {id(n) for s in (*asked.body, *asked.orelse) for n in walk(s)}
    for call in collectives:
        if id(call.site.node) in inside:
            return call
    leaves = [n for s in asked.body for n in walk(s) if isinstance(n, _LEAVES)]
    loops = [
        n
        for n in own_nodes(function)
        if isinstance(n, ast.For | ast.While) and any(m is asked for s in n.body for m in walk(s))
    ]
    for call in collectives:
        node = call.site.node
        later = node.lineno > (asked.end_lineno or asked.lineno)
        in_loop = any(n is node for loop in loops[-1:] for n in walk(loop))
        if any(isinstance(n, ast.Break) for n in leaves) and in_loop:
            return call
        if any(isinstance(n, ast.Return) for n in leaves) and (later or in_loop):
            return call
    return None


def _begins_elsewhere(function: Function, guard: ast.If, flag: str) -> bool:
    """Whether the other ranks have a value too."""
    inside = {id(n) for n in walk(guard)}
    return "." in flag or any(
        isinstance(n, ast.Assign)
        and id(n) not in inside
        and any(flag in target_names(target) for target in n.targets)
        for n in own_nodes(function)
    )


def _finding(
    function: Function, guard: ast.If, flag: str, asked: ast.If, waiting: CallGroup
) -> Finding:
    node = _flag_in(asked.test)
    text = source_of(function.module, node)
    fix = Fix(
        Applicability.UNSAFE,
        "Ask all ranks, with `any_rank()`",
        (Replace(span_of(node), f"$any_rank({text})"),),
    )
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"rank 0 alone has set `{flag}`: it goes one way here, and the other ranks wait in "
        f"`{waiting.site.method}` (line {waiting.site.node.lineno}). {fix.message}.",
        place_of(function.module, asked.test),
        (related(function.module, guard.test, "rank 0 alone sets it"),),
        fix,
    )
