"""Data sets and loaders of the program that take a rank's part: of what they are told, `files[shard_id::num_shards]`, or
of what they ask themselves, `files[dist.get_rank() :: dist.get_world_size()]`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from distlint.analysis.program.definitions import Class, dotted_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.shares.reading import where_distributed
from distlint.knowledge import facts
from distlint.nodes import last_name, walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import Cut
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function
    from distlint.analysis.program.program import Program

_DEPTH: Final = 3
_CUTS: Final = frozenset({"array_split", "tensor_split"})
"""Functions that cut into parts, of which somebody takes one."""
_GIVES_DATA: Final = frozenset({"__iter__", "__getitem__", "__call__"})
"""Methods of what hands out elements, whatever its class is called; a pipeline calls its source."""
_NONE: Final[frozenset[str]] = frozenset()


class Division(NamedTuple):
    """A data set that gives each rank its part of what it holds: where all of these parameters have these values."""

    settings: tuple[tuple[str, bool], ...]


def divisions(live: LiveProgram) -> dict[Class, Division]:
    """The data sets and samplers of the program that ask for the rank, and take its part.

    wespeaker dfa7419 wespeaker/dataset/dataset.py:107: `data[self.rank :: self.world_size]` in the sampler that the data
    set has made, `if self.partition`.
    """
    found = {}
    for module in live.program.modules.values():
        for cls in module.all_classes:
            _, libraries = live.program.mro(cls)
            if facts.is_data_set(libraries) or any(each.endswith("Sampler") for each in libraries):
                division = _division(live, cls)
                if division is not None:
                    found[cls] = division
    return found


def _division(live: LiveProgram, cls: Class) -> Division | None:
    """The first part that iterating over an object takes, or making it, here or in what it calls."""
    names = ("__iter__", "__getitem__", "__init__")
    work = [(live.program.find_method(cls, name), _DEPTH) for name in names]
    seen: set[Function] = set()
    while work:
        function, depth = work.pop(0)
        runs = live.summaries_of(function) if function is not None else None
        if function is None or runs is None or function in seen:
            continue
        seen.add(function)
        for _, run in runs.summaries():
            for cut in run.cuts.values():
                settings = _settings(live, cls, function, cut)
                if settings is not None:
                    return Division(settings)
            if depth:
                work += [(site.callee, depth - 1) for site in run.calls if site.callee is not None]
    return None


def _settings(
    live: LiveProgram, cls: Class, function: Function, cut: Cut
) -> tuple[tuple[str, bool], ...] | None:
    """The parameters of a data set's constructor by which it takes a part; None where other things decide it, too."""
    if not {"kind:rank", "kind:world_size"} <= cut.place.tags | cut.counted.tags:
        return None
    own = live.program.find_method(cls, "__init__")
    if own is not None and any("rank" in name for name in own.parameters):
        return None  # it is told for whom it is: yolov5's, -1 for the loader of all
    owner = live.program.find_method(function.cls, "__init__") if function.cls is not None else own
    told = own.parameters[1:] if own is not None else []
    kept = owner.parameters[1:] if owner is not None else []
    found = []
    for guard in cut.guards:
        names = {each.rpartition(".")[2] for each in _names(guard.node)} & {*told, *kept}
        if not names:
            if where_distributed(guard.node) is (not guard.taken):
                return None
            continue
        flag, taken = guard.node, guard.taken
        if isinstance(flag, ast.UnaryOp):
            flag, taken = flag.operand, not taken
        if names != {last_name(flag)} or not names <= set(told):
            return None
        found.append((last_name(flag), taken))
    return tuple(found)


def slicing_classes(live: LiveProgram) -> list[Class]:
    """The data sets of the program that a parameter of their constructor cuts."""
    return [
        cls
        for module in live.program.modules.values()
        for cls in module.all_classes
        if slicing_parameters(live.program, cls)
    ]


