"""Whether all ranks can meet at a place, in every context in which it is reached: what a new collective rests on.

Asked once for all fixes that make one (`distlint.repairs.dressing`). One context in which some ranks come alone, or
one after the other, is enough: there the new collective would wait for ever.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.interpreter.ir import CallSite, Event, Guard, Layer, Loop
from distlint.analysis.interpreter.ranks import RankClass
from distlint.analysis.interpreter.values import Variance
from distlint.analysis.live.joint_entry import BARRIERS, maybe_guarded
from distlint.analysis.live.program import LiveProgram
from distlint.analysis.model import Model
from distlint.analysis.program.definitions import Class, Function
from distlint.analysis.program.syntax import decided, ends_process, literals, own_nodes
from distlint.analysis.questions.possible import failing_blocks
from distlint.analysis.questions.sections import first_sections
from distlint.analysis.traces.graph import steps_below
from distlint.edits import Span
from distlint.knowledge import facts, hooks
from distlint.knowledge.collectives.runtime import ROWS
from distlint.nodes import last_name, walk
from distlint.records import dataclass
from distlint.repairs.blocks import blocks
from distlint.repairs.guarding import LEAVES

_ON_ITS_OWN: Final = frozenset(
    {"__del__", "__getattr__", "__getitem__", "__getitems__", "__iter__", "__len__", "__next__", "__repr__"}
)  # fmt: skip
"""Methods that a process runs when it needs them, `__getitem__` in the workers of a loader."""
_STARTS_ALONE: Final = frozenset(
    {"Thread", "Timer", "Process", "apply_async", "register", "run_in_executor", "signal", "submit"}
)
"""What runs a function it is given beside the program, or at a time of its own."""
_ENTERED_BY_WITH: Final = ("contextmanager", "asynccontextmanager")
_PURE: Final = frozenset(
    {"abs", "all", "any", "bool", "enumerate", "float", "int", "len", "max", "min", "range", "round", "str", "sum"}
)  # fmt: skip
"""Functions that give alike for what is alike."""
NEED_ALL: Final = frozenset({row.name.rpartition(".")[2] for row in ROWS} | {"breakpoint"})
"""The functions of the runtime that every rank must call."""
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

_Sites = tuple[tuple[RankClass, CallSite], ...]


@dataclass(frozen=True, slots=True)
class _Place:
    """Lines of a function: those of a new collective, or of a call that leads to it."""

    function: Function
    first: int
    last: int
    call: ast.Call | None = None

    def holds(self, node: ast.AST) -> bool:
        """Whether a node stands on these lines."""
        return self.first <= getattr(node, "lineno", 0) <= self.last


def hindrance(model: Model, function: Function, span: Span) -> str:
    """What keeps all ranks from meeting at a place, here or in a caller at any depth; empty where nothing shows.

    imaginaire 3b4b3a0 imaginaire/evaluation/common.py:283: `SwAV()`, whose weights each rank downloads, is made
    between the two barriers of a turnstile. A section of its own in there waits for ranks that wait outside.
    """
    work = [_Place(function, span.line, span.end_line)]
    seen: set[int] = set()
    alone = next_meeting(model, function, span) is None
    for place in work:
        found = _here(model, place, alone=alone)
        if found:
            return found
        for user, call in calls_of(model, place.function):
            if id(call) not in seen:
                seen.add(id(call))
                work.append(_Place(user, call.lineno, call.end_lineno or call.lineno, call))
    return ""


def next_meeting(model: Model, function: Function, span: Span) -> ast.AST | None:
    """The collective for which the code itself has all ranks meet in the same turn, right behind a place or in its own
    statement.

    Then a condition of each rank's own that leads here, or a loop that ended earlier on one rank, would hang it without
    the new collective, too.
    """
    place = _Place(function, span.line, span.end_line)
    holding = [
        (block, index)
        for each in walk(function.node)
        for block in blocks(each)
        for index, statement in enumerate(block)
        if statement.lineno <= place.first and place.last <= (statement.end_lineno or 0)
    ]
    if not holding:
        return None
    block, index = min(holding, key=lambda each: _length(each[0][each[1]]))
    met = _meetings(model, function, of_all=True)
    for number, statement in enumerate(block[index:]):
        inside = statement.body if not number and isinstance(statement, ast.Try) else [statement]
        found = next((n for each in inside for n in _certain(each) if id(n) in met), None)
        if found is not None:
            return found
        if number and any(isinstance(node, (*LEAVES, ast.Raise)) for node in walk(statement)):
            return None
    return None


def _length(statement: ast.stmt) -> int:
    return (statement.end_lineno or statement.lineno) - statement.lineno


def _here(model: Model, place: _Place, *, alone: bool) -> str:
    function, where = place.function, f"{place.function.module.path}:{place.first}"
    if function.name in _ON_ITS_OWN or (
        function.is_generator and not function.has_decorator(*_ENTERED_BY_WITH)
    ):
        return f"`{function.qualname}` runs whenever one process asks for it"
    if place.call is not None and last_name(place.call.func) in _STARTS_ALONE:
        return f"`{last_name(place.call.func)}()` ({where}) runs it beside the ranks"
    for section in model.answer(first_sections):
        if section.function is function and section.first <= place.first <= section.last:
            return f"one rank goes first there already ({where})"
    if (answer := _answer_around(function, place)) is not None:
        return f"the ranks that fail alone come to the `{answer[0]}` of line {answer[1]}"
    for block in failing_blocks(function):
        if block[0].lineno <= place.first and place.last <= (block[-1].end_lineno or 0):
            return f"the ranks that fail alone come to the `raise` of line {block[-1].lineno}"
    if _in_turnstile(function, place):
        return f"one rank goes first there already ({where})"
    sites = _sites_at(model, place)
    if place.call is not None and _by_some(model, function, sites):
        return f"some ranks alone come there ({where})"
    for _, site in sites:
        for guard in site.guards:
            if (
                guard.value.variance is Variance.RANK_LOCAL
                and not place.holds(guard.node)
                and not (guard.exits and _ends_all(guard))
                and (alone or _met_otherwise(model, guard))
            ):
                asked = ast.unparse(guard.node)
                return (
                    f"`{asked}` can differ between ranks ({guard.module.path}:{guard.node.lineno})"
                )
    for loop in _loops_around(function, place) if alone else ():
        if _may_end_alone(model, function, loop, place):
            return f"the loop of line {loop.lineno} may end earlier on one rank"
    return ""


# Ways to a place


def calls_of(model: Model, function: Function) -> Iterator[tuple[Function, ast.Call]]:
    """The calls that run a function, or get it as an argument."""
    named = model.answer(_calls_by_name)
    for registers, call in named.get(function.name, ()):
        runs = hooks.RUN_BY.get(last_name(call.func), "")
        if not any(_runs(model, registers, given, function) for given in _arguments(call)):
            continue
        for user, saves in named.get(runs, ()):
            if user is registers or (user.cls is not None and user.cls is registers.cls):
                yield user, saves
    names = {function.name}
    if function.name == "__init__" and function.cls is not None:
        names |= {cls.name for cls in (function.cls, *model.program.subclasses(function.cls))}
    for name in sorted(names):
        for user, call in named.get(name, ()):
            if _runs(model, user, call.func, function, call) or any(
                _runs(model, user, given, function) for given in _arguments(call)
            ):
                yield user, call


def _calls_by_name(live: LiveProgram) -> dict[str, list[tuple[Function, ast.Call]]]:
    """The calls of a program by the last names of what is called and of what is passed, with who makes them."""
    found: dict[str, list[tuple[Function, ast.Call]]] = {}
    for function in live.program.functions():
        for node in own_nodes(function, ast.Call):
            for name in {last_name(part) for part in (node.func, *_arguments(node))} - {""}:
                found.setdefault(name, []).append((function, node))
    return found


def _arguments(call: ast.Call) -> list[ast.expr]:
    """The names that a call passes."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return [node for node in given if isinstance(node, ast.Name | ast.Attribute)]


