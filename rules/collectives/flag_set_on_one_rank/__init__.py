"""Rank 0 alone sets a flag, and all ranks leave the loop by it.

## What it does
Finds a variable that is set under a test of the rank and then decides, on all ranks, whether a loop or function
goes on that performs collectives, or whether a collective is performed, alone or beside other conditions. Nothing between the two hands it to the
other ranks. Also an option that rank 0 alone fills in (`cfg.load_path = latest`), and a branch on it that leads to a
collective. Also the flags by which every process of a Trainer leaves its loop, set on one rank:
`trainer.should_stop` of Lightning, `control.should_training_stop` of transformers. And a counter that rank 0 alone
advances (`bar.update(1)` behind `if not main: continue`), by which the loop that trains ends on all ranks. And an
attribute (`self.stop = …`) that a method sets so, and by which another function leaves its loop.

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
For the flags of a Trainer no repair is made: it goes by what hands the flag on. Elsewhere flag, condition and collective have to stand in one function, or the flag is an attribute
that is a constant but where rank 0 sets it, and that nothing but conditions reads. Silent where anything between the two is called
with the flag, or puts it into a list or tensor.

## References
- sleap-nn issue 471: `trainer.should_stop` set on rank 0, then a barrier
- pytorch-lightning 0277e31 src/lightning/pytorch/loops/fit_loop.py, `done`: each process asks its own flag
- transformers 5.23.0 transformers/trainer.py:1963: the same of `should_training_stop`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.model import CallGroup, Model, place_of, related, source_of, span_of
from distlint.analysis.program.syntax import mentions_rank, own_nodes, target_names
from distlint.analysis.questions.ordering import Traces
from distlint.analysis.traces.witness import where
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge import facts
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.rule import Status

from .counted import Counted, counted
from .filled import Filled, filled
from .kept import Kept, kept

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module

CODE = "DL111"
NAME = "flag-set-on-one-rank"
SEVERITY = Severity.ERROR
STATUS = Status.PREVIEW
LITERALS = (b"trainer.should_stop", b"control.should_")

_OF_MAIN = pattern(
    r"[\w.]*(?:rank|rank\(\)|process_index) == 0|[\w.]*(?:is_main_process|is_global_zero|is_world_process_zero|is_master)(?:\(\))?"
)
_OF_TRAINERS = {
    "should_stop": "trainer",
    "should_training_stop": "control",
    "should_epoch_stop": "control",
    "should_evaluate": "control",
}
"""Flags that each process of a Trainer asks for itself, and what the object is called that has them."""
_LEAVES = (ast.Break, ast.Return, ast.Continue)


def check(model: Model) -> Iterator[Finding]:
    """Each condition that asks what one rank alone has set."""
    waits: dict[Function, list[CallGroup]] = {}
    for call in model.calls():
        if facts.is_collective(call.site.rows) and call.by_all and len(call.classes) > 1:
            waits.setdefault(call.site.function, []).append(call)
    told: set[ast.expr] = set()
    for function, collectives in waits.items():
        tests = list(own_nodes(function, ast.If))
        guards = [n for n in tests if mentions_rank(n.test) and _is_of_main(model, n)]
        for guard in sorted(guards, key=lambda n: n.lineno):
            for flag in sorted(_set_in(guard.body) - _set_in(guard.orelse)):
                asked = _asked(function, guard, flag, tests)
                waiting = asked and _parted(function, asked, collectives)
                if asked is not None and waiting and _begins_elsewhere(function, guard, flag):
                    told.add(asked.test)
                    yield _finding(function, guard, flag, asked, waiting)
    yield from _filled(model, told)
    yield from map(_by_counter, counted(model))
    yield from (_by_attribute(found) for found in kept(model) if found.asked.test not in told)
    for module in model.modules:
        if any(word in module.source.text for word in _OF_TRAINERS):
            yield from _of_trainers(module)


def _filled(model: Model, told: set[ast.expr]) -> Iterator[Finding]:
    """The branches by options that rank 0 alone sets."""
    traces = model.answer(Traces)
    for module in model.modules:
        for function in module.all_functions:
            guards = [n for n in own_nodes(function, ast.If) if mentions_rank(n.test)]
            for guard in sorted(guards, key=lambda n: n.lineno):
                options = {o for o in _set_in(guard.body) - _set_in(guard.orelse) if "." in o}
                if options and _is_of_main(model, guard):
                    for found in filled(model, traces, function, guard, options):
                        if found.asked.test not in told:
                            told.add(found.asked.test)
                            yield _by_option(function, guard, found)


def _by_counter(found: Counted) -> Finding:
    advice = f"Count `{found.counter}` on all ranks"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"rank 0 alone counts `{found.counter}`: it leaves this loop, and the other ranks, where it stays as it was, wait "
        f"in their next step. {advice}.",
        place_of(found.module, found.asked),
        (related(found.module, found.advanced, "rank 0 alone counts"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _by_attribute(found: Kept) -> Finding:
    home = found.function.module
    text = source_of(home, found.asked.test)
    advice = f"Hand `{found.attr}` to all ranks first, by a broadcast that all of them reach"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"rank 0 alone sets `{found.attr}`: by `{text}` it leaves this loop, and the other ranks, where it stays as it was, "
        f"wait in `{found.collective.method}` ({where(found.collective.module, found.collective.node, home)}). {advice}.",
        place_of(home, found.asked.test),
        (related(found.module, found.set_at, "rank 0 alone sets it"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _by_option(function: Function, guard: ast.If, found: Filled) -> Finding:
    advice = f"Hand `{found.option}` to all ranks first, by a broadcast that all of them reach"
    called, collective = found.call, found.collective
    way = "" if called is collective else f" leads to `{collective.method}`, which"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"rank 0 alone has set `{found.option}`: it goes one way here and the other ranks go another, and "
        f"`{called.method}` (line {called.node.lineno}){way} is for all of them. {advice}.",
        place_of(function.module, found.asked.test),
        (related(function.module, guard.test, "rank 0 alone sets it"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _of_trainers(module: Module) -> Iterator[Finding]:
    """The flags of a Trainer that one rank alone sets."""
    for function in module.all_functions:
        nodes = own_nodes(function)
        written = [
            (node, target)
            for node in nodes
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Attribute)
            and target.attr in _OF_TRAINERS
            and _OF_TRAINERS[target.attr] in ast.unparse(target.value)
        ]
        if not written or not isinstance(function.node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        only = next(
            (d for d in function.node.decorator_list if "rank_zero_only" in last_name(d)), None
        )
        tests = [n for n in nodes if isinstance(n, ast.If) and _asks_for_main(n.test)]
        for node, target in written:
            guard = next(
                (t for t in tests if any(n is node for s in t.body for n in walk(s))), None
            )
            others = [
                other for other, again in written if other is not node and again.attr == target.attr
            ]
            read = any(
                isinstance(n, ast.Attribute)
                and n.attr == target.attr
                and isinstance(n.ctx, ast.Load)
                for n in nodes
            )
            if (guard is None and only is None) or others or read:
                continue
            if not isinstance(node.value, ast.Constant):
                continue
            where: ast.AST | None = guard.test if guard is not None else only
            yield _on_one_rank(module, target, where or target)


def _asks_for_main(test: ast.expr) -> bool:
    """Whether rank 0 alone passes a test."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_asks_for_main(value) for value in test.values)
    return _OF_MAIN.fullmatch(ast.unparse(test)) is not None


