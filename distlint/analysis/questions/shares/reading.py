"""How expressions are read where several ranks run: paths, elements, conditions."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from distlint.analysis.interpreter.values import Value, Variance
from distlint.analysis.program.definitions import last_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import comes_out, literals, own_nodes, paired, storage_of
from distlint.analysis.questions.shares.values import UNKNOWN, Held, Kind, Part, joined
from distlint.knowledge import shares as tables
from distlint.knowledge.schema import Effect
from distlint.nodes import COMPARISONS, walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.program.program import Program


@dataclass(frozen=True, slots=True)
class Met:
    """A call as the ranks make it, so far as that says whose the values are: who makes it anew may give it others like them."""

    callee: Function | None
    name: str
    is_collective: bool
    tells_rank: bool
    """Whether it is given something that differs between the ranks."""
    ranks: tuple[ast.expr, ...]
    """What it is given that says who the rank is: `ddp_rank = int(os.environ["RANK"])`."""


@remembered
def met_at(live: LiveProgram, node: ast.Call) -> Met | None:
    """A call as the ranks make it; None where none does."""
    group = live.call_at(node)
    if group is None:
        return None
    site = group.site
    given = [
        *zip(site.node.args, site.args, strict=False),
        *((k.value, site.keywords[k.arg]) for k in site.node.keywords if k.arg in site.keywords),
    ]
    return Met(
        site.callee,
        site.name,
        any(row.effect is Effect.COLLECTIVE for row in site.rows),
        any(_differs(value) for value in (*site.args, *site.keywords.values())),
        tuple(node for node, value in given if _differs(value) and "rank" in value.tags),
    )


def _differs(value: Value) -> bool:
    return value.variance is Variance.RANK_DEPENDENT


def element_of(value: Held) -> Held:
    """What iterating over a value gives."""
    if value.element is not None:
        return value.element
    if value.items:
        return joined(value.items)
    return Held(value.part, value.source, ended=value.ended)


def unpacked(value: Held, length: int) -> tuple[Held, ...] | None:
    """The elements of a tuple of this length; unknown ones where all that is known has other lengths."""
    found = [v for v in (value, *value.ways) if v.items is not None and len(v.items) == length]
    if not found:
        # Of a list that was put together one by one, nobody knows which is which: BLIP 056a169
        # data/__init__.py:84, loaders of which the first alone has a sampler.
        each = value.element
        if each is not None and each.kind is not Kind.LOADER and not value.ways:
            # A comprehension makes them all alike: sd-scripts library/strategy_sdxl.py:186,
            # `tokens1, tokens2 = tokens` of `[ids.to(device) for ids in batch["input_ids_list"]]`.
            return (each,) * length
        mixed = value.ways or value.items is not None or value.kind is Kind.PLAIN
        return (UNKNOWN,) * length if mixed and value.part is not Part.ALIKE else None
    return joined(found).items


def texts_of(node: ast.expr) -> list[Held]:
    """The texts of a list that is written out, `for phase in ["train", "val"]`; none for others."""
    match node:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            texts = [e.value for e in elements if isinstance(e, ast.Constant)]
            if len(texts) == len(elements) <= _TEXTS and all(isinstance(t, str) for t in texts):
                return [Held(kind=Kind.PLAIN, const=text) for text in texts]
    return []


_TEXTS: Final = 4
"""Of so many turns each is followed with its own text."""


def path_of(node: ast.expr) -> str:
    """How a variable, attribute or element by a written key is named; "" for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=owner, attr=attr):
            path = path_of(owner)
            return path and f"{path}.{attr}"
        case ast.Subscript(value=owner, slice=ast.Constant(value=str() | int() | float() as key)):
            path = path_of(owner)
            return path and f"{path}[{key!r}]"
    return ""


@remembered
def views(program: Program, function: Function) -> dict[str, list[str]]:
    """The variables and attributes that only ever are views of a tensor, by the name of the tensor, as a function sees them.

    makani 2dfc4c8 makani/utils/metric.py:609: `self.valid_loss = self.valid_buffer[0].view(-1)`, and the buffer is reduced.
    """
    given: dict[str, set[str]] = {}
    classes = program.mro(function.cls)[0] if function.cls is not None else ()
    methods = [method for cls in classes for method in cls.methods.values()]
    for each in dict.fromkeys((*methods, function)):
        for node in own_nodes(each, ast.Assign):
            for target, value in paired(node.targets, node.value):
                name = path_of(target)
                if name and (each is function or name.startswith("self.")):
                    of = path_of(storage_of(value))
                    seen = of != path_of(value) and (each is function or of.startswith("self."))
                    given.setdefault(name, set()).add(of if seen else "")
    found: dict[str, list[str]] = {}
    for name, owners in given.items():
        if len(owners) == 1 and (owner := next(iter(owners))):
            found.setdefault(owner, []).append(name)
    return found