@remembered
def slicing_parameters(program: Program, cls: Class) -> frozenset[str]:
    """The parameters of a data set's constructor that say which elements an object takes.

    TinyLlama bf12224 lit_gpt/packed_dataset.py:48: `__iter__` slices by what `__init__` kept of the rank. llm.c
    train_gpt2.py:359: a loader begins at `self.process_rank * self.B * self.T`. modulus 878fd04
    physicsnemo/datapipes/cae/mesh_datapipe.py:228: the source of a pipeline is told for whom it is, and takes
    `np.array_split(indices, world_size)[process_rank]`.
    """
    return _slicing_parameters(program, cls, _DEPTH)


def _slicing_parameters(program: Program, cls: Class, depth: int) -> frozenset[str]:
    own, libraries = program.mro(cls)
    names = (*(each.name for each in own), *libraries)
    init = program.find_method(cls, "__init__")
    if init is None or not (
        any("Dataset" in n or n.endswith("Loader") for n in names)
        or any(each.methods.keys() & _GIVES_DATA for each in own)
    ):
        return _NONE
    methods = [method for each in own for method in each.methods.values()]
    asked = {name for method in methods for name in _starts(method)}
    asked |= {name for method in methods for name in _offsets(method, methods)}
    if depth:
        asked |= {name for method in methods for name in _handed_on(program, method, depth - 1)}
    kept = assignments(init)
    asked |= {
        name
        for path in asked
        if path.startswith("self.")
        for v in kept.get(path, ())
        for name in _names(v)
    }
    return frozenset(asked) & frozenset(init.parameters[1:])


def _starts(method: Function) -> Iterator[str]:
    """The variables and attributes from which the start of a slice with a step is computed."""
    for node in own_nodes(method, ast.Subscript, ast.Call):
        match node:
            case ast.Subscript(slice=ast.Slice(lower=ast.expr() as lower, step=ast.expr())):
                yield from _sources(method, lower, _DEPTH)
            case ast.Subscript(
                value=ast.Subscript(slice=ast.Slice(lower=ast.expr() as lower, upper=None)),
                slice=ast.Slice(lower=None, step=ast.expr()),
            ):  # guided-diffusion 22e0df8 guided_diffusion/image_datasets.py:95
                yield from _sources(method, lower, _DEPTH)
            case ast.Call(args=[_, lower, _, _]) if last_name(node) == "islice":
                yield from _sources(method, lower, _DEPTH)
            case ast.Subscript(value=ast.Call(func=func), slice=part) if last_name(func) in _CUTS:
                yield from _sources(method, part, _DEPTH)


def _handed_on(program: Program, method: Function, depth: int) -> Iterator[str]:
    """What tells another data set of the program, which a method makes, which elements to take."""
    for node in own_nodes(method, ast.Call):
        if not (node.keywords and dotted_name(node.func)):
            continue
        made = program.resolve_dotted(method.module, dotted_name(node.func))
        if isinstance(made, Class) and made is not method.cls:
            parameters = _slicing_parameters(program, made, depth)
            for keyword in node.keywords:
                if keyword.arg in parameters:
                    yield from _sources(method, keyword.value, _DEPTH)


def _offsets(method: Function, methods: list[Function]) -> Iterator[str]:
    """What is multiplied to give the start of a slice, here or where a method sets the attribute that holds it."""
    for node in own_nodes(method, ast.Slice):
        if node.lower is not None and node.step is None:
            for name in _sources(method, node.lower, _DEPTH):
                values = [v for each in methods for v in assignments(each).get(name, ())]
                for value in (node.lower, *values):
                    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
                        yield from (each for each in _names(value) if each.startswith("self."))


def _sources(method: Function, node: ast.expr, depth: int) -> Iterator[str]:
    for name in _names(node):
        # A parameter of another method is not one of the constructor's.
        if name.startswith("self.") or (method.name == "__init__" and name in method.parameters):
            yield name
        elif depth:
            for value in assignments(method).get(name, ()):
                yield from _sources(method, value, depth - 1)


def _names(node: ast.expr) -> Iterator[str]:
    for each in walk(node, ast.Name, ast.Attribute):
        if name := dotted_name(each):
            yield name
