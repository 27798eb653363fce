"""What is known of a value: whose it is, and how that comes through arithmetic and joins."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from functools import reduce
from operator import attrgetter
from typing import Final

from distlint.analysis.program.definitions import Class, Function, Module
from distlint.analysis.program.places import related
from distlint.findings import Related
from distlint.records import dataclass


class Part(enum.Enum):
    """Whose a value is."""

    ALIKE = "alike"
    """Nothing shows that it differs between ranks: a constant, a setting, a model."""
    SHARE = "share"
    """Made of this rank's share of the data."""
    PADDED = "padded"
    """Of all ranks, with the samples that fill the last batch up counted twice."""
    SUM = "sum"
    """Added up over the ranks."""
    WHOLE = "whole"
    """Of all ranks: gathered, or the mean over them."""
    UNKNOWN = "unknown"
    """Made of a share in a way that is not known: it may be any of these."""


class Kind(enum.Enum):
    """What sort of thing a value is, where that matters."""

    OTHER = "other"
    LOADER = "loader"
    """A loader, sampler or data set: what iterating gives is as its part says."""
    LENGTH = "length"
    """The number of batches that a rank sees."""
    WORLD = "world"
    """The number of ranks."""
    PLAIN = "plain"
    """A list, dict, number or tensor: keeps what is put into it."""
    MIXED = "mixed"
    """A share divided by a number of all ranks, or the reverse."""


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """Where a rank gets its share; `padded` where the last batch is filled up with repetitions.

    `summed` is where a number was added up over the share or put beside the others, `mean` where it was divided;
    `trained` says whether the loop that went over the share trains on it; None where that is not known.
    """

    node: ast.AST
    module: Module
    text: str
    padded: bool = False
    summed: Related | None = None
    mean: Related | None = None
    trained: bool | None = None


@dataclass(slots=True, eq=False)
class Held:
    """What is known of one value. Never changed; not frozen, as there are many, and frozen ones cost three times as much.

    `items` are the elements of a tuple, `fields` those of a dict by key, `element` is what iterating
    gives where that differs from the value; `ways` are the tuples of several lengths that it may be;
    `made` is the class or function that it is of; `ended` the call that gathered or reduced it.
    """

    part: Part = Part.ALIKE
    source: Source | None = None
    kind: Kind = Kind.OTHER
    items: tuple[Held, ...] | None = None
    fields: Mapping[str, Held] | None = None
    element: Held | None = None
    ways: tuple[Held, ...] = ()
    made: Class | Function | str | None = None
    ended: ast.AST | None = None
    const: object = None
    """A number, flag or text that is written out, None where there is none."""
    learned: bool = False
    """Whether code that is not seen made it, or a part of it, of what is alike: a model, with a gradient."""

    def but(self, **changes: object) -> Held:
        """A copy with some fields changed."""
        values = dict(zip(_FIELDS, _ALL(self), strict=True))
        values.update(changes)
        return Held(**values)

    @property
    def is_share(self) -> bool:
        """Whether it is this rank's own."""
        return self.part is Part.SHARE

    @property
    def began(self) -> tuple[Related, ...]:
        """Where a rank gets its share of it, and where that became a number, beside a finding."""
        source = self.source
        if source is None:
            return ()
        way = (related(source.module, source.node, source.text), source.summed, source.mean)
        return tuple(each for each in way if each is not None)

    def key(self, depth: int = 2) -> object:
        """Tells values apart that make a function do different things."""
        inner = tuple(i.key(depth - 1) for i in self.items) if self.items and depth else None
        each = self.element.key(depth - 1) if self.element and depth else None
        named = (
            tuple((name, held.key(depth - 1)) for name, held in self.fields.items())
            if self.fields and depth
            else None
        )
        padded = self.source is not None and self.source.padded
        return (
            self.part,
            self.kind,
            id(self.made),
            inner,
            named,
            each,
            padded,
            repr(self.const),
            self.learned,
        )


@dataclass(slots=True, eq=False)
class Seen:
    """Whose an expression is, and the function in which it stands."""

    value: Held
    function: Function


