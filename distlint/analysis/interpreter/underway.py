"""What is under way while runs are made: who waits for whom, and what was taken for granted meanwhile.

A run may ask for an attribute of `self` while a method that assigns it is under way: then it takes the
attribute without what that method assigns. So with a variable of a module that calls `main()` at its
end: it is taken for what the module's body has assigned by then. When the method or body is done, and
what it assigned tells nothing more, the runs made meanwhile are complete; else they are made again.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import field

from distlint.analysis.interpreter.ir import Summary
from distlint.analysis.interpreter.ranks import RankClass
from distlint.analysis.interpreter.values import Value, join
from distlint.analysis.program.definitions import Class, Function
from distlint.records import dataclass

Key = tuple[Function, RankClass, Hashable]
"""One run: the function, the class of ranks, and what of its arguments matters."""
AttributeKey = tuple[Class, str, RankClass]
"""An attribute of a class's instances, on a class of ranks."""


@dataclass(slots=True, eq=False)
class _Run:
    """A run that is under way."""

    key: Key
    summary: Summary
    lowest: int
    """The lowest depth of a run that came back to itself in this one."""
    assuming: int
    """The lowest depth of a run of which something was taken for granted in this one."""
    first: int
    """How many runs waited for a confirmation when it began."""
    assumed: dict[AttributeKey, Value | None] = field(default_factory=dict)
    """Attributes that it assigns, as they were taken to be before it was done."""
    read: dict[tuple[str, int], Value | None] = field(default_factory=dict)
    """Variables of a module's body, as they were read before it was done."""


@dataclass(frozen=True, slots=True, eq=False)
class Done:
    """What was under way, when it is done.

    complete    whether the run may be remembered
    confirmed   the runs that waited for nothing but this one
    """

    complete: bool
    confirmed: Sequence[tuple[Key, Summary]]


class UnderWay:
    """The runs that are being made, each called in the one before."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []
        self._depths: dict[Key, int] = {}
        self._unconfirmed: list[tuple[Key, int, Summary]] = []

    def __len__(self) -> int:
        return len(self._runs)

    def begin(self, key: Key, summary: Summary) -> None:
        """A run starts inside the one before."""
        depth = len(self._runs)
        self._depths[key] = depth
        self._runs.append(_Run(key, summary, depth, depth, len(self._unconfirmed)))

    def stands_for(self, summary: Summary) -> None:
        """The innermost run is made in `summary`."""
        self._runs[-1].summary = summary

    def end(self) -> Done:
        """The innermost run is done; says which runs are right from here on."""
        run = self._leave()
        depth = len(self._runs)
        confirmed: list[tuple[Key, Summary]] = []
        if not _is_confirmed(run):
            del self._unconfirmed[run.first :]
        elif len(self._unconfirmed) > run.first:
            confirmed = self._settled(run.first, depth)
        complete = min(run.lowest, run.assuming) >= depth or not self._runs
        if not complete:
            # Made with a function that is still running: right only inside that run.
            self.came_back_to(run.lowest)
            self._assume(run.assuming)
            if run.lowest >= depth:
                self._unconfirmed.append((run.key, run.assuming, run.summary))
        if not self._runs:
            self._unconfirmed.clear()
        return Done(complete, confirmed)

    def give_up(self) -> None:
        """The innermost run ends in an exception."""
        self._leave()

    def clear(self) -> None:
        """Nothing is under way any more."""
        self._runs.clear()
        self._depths.clear()
        self._unconfirmed.clear()

    def _leave(self) -> _Run:
        run = self._runs.pop()
        del self._depths[run.key]
        return run

    def _settled(self, first: int, depth: int) -> list[tuple[Key, Summary]]:
        """The runs that waited for nothing but the run that was at `depth`."""
        waiting = self._unconfirmed[first:]
        del self._unconfirmed[first:]
        self._unconfirmed += (each for each in waiting if each[1] < depth)
        return [(key, summary) for key, assuming, summary in waiting if assuming >= depth]

    # -- what a run asks of those around it ------------------------------------------------------------

    def depth_of(self, key: Key) -> int | None:
        """How deep a run is under way; None where it is not."""
        return self._depths.get(key)

    def depths_of(self, function: Function) -> list[int]:
        """How deep runs of a function are under way."""
        return [depth for key, depth in self._depths.items() if key[0] is function]

    def came_back_to(self, depth: int) -> None:
        """The innermost run calls one that is under way at `depth`; -1 where it is not followed at all."""
        if self._runs:
            inner = self._runs[-1]
            inner.lowest = min(inner.lowest, depth)

    def _assume(self, *depths: int) -> None:
        inner = self._runs[-1]
        inner.assuming = min(inner.assuming, *depths)

    def variable(self, depth: int, name: str) -> Value | None:
        """What the body of a module under way has assigned to a variable by now."""
        return self._runs[depth].summary.environment.get(name)

    def read_variable(self, depth: int, name: str, value: Value | None) -> None:
        """A variable is taken for what it holds by now."""
        self._assume(depth)
        self._runs[depth].read[name, id(value)] = value

    def attribute(self, depth: int, name: str) -> Value | None:
        """What a method under way has assigned to an attribute of its object by now."""
        return self._runs[depth].summary.self_attributes.get(name)

    def assume_attribute(
        self, depths: Sequence[int], key: AttributeKey, value: Value | None
    ) -> None:
        """An attribute is taken for `value`, without what the runs at these depths assign to it."""
        self._assume(*depths)
        for depth in depths:
            self._runs[depth].assumed.setdefault(key, value)


def _is_confirmed(run: _Run) -> bool:
    """Whether what was asked for while a run was under way, is what was assumed of it."""
    assigned, environment = run.summary.self_attributes, run.summary.environment
    return all(
        _tells_nothing_more(value, assigned.get(attr))
        for (_, attr, _), value in run.assumed.items()
    ) and all(environment.get(name) is value for (name, _), value in run.read.items())


def _tells_nothing_more(assumed: Value | None, assigned: Value | None) -> bool:
    """Whether an attribute stays what it is taken for when another value is assigned to it too."""
    if assigned is None:
        return True
    if assumed is None:
        return _facts_of(assigned) == _facts_of(Value(()))
    return _facts_of(join(assumed, assigned, ())) == _facts_of(assumed)


def _facts_of(value: Value) -> tuple[object, ...]:
    """What is known of a value besides its number."""
    return (
        value.const if value.known else None,
        value.known,
        value.variance,
        value.type,
        value.target,
        value.wraps,
        value.tags,
        value.items is None,
    )