def field_name(key: object) -> str:
    """The name under which the value of a written key is remembered: `1.0` is no attribute's name."""
    return key if isinstance(key, str) else repr(key)


def key_text(node: ast.expr | None, given: tuple[str, str] = ("", "")) -> str | None:
    """How the value under a key is remembered: `f"eval/{name}"` as `eval/{name}`; None where the key says nothing.

    Args:
        node: the key.
        given: a variable in it, and what it stands for.
    """
    match node:
        case ast.Constant(value=key):
            return field_name(key)
        case ast.Name(id=name) if name == given[0]:
            return given[1]
        case ast.JoinedStr(values=values):
            return "".join(_text(part, given) for part in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            texts = key_text(left, given), key_text(right, given)
            return "".join(texts) if None not in texts else None  # type: ignore[arg-type]
    return None


def _text(part: ast.expr, given: tuple[str, str]) -> str:
    match part:
        case ast.Constant(value=said):
            return str(said)
        case ast.FormattedValue(value=value):
            text = ast.unparse(value)
            return given[1] if text == given[0] else f"{{{text}}}"
    return ""


def keys_of(target: ast.expr, iterable: ast.expr) -> dict[str, str]:
    """The variable of a loop that goes through the keys of a dict, with the name of the dict."""
    match target, iterable:
        case ast.Name(id=key), ast.Call(func=ast.Name(id="list" | "sorted"), args=[inner]):
            return keys_of(target, inner)
        case (
            (ast.Name(id=key), ast.Call(func=ast.Attribute(attr="keys", value=owner)))
            | (
                ast.Tuple(elts=[ast.Name(id=key), _]),
                ast.Call(func=ast.Attribute(attr="items", value=owner)),
            )
            | (ast.Name(id=key), ast.Name() | ast.Attribute() as owner)
        ):
            return {key: path_of(owner)}
    return {}


def whose_attributes(iterable: ast.expr) -> str:
    """The object whose attributes a loop goes through: `vars(self).values()`, `self.__dict__.items()`; "" for others."""
    match iterable:
        case ast.Call(
            func=ast.Attribute(
                attr="values" | "items",
                value=ast.Call(func=ast.Name(id="vars"), args=[owner])
                | ast.Attribute(attr="__dict__", value=owner),
            )
        ):
            return path_of(owner)
    return ""


def takes_share(index: ast.Slice) -> bool:
    """Whether a slice is `[rank::world]` or `[rank * n : (rank + 1) * n]`."""
    return (
        index.lower is not None
        and _names_rank(index.lower)
        and (index.step is not None or index.upper is not None)
    )


def is_own_place(index: ast.expr) -> bool:
    """Whether an index is that of what this rank has given to a gather: its number, or the slice of its rows.

    VisRAG f35d232 src/openmatch/trainer/dense_trainer.py:198: `all_tensors[self.process_rank] = t`, and line 351.
    """
    if isinstance(index, ast.Slice):
        return takes_share(index)
    return last_name(index) in tables.RANK_NAMES


def is_position(index: ast.expr) -> bool:
    """Whether an index is a computed number: `offset + number`, and no text that is put together."""
    return isinstance(index, ast.BinOp) and not any(
        isinstance(part.value, str) for part in walk(index, ast.Constant)
    )


def _names_rank(node: ast.expr) -> bool:
    return any(
        last_name(part) in tables.RANK_NAMES
        for part in walk(node, ast.Name, ast.Attribute, ast.Call)
    )


@remembered
def of_whole_sets(function: Function) -> frozenset[str]:
    """The parameters of which a function asks no more than what a loader has of all ranks' data: `loader.dataset.labels`.

    Parametric-Contrastive-Learning fe56535 GPaCo/LT/utils.py:12: the loader of the training, for the number of
    examples of each class. What stands below `isinstance(loader, numpy.ndarray)` is not about loaders.
    """
    used: dict[str, set[ast.Name]] = {}
    passed: set[ast.AST] = set()
    asks: set[str] = set()
    for node in walk(function.node, ast.Name, ast.Attribute, ast.If):
        match node:
            case ast.Name(id=name):
                used.setdefault(name, set()).add(node)
            case ast.Attribute(value=ast.Name(id=name) as owner, attr=attr) if (
                attr in tables.OF_THE_WHOLE_SET
            ):
                passed.add(owner)
                asks.add(name)
            case ast.If(test=ast.Call() as test, body=body) if name := _of_another_class(test):
                parts = (part for statement in (test, *body) for part in walk(statement))
                passed |= {p for p in parts if isinstance(p, ast.Name) and p.id == name}
    return frozenset(
        name for name in asks.intersection(function.parameters) if used[name] <= passed
    )


def _of_another_class(test: ast.Call) -> str:
    """The variable of which a test asks whether it is of a class that is no loader's; "" for other tests."""
    match test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), cls]):
            named = [cls, *cls.elts] if isinstance(cls, ast.Tuple) else [cls]
            return "" if any("Loader" in last_name(each) for each in named) else name
    return ""