@dataclass(frozen=True, slots=True, eq=False)
class Whose:
    """Whose the expressions of a program are: `of(node)`."""

    seen: dict[int, Seen]
    followed: frozenset[Function]

    def of(self, node: ast.AST) -> Held:
        """Whose an expression is, over all ways that lead to it."""
        found = self.seen.get(id(node))
        return found.value if found is not None else ALIKE

    def functions(self, modules: Iterable[Module]) -> Iterator[Function]:
        """The functions of some modules that were followed, in source order."""
        for module in modules:
            yield from (f for f in module.all_functions if f in self.followed)

    def ended(self, held: Held, module: Module, text: str) -> tuple[Related, ...]:
        """The place where a value was gathered or reduced, where that is in the file of the finding."""
        found = self.seen.get(id(held.ended))
        if held.ended is None or found is None or found.function.module is not module:
            return ()
        return (related(module, held.ended, text),)


_FIELDS: Final = tuple(each.name for each in fields(Held))
_ALL: Final = attrgetter(*_FIELDS)

ALIKE: Final = Held()
LEARNED: Final = Held(learned=True)
UNKNOWN: Final = Held(Part.UNKNOWN)
PLAIN: Final = Held(kind=Kind.PLAIN)
EMPTY_METRIC: Final = Held(kind=Kind.PLAIN, made="evaluate")
"""A metric that keeps what one process gives it until it is computed."""
WORLD: Final = Held(kind=Kind.WORLD)
WHOLE_METRIC: Final = "torchmetrics"
"""What a metric is made of that puts the shares together where it computes."""

_OF_ALL: Final = frozenset({Part.PADDED, Part.SUM, Part.WHOLE})


def plain(value: Held) -> Held:
    """A value without what it holds one by one: what is computed from it."""
    if value.items is None and value.fields is None and value.element is None and not value.ways:
        if value.kind in (Kind.OTHER, Kind.MIXED) and value.const is None:
            return value
        return Held(
            value.part,
            value.source,
            Kind.MIXED if value.kind is Kind.MIXED else Kind.OTHER,
            made=value.made,
            ended=value.ended,
            learned=value.learned,
        )
    return Held(value.part, value.source, ended=value.ended, learned=value.learned)


def join(a: Held, b: Held) -> Held:
    """The value where two ways meet."""
    if a is b:
        return a
    items, ways = None, (*a.ways, *b.ways)
    if a.items is not None and b.items is not None:
        if len(a.items) == len(b.items):
            items = tuple(join(x, y) for x, y in zip(a.items, b.items, strict=True))
        else:
            ways += (a, b)
    elif a.items is not None or b.items is not None:
        ways += (a if a.items is not None else b,)
    fields: Mapping[str, Held] | None = None
    if a.fields is not None and b.fields is not None:
        fields = {k: _either(a.fields.get(k), b.fields.get(k)) for k in {**a.fields, **b.fields}}
    elif Part.ALIKE in (a.part, b.part):
        # The other is None, or alike anyway.
        fields = a.fields if b.part is Part.ALIKE else b.fields
    known = a if _weight(a) >= _weight(b) else b
    return Held(
        _met(a.part, b.part),
        a.source or b.source,
        _kind(a, b),
        items,
        fields,
        _element(a, b),
        ways[:_WAYS],
        a.made if a.made is b.made or b.made is None else b.made if a.made is None else None,
        known.ended or a.ended or b.ended,
        a.const if a.const == b.const else None,
        a.learned or b.learned,
    )


_WAYS: Final = 4


def joined(values: Iterable[Held]) -> Held:
    """The value where several ways meet; at least one."""
    return reduce(join, values)


def _element(a: Held, b: Held) -> Held | None:
    """What iterating gives where two ways meet: on one of them each element may have been reduced in its place.

    CLIP-Lite a6825d0 utils/distributed.py:157: `for k in t: dist.all_reduce(t[k])`, of a dict that a comprehension has made.
    """
    if a.element is not None and b.element is not None:
        alike = a.element.part is b.element.part
        return b.element if alike else join(a.element, b.element)
    known, other = (a, b) if a.element is not None else (b, a)
    if known.element is None or other.part in (known.part, Part.ALIKE):
        return known.element
    return known.element.but(part=_met(known.element.part, other.part))


def _either(a: Held | None, b: Held | None) -> Held:
    if a is None or b is None:
        found = a or b
        assert found is not None
        return found
    return join(a, b)


def _kind(a: Held, b: Held) -> Kind:
    if a.kind is b.kind:
        return a.kind
    if Kind.MIXED in (a.kind, b.kind):
        return Kind.MIXED
    if Kind.LOADER in (a.kind, b.kind):
        return Kind.LOADER
    return Kind.OTHER