def _runs(
    model: Model, user: Function, node: ast.expr, function: Function, call: ast.Call | None = None
) -> bool:
    """Whether an expression of a function stands for another one, or for the class that it initialises."""
    sites = model.answer(_sites_by_call).get(id(call), ()) if call is not None else ()
    callees = {site.callee for _, site in sites} - {None}
    if callees:
        return function in callees
    match node:
        case ast.Name(id=name) if any(each.nested.get(name) is function for each in user.outward()):
            return True
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=attr):
            return attr == function.name and _related(model, user.cls, function.cls)
        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=attr) if user.cls is not None:
            return attr == function.name and _related(model, user.cls, function.cls)
    meaning = model.resolve(user.module, node)
    if isinstance(meaning, Class):
        own, _ = model.program.mro(meaning)
        made = next((c.methods["__init__"] for c in own if "__init__" in c.methods), None)
        return made is function
    if meaning is not None or function.cls is None:
        return meaning is function
    return isinstance(node, ast.Attribute) and _is_only_method(model, function)


def _related(model: Model, one: Class | None, other: Class | None) -> bool:
    return one is not None and other is not None and model.program.may_share_objects(one, other)


def _is_only_method(model: Model, function: Function) -> bool:
    """Whether no other class of the program has a method of the name."""
    if function.name.startswith("__"):
        return False
    return (
        sum(f.name == function.name and f.cls is not None for f in model.program.functions()) == 1
    )


