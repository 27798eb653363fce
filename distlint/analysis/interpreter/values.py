"""Values of the abstract run: what is known of an expression on one class of ranks, and from where."""

from __future__ import annotations

import ast
import enum
from collections.abc import Hashable, Iterable
from dataclasses import field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypedDict

from distlint.analysis.program.definitions import Class
from distlint.records import dataclass

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from distlint.analysis.program.definitions import Class, Function, Module


class _Unknown(enum.Enum):
    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown.UNKNOWN
"""Stands for "not a known constant" (None is a constant like any other)."""


class Variance(enum.IntEnum):
    """How a value may differ from rank to rank. The join of two is the larger."""

    UNIFORM = 0
    """The same on all ranks (the default for what is unknown)."""
    RANK_DEPENDENT = 1
    """A function of who the rank is."""
    RANK_LOCAL = 2
    """Each rank's own: tensor contents, clock, files, exceptions, salted hashes."""


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Where a RANK or LOCAL value comes from, for messages: the node, its module, a noun phrase.

    `kind` says what makes it differ: "rank", or a tag of `knowledge.failures` ("tensor", "file" …).
    """

    node: ast.AST
    module: Module
    text: str
    kind: str = "rank"


@dataclass(frozen=True, slots=True)
class Wrap:
    """One layer around a model: its kind (a row of `knowledge.wrappers`), and where it was put on."""

    kind: str
    node: ast.AST
    module: Module
    always: bool = True
    """Whether every path that comes here put it on. An arm that raises comes nowhere."""
    instead: Wrap | None = None
    """The layer of another kind that another path puts on in its place: DDP where an option chooses FSDP or DDP."""


@dataclass(slots=True, eq=False)
class Closure:
    """A function together with the values of the enclosing functions' variables that it may read.

    Never changed; not frozen, as one is made at each look at a method and frozen ones cost three times as much.
    """

    function: Function
    captured: dict[str, Value]
    receiver: Value | None = None
    args: tuple[Value, ...] = ()
    """Arguments that `functools.partial` has bound, in front of those of the call."""
    keywords: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """What `functools.partial` makes of a class or of something external."""

    function: Value
    args: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True, eq=False)
class OneOf:
    """An object of one of several classes, each of which a configuration of the project names: some launch makes it."""

    classes: tuple[Class, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of a few functions, or objects of a few classes: what two paths have left in one variable.

    `build(name)` gives a `One()` or a `Two()`; `fn = train if args.train else evaluate`. Of each thing one value.
    """

    names: tuple[Hashable, ...]
    values: tuple[Value, ...] = field(compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """What a dict holds under the text keys that code writes out: `opt["rank"] = get_rank()`.

    Of a tuple of unknown length the first places, under their numbers. `rest` says how all else differs between ranks.
    """

    named: dict[str, Value]
    rest: Value

    @property
    def held(self) -> bool:
        """Whether these are attributes of an object that was given wrapped models, and no entries of a dict."""
        return isinstance(self.rest.key, tuple) and self.rest.key[:1] == ("held",)

    def at(self, key: str) -> Value | None:
        """What is held under a key, where that is known.

        A number or flag that all ranks share may have been set anew where nobody looked, by a function
        that was handed the dict: it is not known.
        """
        value = self.named.get(key)
        if value is not None and value.known and value.variance is Variance.UNIFORM:
            return value.replace(const=UNKNOWN, truth=None, key=("entry", key, value.key))
        return value

    def joined(self, other: Entries | None, key: Hashable) -> Entries | None:
        """What is known where two paths meet."""
        if self is other or other is None:
            return other
        named = {
            name: join(value, other.named[name], (key, name))
            for name, value in self.named.items()
            if name in other.named
        }
        apart = [v for n, v in (*self.named.items(), *other.named.items()) if n not in named]
        variance, origin, tags = variance_of((self.rest, other.rest, *apart))
        return Entries(named, Value((key, "rest"), UNKNOWN, variance, origin, tags=tags))


class _Fields(TypedDict, total=False):
    """The fields of a value, for `Value.replace`."""

    key: Hashable
    const: Any
    variance: Variance
    origin: Origin | None
    truth: bool | None
    type: str | None
    target: Closure | Partial | OneOf | Either | Class | Module | str | None
    receiver: Value | None
    items: tuple[Value, ...] | None
    wraps: tuple[Wrap, ...]
    tags: frozenset[str]
    logic: tuple[str, tuple[Value, ...]] | None
    not_none: bool
    entries: Entries | None


Target = "Closure | Partial | OneOf | Either | Class | Module | str"
"""What a callable value is: a project function, class or module, or an external qualified name."""

ALL_GIVEN: Final = "given"
"""The kind of an origin: a collective that gives something on every rank, though not the same."""
CONTAINER: Final = "container"
"""The tag of a list or dict whose layers are those of its elements: its methods are its own.

SpeechTokenizer 30c96fb speechtokenizer/trainer/trainer.py:216: `self.discriminators = {k: prepare(v) for k, v in …}`, and
`self.discriminators.items()` in another method.
"""
_TAG_OF_LISTS: Final = frozenset({CONTAINER})
RANK_MODULO: Final = "rank modulo"
"""The tag of what a rank leaves over: `rank % device_count()` is a place in one machine, whatever keeps it.

Versatile-Diffusion cf0f4a2 lib/sync.py:35: `get_rank("local")`, and `self.rank` holds it.
"""
AGREED: Final = "agreed"
"""The tag of what a collective gave all ranks alike, and of what is computed from that and constants alone.

What is UNIFORM may just not be known to differ: a mask of it is of a length that this rank alone has.
"""
IN_TURN: Final = "in-turn"
"""The tag of a number that goes through all ranks in turn, and of what is computed from it: no rank's own number.

fairscale 146f160 fairscale/experimental/nn/data_parallel/gossip/graph_manager.py:196: `for rank in range(self.world_size)`,
and `self.is_passive(rank)` is asked on every rank for each of them.
"""
MODEL_OUTPUT: Final = "model-output"
"""The tag of what a wrapped model made of this rank's batch, and of losses that are computed from it."""
SHUFFLED: Final = "shuffled"
"""The tag of a loader that draws an order for each epoch."""
HOST_ARRAY: Final = "host-array"
"""The tag of an array that numpy made of nothing of this rank's: what all ranks load and count alike.

open_clip src/open_clip_train/data.py:242: `np.array(dataset.targets) == c`, the same images on all ranks.
"""
NUMBERED: Final = "numbered"
"""Of an answer whether the process has a number, which a launcher gives to each: the same on all ranks."""
NO_TAGS: Final[frozenset[str]] = frozenset()
_AGREEMENT: Final = frozenset({AGREED})
_TAGS: Final[dict[frozenset[str], frozenset[str]]] = {}
"""Each set of tags once: there are few, and tens of thousands of values that have one."""


class Value:
    """What is known of one value on one class of ranks. Treat as immutable; `replace()` makes a variant.

    key       value number: two values with equal keys are equal in the same run of the program,
              on every rank that computes both. Structural where that is sound enough.
    const     the Python constant, or UNKNOWN
    truth     True/False where only the truth value is known, else None
    not_none  whether a test has shown that it is not None: `if x is None: return`
    variance  how it differs between ranks, with `origin`
    type      qualified name of its class ("accelerate.Accelerator", or a project class)
    target    what calling or reading attributes of it refers to
    receiver  for a bound method of something external: the object
    items     elements of a tuple or list of known length
    entries   what a dict holds by key
    wraps     layers around a model, innermost first
    tags      facts that flow through arithmetic, formatting and containers ("rank", "clock" …)
    logic     ("not" | "and" | "or", operands), for conditions; ("choice", (test, a, b)) for a value that
              a shared test chooses between two known ones
    """

    __slots__ = (
        "const", "entries", "items", "key", "logic", "not_none", "origin", "receiver", "tags", "target", "truth",
        "type", "variance", "wraps",
    )  # fmt: skip

    def __init__(
        self,
        key: Hashable,
        const: Any = UNKNOWN,
        variance: Variance = Variance.UNIFORM,
        origin: Origin | None = None,
        *,
        truth: bool | None = None,
        type: str | None = None,
        target: Closure | Partial | OneOf | Either | Class | Module | str | None = None,
        receiver: Value | None = None,
        items: tuple[Value, ...] | None = None,
        wraps: tuple[Wrap, ...] = (),
        tags: frozenset[str] = NO_TAGS,
        logic: tuple[str, tuple[Value, ...]] | None = None,
        not_none: bool = False,
        entries: Entries | None = None,
    ) -> None:
        self.key = key
        self.const = const
        self.variance = variance
        self.origin = origin
        self.truth = truth
        self.type = type
        self.target = target
        self.receiver = receiver
        self.items = items
        self.wraps = wraps
        self.tags = _TAGS.setdefault(tags, tags) if tags else NO_TAGS
        self.logic = logic
        self.not_none = not_none
        self.entries = entries

    def replace(self, **changes: Unpack[_Fields]) -> Value:
        """A copy with some fields changed."""
        new = Value.__new__(Value)
        (
            new.const,
            new.entries,
            new.items,
            new.key,
            new.logic,
            new.not_none,
            new.origin,
            new.receiver,
            new.tags,
            new.target,
            new.truth,
            new.type,
            new.variance,
            new.wraps,
        ) = _FIELDS(self)
        for name, value in changes.items():
            setattr(new, name, value)
        return new

    @property
    def known(self) -> bool:
        """Whether the constant is known."""
        return self.const is not UNKNOWN

    @property
    def never_none(self) -> bool:
        """Whether it is surely something: shown by a test, or made by an expression that gives no None."""
        if self.const is not UNKNOWN:
            return self.const is not None
        if self.not_none or self.items is not None:
            return True
        if self.target is not None and not isinstance(self.target, (str, OneOf, Either)):
            return True
        match self.key:
            case (str() as made, *_):
                return made in _MADE
        return False

    def truthiness(self) -> bool | None:
        """The truth value where it is known, else None."""
        if self.truth is not None:
            return self.truth
        if self.const is not UNKNOWN:
            return bool(self.const)
        if self.target is not None and not isinstance(self.target, (str, Either)):
            return True
        return None

    def __repr__(self) -> str:
        parts = [
            f"{name}={getattr(self, name)!r}"
            for name in ("const", "type", "wraps", "tags")
            if getattr(self, name)
        ]
        return f"<Value {self.variance.name} {' '.join(parts)}>"


_MADE: Final = frozenset(
    {"instance", "display", "comprehension", "format", "binary", "compare", "lambda", "wrapped"}
)
"""How the keys of values begin that an expression makes: an object of a class, a list, a text, a sum."""


_FIELDS: Final = attrgetter(*Value.__slots__)


_SMALL: Final = frozenset({bool, int, type(None)})
_CONSTANTS: Final[dict[tuple[type, object], Value]] = {}
"""The values of numbers and flags that code has written out, each once."""


def constant(
    const: Any,
    variance: Variance = Variance.UNIFORM,
    origin: Origin | None = None,
    tags: frozenset[str] = NO_TAGS,
) -> Value:
    """A value that is a known constant; constants that compare equal but differ in type stay apart."""
    if variance is Variance.UNIFORM and not tags and const.__class__ in _SMALL:
        known = _CONSTANTS.get((const.__class__, const))
        if known is None:
            known = Value(("constant", type(const).__name__, const), const)
            _CONSTANTS[const.__class__, const] = known
        return known
    try:
        hash(const)
    except TypeError:
        return Value(("constant", id(const)), const, variance, origin, tags=tags)
    return Value(("constant", type(const).__name__, const), const, variance, origin, tags=tags)


def variance_of(values: Iterable[Value]) -> tuple[Variance, Origin | None, frozenset[str]]:
    """The join of spread, its origin, and tags, for a value computed from `values`."""
    variance, origin, tags = Variance.UNIFORM, None, NO_TAGS
    mixed = False
    for value in values:
        if value.variance > variance:
            variance, origin = value.variance, value.origin
        if value.tags:
            tags = tags | value.tags
        if value.const is UNKNOWN and AGREED not in value.tags:
            mixed = True
    return variance, origin, tags - _AGREEMENT if mixed and AGREED in tags else tags


def _is_one_of_them(a: Value, b: Value) -> bool:
    """Whether a wrapped model meets a list of such: what is read from it then is read from the model.

    AVID-CMA 4538e40 utils/main_utils.py:126: `if squeeze: models = models[0]`.
    """
    return a.wraps == b.wraps != () and (CONTAINER in a.tags) is not (CONTAINER in b.tags)


def difference_of_object(
    inputs: Iterable[Value],
) -> tuple[Variance, Origin | None, frozenset[str]]:
    """The variance, origin and tags of an object that is made of values: when a rank made it is no answer of its.

    MotionDirector 0146a50 MotionDirector_train.py:324: a data set in a folder whose name holds the time, and the
    length of its loader.
    """
    given = list(inputs)
    lasting = (v for v in given if v.origin is None or v.origin.kind != "clock")
    variance, origin, _ = variance_of(lasting)
    return variance, origin, variance_of(given)[2]


def _layers(a: Value, b: Value) -> tuple[Wrap, ...]:
    """The layers where two paths meet: those of the path that has more, which the other may lack.

    Of two ways to wrap, an engine stands for both: it passes on what DDP does not, and nobody puts the one
    around the other (Megatron-DeepSpeed b934f46 megatron/training.py, `if args.deepspeed: return model`).
    """
    listed = (a.items is None) is not (b.items is None)  # a list beside one of known length
    of_a, of_b = (_of_elements(each) if listed else each.wraps for each in (a, b))
    more, less = (of_a, of_b) if len(of_a) >= len(of_b) else (of_b, of_a)
    if more == less or (b if more is of_a else a).const is None:
        return more
    if _has_engine(less) and not _has_engine(more):
        return less
    both = len(less)
    return tuple(map(_either, more, less)) + tuple(
        replace(wrap, always=False) if wrap.always else wrap for wrap in more[both:]
    )


def _either(one: Wrap, other: Wrap) -> Wrap:
    """The layer that two ways put on: torch's where an option chooses apex's, which few launches still ask for."""
    if one.kind == _OF_APEX and other.kind != _OF_APEX:
        one, other = other, one
    if one.instead is None and (one.kind != other.kind or other.instead is not None):
        one = replace(one, instead=other if one.kind != other.kind else other.instead)
    return one if other.always or not one.always else replace(one, always=False)


def _of_elements(value: Value) -> tuple[Wrap, ...]:
    """The layers of a value, or of what is in it, where each element has them."""
    found = {item.wraps for item in value.items or ()}
    return value.wraps or (found.pop() if len(found) == 1 else ())


_OF_APEX: Final = "apex_ddp"


def _has_engine(wraps: tuple[Wrap, ...]) -> bool:
    return any(wrap.kind == "deepspeed" for wrap in wraps)


def is_mode(value: Value) -> bool:
    """Whether a value says how the model is sharded, which is the same whoever asks."""
    match value.key:
        case ("mode", _) | ("not", ("mode", _)):
            return True
    return False


MOST_WAYS: Final = 6
"""Functions and classes of which a call may be of one that are followed."""


def _one_of(a: Value, b: Value) -> Either | None:
    """What a value may be that is one of two; None where one of them is not known, or these are too many."""
    if a.wraps or b.wraps or a.type == b.type is not None:
        return None
    ways = _ways(a)
    others = _ways(b) if ways else {}
    if not others:
        return None
    if ways.keys() == others.keys() and a in ways.values() and b in others.values():
        return None  # one function twice, with other variables around it
    for name, value in others.items():
        ways[name] = join(ways[name], value, ("either", name)) if name in ways else value
    if not 1 < len(ways) <= MOST_WAYS:
        return None
    return Either(tuple(ways), tuple(ways.values()))


def _ways(value: Value) -> dict[Hashable, Value]:
    """The functions, or objects of classes, of which a value is one, by what tells them apart."""
    match value.target:
        case Either(names=names, values=values):
            return dict(zip(names, values, strict=True))
        case Closure(function=function):
            return {("function", id(function)): value}
        case Class() as cls:
            return {("class", id(cls)): value}
        case None if value.type is not None and not value.known:
            return {("type", value.type): value}
    return {}


def join(a: Value, b: Value, key: Hashable) -> Value:
    """The value where two paths meet. `key` numbers the result when the two differ."""
    if a is b:
        return a
    if (
        a.key == b.key
        and a.type == b.type
        and a.const == b.const
        and a.wraps == b.wraps
        and a.entries is b.entries
    ):
        either = a if a.variance >= b.variance else b
        return (
            either
            if (a.not_none and b.not_none) or not either.not_none
            else either.replace(not_none=False)
        )
    same_const = type(a.const) is type(b.const) and a.const == b.const
    hi = a if a.variance >= b.variance else b
    items = None
    if a.items is not None and b.items is not None and len(a.items) == len(b.items):
        items = tuple(
            join(x, y, (key, i)) for i, (x, y) in enumerate(zip(a.items, b.items, strict=True))
        )
    ta, tb = a.truthiness(), b.truthiness()
    return Value(
        a.key if a.key == b.key else key,
        a.const if same_const else UNKNOWN,
        hi.variance,
        hi.origin,
        truth=ta if ta == tb else None,
        type=a.type if a.type == b.type or b.const is None else b.type if a.const is None else None,
        target=a.target
        if a.target is b.target is not None or b.const is None
        else b.target
        if a.const is None
        else _one_of(a, b),
        items=items,
        wraps=() if "unwrapped" in a.tags or "unwrapped" in b.tags else _layers(a, b),
        tags=variance_of((a, b))[2] - (_TAG_OF_LISTS if _is_one_of_them(a, b) else frozenset()),
        not_none=a.never_none and b.never_none,
        entries=a.entries.joined(b.entries, key) if a.entries is not None else None,
    )