def _weight(value: Held) -> int:
    return 0 if value.part is Part.ALIKE else 1


def _met(a: Part, b: Part) -> Part:
    if a is b or b is Part.ALIKE:
        return a
    return b if a is Part.ALIKE else Part.UNKNOWN


def combined(values: Iterable[Held]) -> Held:
    """What is made of several values: a container, or the result of a function of one process."""
    return _mixed(plain(value) for value in values)


def _mixed(values: Iterable[Held]) -> Held:
    part, source, ended, kind, learned = Part.ALIKE, None, None, Kind.OTHER, False
    for value in values:
        if value is ALIKE:
            continue
        part = _made(part, value.part)
        source = source or value.source
        ended = ended or value.ended
        kind = Kind.MIXED if value.kind is Kind.MIXED else kind
        learned = learned or value.learned
    if part is Part.ALIKE and kind is Kind.OTHER and ended is None and not learned:
        return ALIKE  # as most values
    known = source if part is not Part.ALIKE else None
    return Held(part, known, kind, ended=ended, learned=learned)


def _made(a: Part, b: Part) -> Part:
    if Part.UNKNOWN in (a, b):
        return Part.UNKNOWN
    if Part.SHARE in (a, b):
        return Part.SHARE
    if {a, b} == {Part.PADDED, Part.WHOLE}:
        return Part.PADDED
    return _met(a, b)


def explained(container: Held) -> bool:
    """Whether all that is known of a dict is what stands under the keys that are known."""
    return (
        container.fields is not None
        and container.kind is Kind.PLAIN
        and container.part is combined(container.fields.values()).part
    )


def computed(left: Held, operator: ast.operator, right: Held) -> Held:
    """The result of an arithmetic operation."""
    a, b = left.part, right.part
    division = isinstance(operator, ast.Div | ast.FloorDiv)
    ended = left.ended or right.ended
    source = left.source or right.source
    if a is Part.SUM and division and b is Part.ALIKE:
        if right.kind is Kind.WORLD:
            return Held(Part.WHOLE, source, ended=ended)
        return Held(Part.SUM if right.kind is Kind.LENGTH else Part.UNKNOWN, source, ended=ended)
    if a is Part.SUM and b is Part.SUM and division:
        return Held(Part.WHOLE, source, ended=ended)
    if Part.SUM in (a, b) and Part.ALIKE in (a, b):
        keeps = isinstance(operator, ast.Add | ast.Sub)
        return Held(Part.SUM if keeps else Part.UNKNOWN, source, ended=ended)
    if Part.SHARE in (a, b) and (a in _OF_ALL or b in _OF_ALL):
        if division and a is Part.SHARE:
            return Held(Part.SHARE, left.source, Kind.MIXED, ended=right.ended)
        return UNKNOWN
    if (
        isinstance(operator, ast.Mult)
        and Kind.WORLD in (left.kind, right.kind)
        and left.kind is not right.kind
    ):
        return _mixed((left, right)).but(kind=Kind.OTHER)
    made = _mixed((left, right))
    if division and left.ended is None:
        # By a number of all ranks: what is divided keeps its history (VisRAG f35d232
        # src/rsgrpo/verl/workers/critic/dp_critic.py:217, a count of tokens).
        return made.but(ended=None)
    if made.learned and (division or isinstance(operator, ast.Mult)):
        # What was gathered is a weight of something that has a gradient (FastVideo 2f3d407
        # fastvideo/train/methods/rl/diffusion_nft.py:591).
        return made.but(ended=None)
    return made


def holds_whole_metrics(value: Held) -> bool:
    """Whether a value is a metric that puts the shares together itself, or a dict, list or tuple of such metrics alone.

    regen_pgc_ssl b5ec285 src/metrics.py:9: `{"f1_score": F1Score(…).to(device), …}`.
    """
    inside = (*(value.fields or {}).values(), *(value.items or ())) or (value,)
    return all(each.made == WHOLE_METRIC for each in inside)


def met(ways: list[dict[str, Held]]) -> dict[str, Held]:
    """The variables where ways meet."""
    first, *others = ways
    found = dict(first)
    for other in others:
        for name, value in other.items():
            known = found.get(name)
            if known is not value:
                found[name] = value if known is None else join(known, value)
    return found