def _on_one_rank(module: Module, target: ast.Attribute, guard: ast.AST) -> Finding:
    text = source_of(module, target)
    advice = f"Hand `{target.attr}` to all ranks, by a broadcast that all of them reach"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"rank 0 alone sets `{text}`, and each rank asks its own: rank 0 leaves the training, and the others wait in "
        f"their next step. {advice}.",
        place_of(module, target),
        (related(module, guard, "rank 0 alone sets it"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _is_of_main(model: Model, guard: ast.If) -> bool:
    """Whether rank 0 alone goes into a branch, by the calls that are made there, else by its test."""
    groups = [
        group
        for statement in guard.body
        for node in walk(statement, ast.Call)
        if (group := model.call_at(node)) is not None
    ]
    if groups:
        return all(group.classes == {MAIN} for group in groups)
    return _asks_for_main(guard.test)


def _set_in(body: list[ast.stmt]) -> set[str]:
    return {
        name
        for statement in body
        for node in walk(statement, ast.Assign)
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
        for n in own_nodes(function, ast.Name, ast.Attribute)
        if n.lineno > end and id(n) not in inside and ast.unparse(n) == flag
    ]
    first = min(uses, key=lambda n: (n.lineno, n.col_offset), default=None)
    for test in tests:
        if first is not None and _flag_in(test.test) is first:
            around = [t for t in tests if any(n is test for s in t.body for n in walk(s))]
            return None if any(mentions_rank(t.test) for t in around) else test
    return None


def _flag_in(test: ast.expr) -> ast.expr:
    """The flag that a condition asks for: `stop`, `not stop`, `logs and step % every == 0`."""
    match test:
        case ast.BoolOp(values=[first, *others]) if not any(map(mentions_rank, others)):
            return _flag_in(first)
        case ast.UnaryOp(operand=flag):
            return flag
    return test


def _parted(function: Function, asked: ast.If, collectives: list[CallGroup]) -> CallGroup | None:
    """A collective that only those perform which the condition lets through."""
    inside = {id(n) for s in (*asked.body, *asked.orelse) for n in walk(s)}
    for call in collectives:
        if id(call.site.node) in inside:
            return call
    leaves = [n for s in asked.body for n in walk(s) if isinstance(n, _LEAVES)]
    loops = [
        n
        for n in own_nodes(function, ast.For, ast.While)
        if any(m is asked for s in n.body for m in walk(s))
    ]
    for call in collectives:
        node = call.site.node
        later = node.lineno > (asked.end_lineno or asked.lineno)
        in_loop = any(n is node for loop in loops[-1:] for n in walk(loop))
        if any(isinstance(n, ast.Break) for n in leaves) and in_loop:
            return call
        if any(isinstance(n, ast.Return) for n in leaves) and (later or in_loop):
            return call
        if any(isinstance(n, ast.Continue) for n in leaves) and later and in_loop:
            return call
    return None


def _begins_elsewhere(function: Function, guard: ast.If, flag: str) -> bool:
    """Whether the other ranks have a value too."""
    inside = {id(n) for n in walk(guard)}
    return "." in flag or any(
        id(n) not in inside and any(flag in target_names(target) for target in n.targets)
        for n in own_nodes(function, ast.Assign)
    )


def _finding(
    function: Function, guard: ast.If, flag: str, asked: ast.If, waiting: CallGroup
) -> Finding:
    node = _flag_in(asked.test)
    text = source_of(function.module, node)
    if isinstance(asked.test, ast.BoolOp):
        fix = Fix(Applicability.DISPLAY, f"Hand `{flag}` to all ranks first, by a broadcast")
    else:
        edit = Replace(span_of(node), f"$any_rank({text})")
        fix = Fix(Applicability.UNSAFE, "Ask all ranks, with `any_rank()`", (edit,))
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"rank 0 alone has set `{flag}`: it goes one way here, and the other ranks wait in "
        f"`{waiting.site.method}` (line {waiting.site.node.lineno}). {fix.message}.",
        place_of(function.module, asked.test),
        (
            related(function.module, guard.test, "rank 0 alone sets it"),
            related(function.module, waiting.site.node, "the other ranks wait here"),
        ),
        fix,
    )
