"""From steps to a decision graph: event, if(symbol), loop, call, and the ends.

Built backwards, with lazy continuations for next, break, continue, return and raise, so that `with` and
`finally` run their exit halves on every way out. Nodes without events behind them vanish.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from distlint.analysis.interpreter.exceptions import ends_only
from distlint.analysis.interpreter.ir import (
    Branch,
    CallStep,
    Event,
    Guard,
    InlineBody,
    Jump,
    JumpKind,
    Known,
    Layer,
    Loop,
    MayRaise,
    Passed,
    Step,
    Summary,
    Try,
    UnknownCall,
    Yield,
)
from distlint.analysis.interpreter.values import Value, Variance
from distlint.analysis.program.definitions import Function, Module
from distlint.analysis.program.memory import Memory
from distlint.analysis.traces.nodes import (
    OPAQUE,
    RAISE,
    REFUSED,
    RETURN,
    STOP,
    BranchNode,
    CallNode,
    EventNode,
    Failed,
    LoopNode,
    Node,
    is_local,
    own_nodes,
)
from distlint.knowledge import assumed
from distlint.records import dataclass

_MAX_DEPTH: Final = 6
"""How deep the symbol of an argument may be nested: where a recursion adds to it, this ends it."""

Lazy = Callable[[], Node]
_AtYield = Callable[[Yield, Node, "_Continuations"], Node]
"""What stands at a `yield`, by what follows it and where the ways out lead there."""


@dataclass(frozen=True)
class _Continuations:
    """Where the ways out of a block lead."""

    return_: Lazy
    break_: Lazy
    continue_: Lazy
    raise_: Lazy
    exit_: Lazy
    failed_: Callable[[Guard], Node]
    """Where an exception that nobody here catches ends a path, of ranks that a condition lets come."""
    yield_: _AtYield
    memory_: tuple[ast.ExceptHandler, Lazy] | None = None
    """Where an out-of-memory error leads, in a `try` that expects one."""


def _lazy(make: Lazy) -> Lazy:
    cell: list[Node] = []

    def get() -> Node:
        if not cell:
            cell.append(make())
        return cell[0]

    return get


class Graphs:
    """Graphs of runs, built when first asked for.

    `final` gives the complete run in place of one that a recursion cut short.
    """

    def __init__(self, final: Callable[[Summary], Summary]) -> None:
        self.final = final
        self.memory: Memory = {}
        self.has_events: set[Function] = set()
        """Functions with events on some class of ranks: their calls are kept on all classes."""
        self.summaries: dict[Function, tuple[Summary, ...]] = {}
        """The live runs of every function, of all classes."""
        self.equivalent: dict[tuple[Summary, Summary, Layer], bool] = {}
        """Whether two runs of a function that ranks enter together perform the same events."""
        self._via: tuple[ast.AST, ...] = ()
        self._opaque: dict[int, Event] = {}
        self._roots: dict[tuple[Summary, Known, tuple[Passed, ...]], Node] = {}
        self._nodes: dict[Node, list[Node]] = {}
        self._known: dict[Hashable, bool | None] = {}
        self._passed: dict[Hashable, Passed] = {}
        self._may_have_events: dict[Summary, bool] = {}
        self._own: dict[Summary, tuple[bool, list[Summary]]] = {}
        self._acts: dict[Hashable, EventNode] = {}
        self._ifs: dict[Hashable, BranchNode] = {}
        self._failed: dict[int, Failed] = {}
        self._exits: dict[Summary, tuple[tuple[Function, BranchNode], ...]] = {}
        self._calls: dict[Hashable, CallNode] = {}

    def root(self, summary: Summary, known: Known = (), passed: tuple[Passed, ...] = ()) -> Node:
        """The graph of a run, where parameters are `known` or `passed`; RETURN where nothing in it matters."""
        summary = self.final(summary)
        entered = summary, known, passed
        if entered not in self._roots:
            if not self.may_have_events(summary):
                self._roots[entered] = RETURN
            else:
                ways = _Continuations(
                    lambda: RETURN,
                    lambda: RETURN,
                    lambda: RETURN,
                    lambda: RAISE,
                    lambda: STOP,
                    self._fails,
                    lambda _, rest, __: rest,
                )
                self._known = {("parameter", id(summary.function), n): value for n, value in known}
                self._passed = {("parameter", id(summary.function), p.parameter): p for p in passed}
                try:
                    self._roots[entered] = self._block(summary.steps, RETURN, ways)
                finally:  # what is nested too deeply leaves nothing behind for the next
                    self._known, self._passed, self._via = {}, {}, ()
        return self._roots[entered]

    def own_nodes(self, summary: Summary, known: Known = ()) -> list[Node]:
        """The nodes of a run's own graph: many of those that call it ask."""
        root = self.root(summary, known)
        if root not in self._nodes:
            self._nodes[root] = own_nodes(root)
        return self._nodes[root]

    def may_have_events(self, summary: Summary) -> bool:
        """Whether a run may perform an event or end the process, through any calls."""
        summary = self.final(summary)
        if summary in self._may_have_events:
            return self._may_have_events[summary]
        seen: set[Summary] = set()
        stack = [summary]
        while stack:
            current = self.final(stack.pop())
            if current in seen:
                continue
            seen.add(current)
            known = self._may_have_events.get(current)
            if known is None:
                own, called = self._contents(current)
                stack += called
                known = own or any(callee.function in self.has_events for callee in called)
            if known:
                self._may_have_events[summary] = self._may_have_events[current] = True
                return True
        self._may_have_events.update(dict.fromkeys(seen, False))
        return False

    def _contents(self, summary: Summary) -> tuple[bool, list[Summary]]:
        """Whether a run has events of its own, and the runs it calls."""
        if summary not in self._own:
            self._own[summary] = _contents(summary.steps)
        return self._own[summary]

    def endless_loops(self, summary: Summary) -> list[Loop]:
        """The `while True` loops that a run comes to itself."""
        steps = steps_below(self.final(summary).steps)
        return [step for step in steps if isinstance(step, Loop) and step.endless]

    def exits(self, summary: Summary) -> tuple[tuple[Function, BranchNode], ...]:
        """Conditions of a rank's own under which a run, or one that it calls, ends the process normally."""
        summary = self.final(summary)
        if summary not in self._exits:
            self._exits[summary] = tuple(dict.fromkeys(self._exits_below(summary)))
        return self._exits[summary]

    def _exits_below(self, summary: Summary) -> Iterator[tuple[Function, BranchNode]]:
        entered: set[Summary] = set()
        inside: list[tuple[Summary, Iterator[Node]]] = [(summary, iter(self.own_nodes(summary)))]
        while inside:
            summary, nodes = inside[-1]
            match next(nodes, None):
                case None:
                    inside.pop()
                case BranchNode(value=Value() as value) as node if STOP in (node.then, node.orelse):
                    if is_local(value):
                        yield summary.function, node
                case CallNode() as call:
                    called = self.final(call.summary)
                    if called not in entered:
                        entered.add(called)
                        inside.append((called, iter(self.own_nodes(called))))

    def _fails(self, guard: Guard) -> Node:
        return self._failed.setdefault(id(guard.node), Failed(guard))

    # -- construction ---------------------------------------------------------------------------------

    def _block(self, steps: list[Step], after: Node, ways: _Continuations) -> Node:
        node = after
        for step in reversed(steps):
            node = self._step(step, node, ways)
        return node

    def _arms(self, step: Branch, after: Node, ways: _Continuations) -> Node:
        """An `if` with all its `elif`: a chain of hundreds must not nest as deep here."""
        chain = [step]
        while chain[-1].orelse and isinstance(last := chain[-1].orelse[-1], Branch):
            chain.append(last)
        node = self._block(chain[-1].orelse, after, ways)
        for arm in reversed(chain):
            if arm is not chain[-1]:
                node = self._block(arm.orelse[:-1], node, ways)
            then = self._block(arm.then, after, ways)
            node = self._branch(arm.condition, arm.node, then, node)
        return node

    def _step(self, step: Step, after: Node, ways: _Continuations) -> Node:
        match step:
            case Event():
                key = (id(step), id(after), self._via)
                if key not in self._acts:
                    self._acts[key] = EventNode(step, after, self._via)
                return self._or_out_of_memory(self._acts[key], ways)
            case Branch():
                return self._arms(step, after, ways)
            case Loop():
                return self._loop(step, after, ways)
            case Jump():
                return self._leave(step, ways)
            case Try():
                return self._attempt(step, after, ways)
            case MayRaise():
                caught = ways.raise_()
                if caught is RAISE:
                    return after
                symbol = ("fails", id(step.node))
                value = Value(symbol, tags=frozenset({"failure"}))
                return self._if(symbol, caught, after, step.node, value)
            case CallStep():
                if (
                    not self.may_have_events(step.summary)
                    and step.summary.function not in self.has_events
                ):
                    return after
                if step.passed and self._passed:
                    step = replace(step, passed=tuple(self._passed_on(p) for p in step.passed))
                call_key = (
                    step.summary,
                    step.known,
                    step.passed,
                    id(step.node),
                    id(after),
                    self._via,
                )
                if call_key not in self._calls:
                    self._calls[call_key] = CallNode(step, after, self._via)
                return self._or_out_of_memory(self._calls[call_key], ways)
            case UnknownCall():
                if not self.may_have_events(step.summary):
                    return after
                return self._unknown(step.node, step.module, after)
            case InlineBody():
                return self._surround(step, after, ways)
            case Yield():
                return ways.yield_(step, after, ways)

    def _or_out_of_memory(self, node: Node, ways: _Continuations) -> Node:
        """A collective, or a call that leads to one, before which a rank may run out of memory."""
        if ways.memory_ is None:
            return node
        handler, caught = ways.memory_
        symbol = ("out of memory", id(handler))
        value = Value((symbol, id(node)), tags=frozenset({"failure"}))
        return self._if(symbol, caught(), node, handler, value)

    def _unknown(self, node: ast.AST, module: Module, after: Node) -> EventNode:
        """A point that only ranks that all come to it are compared beyond."""
        event = self._opaque.setdefault(
            id(node), Event(f"{OPAQUE} {id(node)}", Layer.ALWAYS, node, module)
        )
        return EventNode(event, after, self._via)

    def _if(
        self,
        symbol: Hashable,
        then: Node,
        orelse: Node,
        node: ast.AST,
        value: Value | None,
        *,
        excludes: bool = False,
    ) -> Node:
        # A raise that nobody here catches ends the whole job: no claim either way.
        if then is orelse or (orelse is RAISE and not excludes):
            return then
        if then is RAISE and not excludes:
            return orelse
        own = id(node) if value is not None and is_local(value) else None  # a place to report
        key = (symbol, id(then), id(orelse), own)
        if key not in self._ifs:
            self._ifs[key] = BranchNode(symbol, then, orelse, node, value)
        return self._ifs[key]

    def _branch(
        self,
        condition: Value,
        node: ast.AST,
        then: Node,
        orelse: Node,
        excludes: bool = False,
    ) -> Node:
        """A decision; `and`, `or` and `not` become nested ones."""
        if then is orelse:
            return then
        truth = condition.truthiness()
        if truth is None and self._known:
            truth = self._told(condition.key)
        if truth is None:
            truth = assumed.answer(condition.key)
        if truth is not None:
            return then if truth else orelse
        excludes = excludes or (RAISE in (then, orelse) and _excludes_options(condition))
        if condition.logic is None:
            symbol = self._asked(condition.key)
            return self._if(symbol, then, orelse, node, condition, excludes=excludes)
        op, operands = condition.logic
        if op == "not":
            return self._branch(operands[0], node, orelse, then, excludes)
        if op == "choice":
            test, first, second = operands
            return self._branch(
                test,
                node,
                self._branch(first, node, then, orelse),
                self._branch(second, node, then, orelse),
            )
        result = then if op == "and" else orelse
        for operand in reversed(operands):
            result = (
                self._branch(operand, node, result, orelse, excludes)
                if op == "and"
                else self._branch(operand, node, then, result, excludes)
            )
        return result

    def _asked(self, symbol: Hashable) -> Hashable:
        """A symbol in the words of who calls the function."""
        return in_words_of_caller(symbol, self._passed) if self._passed else symbol

    def _passed_on(self, passed: Passed) -> Passed:
        """What a function hands on of what it was given, in the words of its own caller."""
        given = self._passed.get(passed.key)
        if given is not None:
            return Passed(passed.parameter, given.key, given.changed | passed.changed)
        key = in_words_of_caller(passed.key, self._passed)
        return passed if _deep(key) else passed._replace(key=key)

    def _told(self, key: Hashable) -> bool | None:
        """What known arguments answer to a plain question about a parameter."""
        match key:
            case ("parameter", _, _) if key in self._known:
                return bool(self._known[key])
            case ("compare", "Is" | "Eq", ("parameter", _, _) as asked, ("constant", _, value)) if (
                asked in self._known
            ):
                return self._known[asked] is value
        return None

    def _loop(self, loop: Loop, after: Node, ways: _Continuations) -> Node:
        if self._passed:
            anew = {self._asked(symbol) for symbol in loop.volatile}
            loop = replace(loop, volatile=anew)
        head = LoopNode(loop)
        inner = replace(ways, break_=lambda: after, continue_=lambda: head)
        head.exit = None if loop.endless else self._block(loop.orelse, after, ways)
        head.body = self._block(loop.body, head, inner)
        if head.body is head:
            return head.exit if head.exit is not None else STOP
        if head.exit is not None and head.body is head.exit:
            return head.exit
        if loop.endless and loop.module is not None and self.may_wait_in(loop):
            # `while True: command = scatter(...)`: one rank serves while another says what to do.
            return self._unknown(loop.node, loop.module, head)
        return head.body if loop.once else head

    def may_wait_in(self, loop: Loop) -> bool:
        """Whether something is awaited in a loop itself, not only behind it."""
        return self._may_act(loop.body)

    def _may_act(self, steps: list[Step]) -> bool:
        """Whether a block may perform an event or end the process, through any calls."""
        own, called = _contents(steps)
        return own or any(
            self.may_have_events(summary) or summary.function in self.has_events
            for summary in called
        )

    def _leave(self, step: Jump, ways: _Continuations) -> Node:
        match step.kind:
            case JumpKind.RETURN:
                return ways.return_()
            case JumpKind.BREAK:
                return ways.break_()
            case JumpKind.CONTINUE:
                return ways.continue_()
            case JumpKind.RAISE:
                caught = ways.raise_()
                if caught is RAISE and step.alone is not None:
                    return ways.failed_(step.alone)
                if caught is RAISE and isinstance(step.node, ast.Assert) and not step.by_rank:
                    # ViDAR 936dbf7 projects/mmdet3d_plugin/dd3d/utils/comm.py:33, under a flag that rank 0 alone has set.
                    return REFUSED
                return ways.exit_() if caught is RAISE and step.by_rank else caught
            case JumpKind.FAILURE:
                return ways.exit_() if step.by_rank else RAISE
            case JumpKind.PROCESS:
                return ways.exit_()

    def _attempt(self, step: Try, after: Node, ways: _Continuations) -> Node:
        def through(target: Lazy) -> Lazy:
            return _lazy(lambda: self._block(step.final, target(), ways)) if step.final else target

        def failed() -> Node:
            target = ways.raise_()
            return (
                self._block(step.final, target, ways)
                if step.final and target is not RAISE
                else target
            )

        outside = replace(
            ways,
            return_=through(ways.return_),
            break_=through(ways.break_),
            continue_=through(ways.continue_),
            raise_=_lazy(failed),
            exit_=through(ways.exit_),
            failed_=lambda guard: through(lambda: ways.failed_(guard))(),
        )
        end = through(lambda: after)

        def caught() -> Node:
            node: Node | None = None
            for index, handler in enumerate(step.handlers):
                if isinstance(step.node, ast.Try) and ends_only(step.node.handlers[index]):
                    continue
                block = self._block(handler, end(), outside)
                node = (
                    block
                    if node is None
                    else self._if(("handler", id(step.node), index), block, node, step.node, None)
                )
            return node if node is not None else outside.raise_()

        inside = replace(outside, raise_=_lazy(caught)) if step.handlers else outside
        if step.memory is not None and isinstance(step.node, ast.Try):
            index = step.node.handlers.index(step.memory)
            gone = _lazy(lambda: self._block(step.handlers[index], end(), outside))
            inside = replace(inside, memory_=(step.memory, gone))
        body = self._block(step.body, self._block(step.orelse, end(), outside), inside)
        if any(self._may_act(handler) for handler in step.handlers):
            # Whoever is in the `try` may come to the collectives of its handlers: all that are alike.
            return self._if(("raises", id(step.node)), _lazy(caught)(), body, step.node, None)
        return body

    def _surround(self, step: InlineBody, after: Node, ways: _Continuations) -> Node:
        """A body inside a generator's run: it stands at the `yield`.

        The body of a `with` hands an exception over to the generator, which goes on behind its `yield` on
        every other way out. A `for` closes the generator where it is left: only its `finally` runs.
        """
        once = isinstance(step.node, (ast.With, ast.AsyncWith))
        if step.node in self._via and not once:  # a generator that delegates to itself
            return self._block(step.body, after, ways)
        steps = self.final(step.summary).steps
        outer, inner = self._via, (*self._via, step.node)

        def run(end: Node, exit_: Lazy, yield_: _AtYield) -> Node:
            """The generator's run, which ends at `end`; what it leaves to is built outside of it."""

            def outside(target: Lazy) -> Lazy:
                return lambda: self._under(outer, target)

            leave = _Continuations(
                lambda: end,
                lambda: end,
                lambda: end,
                outside(ways.raise_),
                outside(exit_),
                lambda guard: self._under(outer, lambda: ways.failed_(guard)),
                yield_,
            )
            return self._under(inner, lambda: self._block(steps, end, leave))

        def resumed(at: Yield, target: Lazy) -> Lazy:
            """A way out of a `with`: what stands behind the `yield`, then `target`."""

            def make() -> Node:
                goal = target()
                behind: list[Node] = []

                def pass_by(found: Yield, rest: Node, _: _Continuations) -> Node:
                    if found is at:
                        behind.append(rest)
                    return rest

                run(goal, ways.exit_, pass_by)
                return behind[0] if behind else goal

            return _lazy(make)

        def closed(at: Yield, target: Lazy) -> Lazy:
            """A way out of a `for`: each `finally` around the `yield`, then `target`."""

            def make() -> Node:
                goal = target()
                ends: list[Node] = []

                def leave(found: Yield, rest: Node, here: _Continuations) -> Node:
                    if found is at and not ends:
                        ends.append(here.exit_())
                    return rest

                if goal is not RAISE:
                    run(after, lambda: goal, leave)
                return ends[0] if ends else goal

            return _lazy(make)

        def body(at: Yield, rest: Node, here: _Continuations) -> Node:
            def raised() -> Node:
                return self._under(inner, here.raise_)

            if once:
                body_ways = replace(
                    ways,
                    return_=resumed(at, ways.return_),
                    break_=resumed(at, ways.break_),
                    continue_=resumed(at, ways.continue_),
                    raise_=_lazy(raised),
                    exit_=_lazy(lambda: self._under(inner, here.exit_)),
                    failed_=lambda guard: self._under(inner, lambda: here.failed_(guard)),
                )
            else:
                body_ways = replace(
                    ways,
                    return_=closed(at, ways.return_),
                    break_=closed(at, lambda: after),
                    continue_=lambda: rest,
                    raise_=closed(at, ways.raise_),
                    exit_=closed(at, ways.exit_),
                    failed_=lambda guard: closed(at, lambda: ways.failed_(guard))(),
                )
            return self._under(outer, lambda: self._block(step.body, rest, body_ways))

        return run(self._block(step.orelse, after, ways), ways.exit_, body)

    def _under(self, via: tuple[ast.AST, ...], make: Lazy) -> Node:
        """Build something as inside these `with` and `for` statements over generators."""
        before, self._via = self._via, via
        node = make()
        self._via = before
        return node