def _sites_by_call(live: LiveProgram) -> dict[int, _Sites]:
    """What each class of ranks sees at each call that it makes, by the `id` of its node."""
    found: dict[int, list[tuple[RankClass, CallSite]]] = {}
    for function in live.program.functions():
        summaries = live.summaries_of(function)
        for rank, summary in summaries.summaries() if summaries is not None else ():
            for site in summary.calls:
                found.setdefault(id(site.node), []).append((rank, site))
    return {node: tuple(sites) for node, sites in found.items()}


# What parts the ranks at a place


def _sites_at(model: Model, place: _Place) -> _Sites:
    """The runs of the first call on the lines of a place."""
    by_call = model.answer(_sites_by_call)
    if place.call is not None:
        return by_call.get(id(place.call), ())
    calls = [n for n in own_nodes(place.function, ast.Call) if place.holds(n)]
    for call in sorted(calls, key=lambda n: (n.lineno, n.col_offset)):
        if id(call) in by_call:
            return by_call[id(call)]
    return ()


def _ends_all(guard: Guard) -> bool:
    """Whether a rank that does not pass a condition raises, by which the launcher ends the others, too."""
    match decided(guard.module).get(id(guard.node)):
        case ast.Assert():
            return True
        case ast.If(body=[*_, ast.Raise()], orelse=[]):
            return not guard.taken
        case ast.If(body=[*_, ast.Expr(value=ast.Call(func=called))], orelse=[]):
            return not guard.taken and ends_process(called)
    return False


def _met_otherwise(model: Model, guard: Guard) -> bool:
    """Whether ranks on which a condition comes out otherwise may meet the others in a collective of their own."""
    branch = decided(guard.module).get(id(guard.node))
    if not isinstance(branch, ast.If):
        return True
    function = next(
        (f for f in guard.module.all_functions if any(n is branch for n in own_nodes(f))), None
    )
    if function is None:
        return True
    met = _meetings(model, function)
    arm = branch.orelse if guard.taken else branch.body
    return any(id(node) in met for statement in arm for node in walk(statement))


def _by_some(model: Model, function: Function, sites: _Sites) -> bool:
    """Whether the rank decides, or may decide, who makes a call."""
    if not sites:
        return False
    summaries = model.summaries_of(function)
    entered = summaries.classes if summaries is not None else frozenset()
    return {rank for rank, _ in sites} != entered or any(maybe_guarded(site) for _, site in sites)


def _answer_around(function: Function, place: _Place) -> tuple[str, int] | None:
    """The answer to a failure that holds a place, with its line: `except` or `finally`.

    sentence-transformers train_cross_encoder_kd_mse.py:54, ParallelWaveGAN parallel_wavegan/bin/train.py:1543.
    """
    for node in own_nodes(function):
        match node:
            case ast.ExceptHandler(body=body):
                kind, line = "except", node.lineno
            case ast.Try(finalbody=[first, *_] as body):
                kind, line = "finally", first.lineno
            case _:
                continue
        if body[0].lineno <= place.first <= (body[-1].end_lineno or 0):
            return kind, line
    return None


