"""What one run of one function leaves behind: blocks of steps, and the sites where things happened.

The steps keep only what the comparison of rank classes needs: events, branches on symbols, loops, exits.
The sites keep what rules look at: calls and attribute reads with the abstract values that met there.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Hashable
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar

from distlint.analysis.interpreter.values import Value
from distlint.knowledge.schema import CallRow, Effect
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ranks import RankClass
    from distlint.analysis.program.definitions import Function, Module

Node = TypeVar("Node", bound=ast.expr)
CHOSEN: Final = "chosen"
"""What begins the key of the value that decides which of a few things a call is of."""


class Layer(enum.IntEnum):
    """Under which circumstances an event is a collective."""

    ALWAYS = 0
    SHARDED = 1
    """Only when the model is sharded (FSDP, ZeRO-3, tensor parallel)."""
    WRAPPED = 2
    """When the model is in DDP too: forward and backward."""


@dataclass(slots=True, eq=False)
class Guard:
    """A condition that held (or did not) where something happened.

    Never changed; not frozen, as one is made at each condition and frozen ones cost three times as much.
    """

    node: ast.expr
    module: Module
    value: Value
    taken: bool
    exits: bool = False
    """The other arm left: an early exit, not an enclosing `if`."""

    @property
    def is_choice(self) -> bool:
        """Whether it stands for no condition of the code: a call is of one of a few things, and nothing says of which."""
        return isinstance(self.value.key, tuple) and self.value.key[:1] == (CHOSEN,)


class CallSite:
    """A call as one class of ranks met it.

    name      canonical dotted name of what is called ("torch.save"; for a method of a known class
              "accelerate.Accelerator.gather"; ".save_pretrained" where only the method is known)
    method    the last part of the name
    callee    the project function that is called, where it was resolved
    rows      what the tables say of it
    guards    conditions in force, outermost first; loops: enclosing loops, outermost first
    """

    __slots__ = (
        "args", "callee", "function", "guards", "keywords", "loops", "method", "name", "node", "order",
        "receiver", "result", "rows", "statement", "tries",
    )  # fmt: skip

    def __init__(
        self,
        node: ast.Call,
        function: Function,
        name: str,
        receiver: Value | None,
        args: list[Value],
        keywords: dict[str, Value],
        rows: tuple[CallRow, ...],
        callee: Function | None,
        statement: ast.stmt,
        guards: tuple[Guard, ...],
        loops: tuple[ast.stmt, ...],
        tries: tuple[ast.Try, ...],
        order: int,
    ) -> None:
        self.node = node
        self.function = function
        self.name = name
        self.method = name.rpartition(".")[2]
        self.receiver = receiver
        self.args = args
        self.keywords = keywords
        self.rows = rows
        self.callee = callee
        self.statement = statement
        self.guards = guards
        self.loops = loops
        self.tries = tries
        self.order = order
        self.result: Value | None = None

    @property
    def module(self) -> Module:
        """The file it stands in."""
        return self.function.module

    def argument(self, position: int | None, keyword: str = "") -> Value | None:
        """The value of an argument by position or keyword; None where it is not given."""
        if keyword and keyword in self.keywords:
            return self.keywords[keyword]
        if position is not None and position < len(self.args):
            return self.args[position]
        return None

    def argument_node(self, position: int | None, keyword: str = "") -> ast.expr | None:
        """The expression of an argument by position or keyword; None where it is not given."""
        if keyword:
            for kw in self.node.keywords:
                if kw.arg == keyword:
                    return kw.value
        if position is not None and position < len(self.node.args):
            found = self.node.args[position]
            return None if isinstance(found, ast.Starred) else found
        return None

    def row(self, *effects: Effect) -> CallRow | None:
        """The first row with one of these effects (its own or an additional one)."""
        for row in self.rows:
            if row.effect in effects or any(effect in effects for effect in row.also):
                return row
        return None


class AttributeSite:
    """An attribute read, written or deleted on a value that is known to be wrapped, or to be None."""

    __slots__ = ("attr", "function", "guards", "node", "order", "receiver", "statement", "tries")

    def __init__(
        self,
        node: ast.Attribute,
        function: Function,
        receiver: Value,
        statement: ast.stmt,
        guards: tuple[Guard, ...],
        tries: tuple[ast.Try, ...],
        order: int,
    ) -> None:
        self.node = node
        self.attr = node.attr
        self.function = function
        self.receiver = receiver
        self.statement = statement
        self.guards = guards
        self.tries = tries
        self.order = order

    @property
    def module(self) -> Module:
        """The file it stands in."""
        return self.function.module


@dataclass(slots=True, eq=False)
class FailingRead(Generic[Node]):
    """What is read where that raises."""

    node: Node
    guards: tuple[Guard, ...]
    tries: tuple[ast.Try, ...]


class Cut(NamedTuple):
    """A part of a whole that the number of a rank chooses: `names[rank::size]`, `i % size == rank`.

    `asked` is the expression of that number, and `place` its value.
    `counted` says how many parts there are: the size itself, or what was made with it (`np.array_split(x, size)`).
    """

    node: ast.expr
    asked: ast.expr
    place: Value
    counted: Value
    guards: tuple[Guard, ...]


@dataclass(slots=True, eq=False)
class Event:
    """A collective, or part of one, in a trace. Events with the same `op` meet each other."""

    op: str
    layer: Layer
    node: ast.AST
    module: Module
    group: Hashable | None = None
    """None for the default group. Events of other groups are not compared."""
    site: CallSite | None = None
    first_only: bool = False
    """Whether of several in a row only the first waits: forwards of DDP without gradients broadcast buffers where a
    step with gradients has come before (torch 2.13.0 torch/nn/parallel/distributed.py:1781)."""
    iterated: bool = False
    """Whether going through `node` begins with it."""


@dataclass(slots=True, eq=False)
class Branch:
    """An `if` whose condition is a symbol (conditions decided by the rank leave no branch)."""

    condition: Value
    node: ast.AST
    then: list[Step]
    orelse: list[Step]


@dataclass(slots=True, eq=False)
class Loop:
    """A loop. `local` holds the value whose difference between ranks makes the trip count differ."""

    node: ast.AST
    key: Hashable
    local: Value | None
    body: list[Step]
    orelse: list[Step]
    endless: bool = False
    """`while True`: left by `break` or `return` only."""
    once: bool = False
    """The body runs at least once: `done = False`, then `while not done`."""
    volatile: set[Hashable] = field(default_factory=set)
    """Symbols that may change from one iteration to the next."""
    module: Module | None = None


class JumpKind(enum.Enum):
    """How a block is left."""

    RETURN = enum.auto()
    BREAK = enum.auto()
    CONTINUE = enum.auto()
    RAISE = enum.auto()
    PROCESS = enum.auto()
    """The whole process ends normally."""
    FAILURE = enum.auto()
    """The process ends with an exit code that makes the launcher end all others."""


@dataclass(slots=True, eq=False)
class Jump:
    """A way out of a block."""

    kind: JumpKind
    node: ast.AST
    by_rank: bool = False
    """A `raise` or exit that a rank takes because of who it is, the normal end of its path, or of its own loss."""
    alone: Guard | None = None
    """Of a `raise` in a handler: the condition on the rank under which its whole `try` stands."""


@dataclass(slots=True, eq=False)
class Try:
    """try/except/else/finally; a `with` block is one whose exit half is `final`."""

    node: ast.AST
    body: list[Step]
    handlers: list[list[Step]]
    orelse: list[Step]
    final: list[Step]
    memory: ast.ExceptHandler | None = None
    """The handler that expects an out-of-memory error, which any work of one rank may meet."""


@dataclass(slots=True, eq=False)
class MayRaise:
    """Something that may fail on one rank alone, inside a `try` that catches it."""

    node: ast.AST
    text: str


Known = tuple[tuple[str, bool | None], ...]
"""Parameters that are None, True or False in one call, by name."""


class Passed(NamedTuple):
    """A parameter that a call fills with a plain name or attribute of the caller.

    What the function asks of it is what the caller asks of it, under another name; not so of the
    attributes that the caller changes.
    """

    parameter: str
    key: Hashable
    changed: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class CallStep:
    """A call of a project function.

    `known` are arguments that are constants where the run is one for other arguments as well.
    """

    summary: Summary
    node: ast.AST
    known: Known = ()
    passed: tuple[Passed, ...] = ()


@dataclass(slots=True, eq=False)
class InlineBody:
    """A block inside a generator function: the body of a `with` or `for` over it stands at its `yield`."""

    summary: Summary
    node: ast.AST
    body: list[Step]
    orelse: list[Step]
    """What follows where a `for` comes to the end of the generator."""


@dataclass(slots=True, eq=False)
class Yield:
    """Where a generator hands over to the block around which it runs."""

    node: ast.AST


@dataclass(slots=True, eq=False)
class UnknownCall:
    """Unknown code that was handed a project function or generator: it may or may not run it."""

    summary: Summary
    node: ast.AST
    module: Module


Step = Event | Branch | Loop | Jump | Try | MayRaise | CallStep | InlineBody | Yield | UnknownCall


class Asker(Protocol):
    """Who asks for a value that is held outside functions: on which class of ranks, with what that depends on."""

    rank: RankClass
    depends_on: set[str]


@dataclass(slots=True, eq=False)
class Summary:
    """One function followed by one class of ranks, with some parameters bound."""

    function: Function
    rank: RankClass
    context: Hashable
    steps: list[Step] = field(default_factory=list)
    calls: list[CallSite] = field(default_factory=list)
    attributes: list[AttributeSite] = field(default_factory=list)
    none_accesses: list[AttributeSite] = field(default_factory=list)
    """Attributes read from or set on what is None here."""
    unbound: list[FailingRead[ast.Name]] = field(default_factory=list)
    """Local variables that no path of this run has bound there."""
    of_nothing: list[FailingRead[ast.expr]] = field(default_factory=list)
    """What is read from None, or from a dict that was made empty: by a key, or into the targets of a tuple."""
    cuts: dict[ast.expr, Cut] = field(default_factory=dict)
    """The parts of a whole that the rank chooses, by what stands there; calls that do so are among the calls."""
    returns: Value | None = None
    self_attributes: dict[str, Value] = field(default_factory=dict)
    own_flags: set[str] = field(default_factory=set)
    """Those of them that each rank sets for itself, or does not."""
    filled: dict[str, Value] | None = None
    """The parameters whose contents a collective has made equal on every way out; None before the first."""
    environment: dict[str, Value] = field(default_factory=dict)
    depends_on: set[str] = field(default_factory=set)
    children: list[Summary] = field(default_factory=list)
    rank_conditions: list[Guard] = field(default_factory=list)
    """The conditions on the rank that this class met, with the arm it took, in order."""
    failure: str = ""
    """What may go wrong in it on one rank alone, and is not caught there: "network", "process"."""
    arguments: tuple[Any, ...] | None = None
    """How to make the run again, where a recursion cut it short; None for a complete run."""

    def mark(self) -> tuple[int, int, int, int]:
        """How much has been recorded so far, for `forget_since`."""
        return len(self.calls), len(self.attributes), len(self.rank_conditions), len(self.children)

    def forget_since(self, mark: tuple[int, int, int, int]) -> None:
        """Let go of what was recorded since `mark`: it is followed again."""
        calls, attributes, rank_conditions, children = mark
        del self.calls[calls:], self.attributes[attributes:]
        del self.rank_conditions[rank_conditions:], self.children[children:]

    def __repr__(self) -> str:
        return f"<Run {self.function!r} on {self.rank.name}>"