def _excludes_options(condition: Value) -> bool:
    """Whether a condition combines parameters alone: where it raises, later tests of them are not independent.

    finetrainers f476c37 finetrainers/logging.py:44: `if (main_only or local_only) and in_order: raise …`, and a
    return of rank 0 under `main_only` in front of a barrier under `in_order`.
    """
    if condition.logic is None or condition.logic[0] not in ("and", "or"):
        return False
    work = [condition]
    while work:
        value = work.pop()
        if value.logic is not None and value.logic[0] in ("and", "or", "not"):
            work += value.logic[1]
        elif value.variance is not Variance.UNIFORM or not (
            isinstance(value.key, tuple) and value.key[0] == "parameter"
        ):
            return False
    return True


def in_words_of_caller(symbol: Hashable, passed: Mapping[Hashable, Passed]) -> Hashable:
    """A symbol with what the caller calls each parameter in its place."""
    if not isinstance(symbol, tuple):
        return symbol
    given = passed.get(symbol)
    if given is not None:
        return given.key
    match symbol:
        case ("attr", tuple() as owner, str() as name) if owner in passed:
            return (
                ("attr", passed[owner].key, name) if name not in passed[owner].changed else symbol
            )
    return tuple(in_words_of_caller(part, passed) for part in symbol)


def _deep(key: Hashable, room: int = _MAX_DEPTH) -> bool:
    """Whether a symbol is nested so deep that a recursion may be what makes it grow."""
    return isinstance(key, tuple) and (room == 0 or any(_deep(part, room - 1) for part in key))


def steps_below(steps: list[Step]) -> Iterator[Step]:
    """The steps of a block and of all blocks in it."""
    blocks = [steps]
    while blocks:
        for step in blocks.pop():
            yield step
            match step:
                case Branch():
                    blocks += [step.then, step.orelse]
                case Loop():
                    blocks += [step.body, step.orelse]
                case Try():
                    blocks += [step.body, step.orelse, step.final, *step.handlers]
                case InlineBody():
                    blocks += [step.body, step.orelse]


def _contents(steps: list[Step]) -> tuple[bool, list[Summary]]:
    """Whether a block has events or ends the process itself, and the runs that it calls."""
    own = False
    called: list[Summary] = []
    for step in steps_below(steps):
        match step:
            case Event():
                own = True
            case Jump():
                own = own or step.kind is JumpKind.PROCESS
            case CallStep() | UnknownCall() | InlineBody():
                called.append(step.summary)
    return own, called


__all__ = ["Graphs"]