def _in_turnstile(function: Function, place: _Place) -> bool:
    """Whether a place lies between two barriers that opposite answers lead to, whatever they are asked of.

    imaginaire 3b4b3a0 imaginaire/evaluation/segmentation/common.py:17: `not is_local_master()`, which asks for the
    current device.
    """
    waits = _guarded_waits(function)
    return any(
        above < place.first
        and place.last < below
        and any((text, not holds) in asked_below for text, holds in asked_above)
        for above, asked_above in waits
        for below, asked_below in waits
    )


def _guarded_waits(function: Function) -> list[tuple[int, frozenset[tuple[str, bool]]]]:
    """The lines of barriers that stand in an `if`, with what has held there."""
    return [
        (
            node.lineno,
            frozenset((ast.unparse(part), holds) for part, holds in literals(n.test, True)),
        )
        for n in own_nodes(function, ast.If)
        for statement in n.body
        for node in walk(statement, ast.Call)
        if last_name(node.func) in BARRIERS
    ]


# Loops


def _loops_around(function: Function, place: _Place) -> list[ast.stmt | ast.expr]:
    """The loops that hold a place, comprehensions included."""
    found: list[ast.stmt | ast.expr] = []
    for node in own_nodes(function):
        if isinstance(node, _LOOPS):
            inside = node.body[0].lineno <= place.first and place.last <= (
                node.body[-1].end_lineno or 0
            )
            if inside:
                found.append(node)
        elif isinstance(node, _COMPREHENSIONS) and any(n is place.call for n in walk(node)):
            found.append(node)
    return found


def _may_end_alone(
    model: Model, function: Function, loop: ast.stmt | ast.expr, place: _Place
) -> bool:
    """Whether one rank may go through a loop less often than another, and nothing in it keeps them in step.

    What a new collective asks for itself is the same on all.
    """
    if id(loop) in _of_local_length(model, function):
        return True
    if not isinstance(loop, _LOOPS) or _meets_each_turn(model, function, loop):
        return False
    exits = list(_exits(loop.body, outermost=True))
    if isinstance(loop, ast.While):
        exits.append([loop.test])
    local = _local_tests(model, function)
    return any(
        id(test) in local or not _in_step(model, loop, test, frozenset())
        for tests in exits
        for test in tests
        if place.call is not None or not place.holds(test)
    )


def _local_tests(model: Model, function: Function) -> set[int]:
    """The conditions of a function that can differ between ranks, by `id`."""
    summaries = model.summaries_of(function)
    return {
        id(guard.node)
        for _, summary in (summaries.summaries() if summaries is not None else ())
        for site in summary.calls
        for guard in site.guards
        if guard.value.variance is Variance.RANK_LOCAL
    }


def _of_local_length(model: Model, function: Function) -> set[int]:
    summaries = model.summaries_of(function)
    return {
        id(step.node)
        for _, summary in (summaries.summaries() if summaries is not None else ())
        for step in steps_below(summary.steps)
        if isinstance(step, Loop) and step.local is not None
    }


def _meets_each_turn(
    model: Model, function: Function, loop: ast.For | ast.AsyncFor | ast.While
) -> bool:
    """Whether every turn performs a collective that waits however the model is wrapped."""
    met = _meetings(model, function)
    return any(id(node) in met for statement in loop.body for node in _certain(statement))


def _meetings(model: Model, function: Function, *, of_all: bool = False) -> set[int]:
    """The nodes that perform a collective, by `id`, which waits however the model is wrapped; `of_all`: for all ranks."""
    summaries = model.summaries_of(function)
    return {
        id(step.node)
        for _, summary in (summaries.summaries() if summaries is not None else ())
        for step in steps_below(summary.steps)
        if isinstance(step, Event) and step.layer is Layer.ALWAYS
        if step.group is None or not of_all
    }