def picks_by_rank(test: ast.expr, taken: bool = True) -> bool:
    """Whether a condition, come out one way, holds for every so many elements, another for each rank: `i % world == rank`.

    FiD fe769f3 src/data.py:131: `if global_rank > -1 and not k % world_size == global_rank: continue`.
    """
    for part, holds in literals(test, taken):
        match part:
            case ast.Compare(
                left=ast.BinOp(op=ast.Mod(), right=count), ops=[operator], comparators=[other]
            ) if last_name(count) in tables.WORLD_NAMES and last_name(other) in tables.RANK_NAMES:
                if isinstance(operator, ast.Eq if holds else ast.NotEq):
                    return True
    return False


_PARTS: Final = pattern(r"split|chunk|partition|divide|shard|(?<![a-z])parts?(?![a-z])")
"""Words in the names of functions that make as many parts as they are told."""


def takes_one_of_the_parts(
    owner: ast.expr, index: ast.expr, given: Mapping[str, Sequence[ast.expr]]
) -> bool:
    """Whether an element is this rank's of as many parts as there are ranks: `np.array_split(files, world_size)[rank]`.

    Args:
        owner: what the element is taken from.
        index: where.
        given: what the function gives its variables.
    """
    if (
        not isinstance(index, ast.Name | ast.Attribute | ast.Call)
        or last_name(index) not in tables.RANK_NAMES
    ):
        return False
    ways = given.get(owner.id, ()) if isinstance(owner, ast.Name) else (owner,)
    for way in ways:
        if isinstance(way, ast.Call) and last_name(way) in ("list", "tuple") and way.args:
            way = way.args[0]
        if isinstance(way, ast.Call) and _PARTS.search(last_name(way)):
            told = (*way.args, *(k.value for k in way.keywords))
            if any(last_name(each) in tables.WORLD_NAMES for each in told):
                return True
    return False


def where_distributed(test: ast.expr, shared: frozenset[str] = frozenset()) -> bool | None:
    """What a condition is where several ranks run; None where that does not decide it.

    Args:
        test: the condition.
        shared: conditions, as `asked` writes them, under which the program gives each rank its part.
    """
    return comes_out(test, partial(_where_distributed, shared))


def _where_distributed(shared: frozenset[str], test: ast.expr) -> bool | None:
    if asked(test) in shared:
        return True
    match test:
        case ast.Compare(
            left=left, ops=[operator], comparators=[ast.Constant(value=int() as number)]
        ):
            return _compared(_word(left), operator, number)
        case ast.Name() | ast.Attribute() | ast.Call():
            return True if _word(test) in tables.DISTRIBUTED else None
    return None


def asked(test: ast.expr) -> str:
    """A condition by the last name in it: `cfg.NUM_GPUS > 1` of one file is `self.cfg.NUM_GPUS > 1` of another;
    "" for what is not a flag or a count of that kind."""
    match test:
        case ast.Compare(
            left=left,
            ops=[ast.Gt() | ast.GtE() | ast.NotEq() as operator],
            comparators=[ast.Constant(value=int() as number)],
        ):
            name = _word(left)
            return f"{name} {type(operator).__name__} {number}" if _OF_LAUNCH.search(name) else ""
        case ast.Name() | ast.Attribute():
            name = _word(test)
            return name if _OF_LAUNCH.search(name) else ""
    return ""


_OF_LAUNCH: Final = pattern(r"gpu|world|dist|ddp|parallel|proc|device|shard|replica|rank")
"""Words in the names of conditions that ask how many ranks there are."""


def _word(node: ast.expr) -> str:
    """The last name of an expression, however it is written: `cfg.NUM_GPUS`, `__initialized`."""
    return last_name(node).strip("_").lower()


def holds(left: int | str, operator: ast.cmpop, right: int | str) -> bool | None:
    """How two numbers or texts compare; None where the comparison is of another kind."""
    of_objects = isinstance(operator, ast.Is | ast.IsNot | ast.In | ast.NotIn)
    return None if of_objects else COMPARISONS[type(operator)](left, right)


def _compared(name: str, operator: ast.cmpop, number: int) -> bool | None:
    if name in tables.WORLD_NAMES:
        match operator:
            case ast.Gt() | ast.NotEq() if number == 1:
                return True
            case ast.GtE() if number == 2:
                return True
            case ast.Eq() | ast.LtE() if number == 1:
                return False
            case ast.Lt() if number == 2:
                return False
    if name in tables.RANK_NAMES and number == -1:
        match operator:
            case ast.NotEq() | ast.Gt():
                return True
            case ast.Eq():
                return False
    return None
