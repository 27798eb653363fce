"""`is_main and a or b` lets every rank through where `b` holds.

## What it does
Reports a condition of the form `rank test and x or y`, or `y or x and rank test`, around a write, a removal or a prompt,
where `y` does not ask for the rank.

## Why it is bad
`and` binds more strongly than `or`: where `y` is true, all ranks pass. What was meant for rank 0 is then
done by every rank, at the same time, to the same files.

## Example
```python
if accelerator.is_main_process and step % 500 == 0 or step == last:
    torch.save(state, path)
```

## Use instead
```python
if accelerator.is_main_process and (step % 500 == 0 or step == last):
    torch.save(state, path)
```

## Fix safety
Unsafe: fewer ranks pass than before, and what else stands in the block may have relied on them.

## Known limits
Silent where the second part asks whether the run is distributed at all (`or world_size == 1`), and where the author has
put the part with the test into parentheses: `(is_main and x) or y`.

## References
- python 3.11 reference, 6.17: operator precedence
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.model import place_of, related, span_of
from distlint.analysis.program.syntax import mentions_rank
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge.schema import Effect
from distlint.repairs import guarding
from distlint.rule import Status

if TYPE_CHECKING:
    from distlint.analysis.model import CallGroup, Model

CODE = "DL308"
NAME = "mixed-guard"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = ()

_ONCE = (Effect.WRITE, Effect.DELETE, Effect.PROMPT, Effect.DOWNLOAD)
_ALONE = (
    "distributed",
    "world",
    "initialized",
    "single",
    "gpu",
    "num_processes",
    "ddp",
    "parallel",
)
"""Words of conditions that ask whether there are other ranks at all."""


def check(model: Model) -> Iterator[Finding]:
    """Conditions in which `or` undoes a test of the rank."""
    seen: set[int] = set()
    files = {id(f.site.node) for f in model.file_calls if f.effect in _ONCE}
    for call in model.calls():
        if id(call.site.node) not in files and call.site.row(Effect.PROMPT) is None:
            continue
        condition = _mixed(call)
        if condition is None or id(condition) in seen:
            continue
        seen.add(id(condition))
        module, node = call.site.module, call.site.node
        rest = " or ".join(map(ast.unparse, _rest(condition)))
        yield Finding(
            CODE,
            NAME,
            SEVERITY,
            f"every rank passes where `{rest}` holds, and all of them make this call: `and` binds "
            "more strongly than `or`. Put the `or` in parentheses.",
            place_of(module, node),
            (related(module, condition, "the condition"),),
            _fix(module.source.text, condition),
        )


def _mixed(call: CallGroup) -> ast.BoolOp | None:
    """The condition `rank test and x or y` under which rank 0 and others make a call."""
    if MAIN not in call.classes or len(call.classes) < 2:
        return None
    for guard in call.site.guards:
        node = guard.node
        if (
            guard.taken
            and not guard.exits
            and "rank" in guard.value.tags
            and isinstance(node, ast.BoolOp)
            and isinstance(node.op, ast.Or)
            and (narrow := _narrow(node)) is not None
            and not _in_parentheses(call.site.module.source.text, node, narrow)
            and not any(mentions_rank(v) or _asks_alone(v) for v in _rest(node))
        ):
            return node
    return None


def _narrow(condition: ast.BoolOp) -> ast.BoolOp | None:
    """The operand of an `or` that asks for the rank and for something else: its first or last.

    sentiment-discovery 17bcf05 main.py:401: `not best_val_loss or val_loss < best_val_loss and args.rank <= 0`.
    """
    for value in (condition.values[0], condition.values[-1]):
        if isinstance(value, ast.BoolOp) and isinstance(value.op, ast.And) and mentions_rank(value):
            return value
    return None


def _rest(condition: ast.BoolOp) -> list[ast.expr]:
    narrow = _narrow(condition)
    return [value for value in condition.values if value is not narrow]


def _in_parentheses(text: str, condition: ast.BoolOp, narrow: ast.BoolOp) -> bool:
    """Whether the author put the operand into parentheses: `(main and x) or y` says who passes.

    efficientvit de7d773 efficientvit/aecore/evaluator.py:184: an option for all ranks, with a file for each.
    """
    if narrow is condition.values[0]:
        start = (condition.lineno, condition.col_offset)
        return start != (narrow.lineno, narrow.col_offset)
    written = guarding.source(text, condition)
    return not written.endswith(guarding.source(text, narrow))


def _asks_alone(node: ast.expr) -> bool:
    text = ast.unparse(node).lower()
    return any(word in text for word in _ALONE)


def _fix(text: str, condition: ast.BoolOp) -> Fix | None:
    narrow = _narrow(condition)
    assert narrow is not None
    tests = [value for value in narrow.values if mentions_rank(value)]
    others = [value for value in narrow.values if not mentions_rank(value)]
    if len(tests) != 1 or not others or condition.lineno != condition.end_lineno:
        return None
    inner = " and ".join(guarding.source(text, value) for value in others)
    parts = [guarding.source(text, value) for value in _rest(condition)]
    parts.insert(0 if narrow is condition.values[0] else len(parts), inner)
    code = f"{guarding.source(text, tests[0])} and ({' or '.join(parts)})"
    edit = Replace(span_of(condition), code)
    return Fix(Applicability.UNSAFE, "Put the `or` in parentheses", (edit,))