def _certain(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement that are evaluated whenever it is."""
    match statement:
        case ast.With(body=body, items=items):
            for item in items:
                yield from walk(item)
            for each in body:
                yield from _certain(each)
        case ast.If(test=test):
            yield from walk(test)
        case ast.Expr() | ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            yield from walk(statement)


def _exits(body: list[ast.stmt], *, outermost: bool) -> Iterator[list[ast.expr]]:
    """For each way out of a loop, the tests in it that lead there."""
    for statement in body:
        match statement:
            case ast.Break() if outermost:
                yield []
            case ast.Return():
                yield []
            case ast.If(test=test, body=then, orelse=orelse):
                for tests in (
                    *_exits(then, outermost=outermost),
                    *_exits(orelse, outermost=outermost),
                ):
                    yield [test, *tests]
            case ast.For() | ast.AsyncFor() | ast.While():
                yield from _exits([*statement.body, *statement.orelse], outermost=False)
            case ast.With(body=inner) | ast.AsyncWith(body=inner):
                yield from _exits(inner, outermost=outermost)
            case ast.Try():
                handled = [each for handler in statement.handlers for each in handler.body]
                parts = [*statement.body, *handled, *statement.orelse, *statement.finalbody]
                yield from _exits(parts, outermost=outermost)


def _in_step(model: Model, loop: ast.stmt, node: ast.expr, seen: frozenset[str]) -> bool:
    """Whether an expression is the same on all ranks that are in one turn of a loop: not what each has measured.

    CodeT5 7de7f69 CodeT5/run_gen.py:376: a count of epochs without a better score of this rank's own samples.
    """
    for part in walk(node, ast.Call):
        sites = model.answer(_sites_by_call).get(id(part), ())
        if any(is_agreed(model, site) for _, site in sites):
            return True
        if last_name(part.func) not in _PURE:
            return False
    names = {ast.unparse(n) for n in walk(node, ast.Name, ast.Attribute)} - seen
    return all(
        _in_step(model, loop, read, seen | names) for name in names for read in _writes(loop, name)
    )


def is_agreed(model: Model, site: CallSite) -> bool:
    """Whether a call gives all ranks one answer: a collective, or a function that returns what one has made alike."""
    if facts.is_collective(site.rows):
        return True
    callee = site.callee
    if callee is None or callee not in model.graphs.has_events:
        return False
    by_call = model.answer(_sites_by_call)
    met: set[str] = set()
    for node in own_nodes(callee, ast.Call, ast.Assign):
        match node:
            case ast.Call() if _is_met(by_call, node):
                met |= {ast.unparse(part) for part in node.args}
            case ast.Assign(targets=targets, value=ast.Call() as call) if _is_met(by_call, call):
                met |= {name for target in targets for name in _stored(target)}
    given = [n.value for n in own_nodes(callee, ast.Return) if n.value]
    return bool(given) and all(
        any(ast.unparse(part) in met or _is_met(by_call, part) for part in walk(value))
        for value in given
    )


def _is_met(by_call: dict[int, _Sites], node: ast.AST) -> bool:
    return any(facts.is_collective(site.rows) for _, site in by_call.get(id(node), ()))


def _writes(loop: ast.stmt, name: str) -> Iterator[ast.expr]:
    """What a name gets in a loop, and the tests in the loop that decide whether it does."""
    for statement, tests in _under(loop, []):
        match statement:
            case ast.Assign(targets=targets, value=value) if any(
                name in _stored(target) for target in targets
            ):
                yield value
                yield from tests
            case (
                ast.AugAssign(target=target, value=value)
                | ast.AnnAssign(target=target, value=ast.expr() as value)
            ) if ast.unparse(target) == name:
                yield value
                yield from tests


def _stored(target: ast.expr) -> set[str]:
    return {ast.unparse(n) for n in walk(target, ast.Name, ast.Attribute)}


def _under(node: ast.AST, tests: list[ast.expr]) -> Iterator[tuple[ast.stmt, list[ast.expr]]]:
    """The statements below a node, each with the tests of the `if`s between."""
    for name in ("body", "orelse", "finalbody", "handlers"):
        for child in getattr(node, name, None) or ():
            around = [*tests, node.test] if isinstance(node, ast.If) else tests
            if isinstance(child, ast.stmt):
                yield child, around
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from _under(child, around)
