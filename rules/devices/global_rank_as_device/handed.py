"""Objects that were given the global rank when they were made: `Loader(rank=dist.get_rank())`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from distlint.analysis.program.definitions import Class, dotted_name, last_name
from distlint.analysis.program.handed import argument_of, callers_by_name
from distlint.analysis.program.linked import importers, linked
from distlint.analysis.program.options import options_of
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.knowledge.ranks import ARGUMENT_NAMES
from distlint.nodes import walk

from .device_choice import chosen_by, written_devices

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Function, Module
    from distlint.analysis.program.program import Program

_GLOBAL: Final = frozenset({"get_rank", "process_index", "global_rank"})
_CHOOSES: Final = frozenset({"torch.device", "torch.cuda.device"})
_MOVES: Final = frozenset({"set_device", "cuda"})
_MAX_STEPS: Final = 8

Places = list[tuple["Function", ast.AST]]


class Kept(NamedTuple):
    """A device that an attribute chooses, and where the global rank in it was asked for."""

    node: ast.expr
    asked: ast.AST
    function: Function
    module: Module


def kept_ranks(program: Program, module: Module) -> Iterator[Kept]:
    """The devices of a file that the methods of a class choose by a global rank which its constructor was given.

    What the constructor asks for itself is followed to the device as a value.

    finetrainers finetrainers/data/precomputation.py:336: `torch.device(self._rank)`, and `rank=parallel_backend.rank`.
    """
    for cls in module.all_classes:
        for attr, (method, *others) in cls.self_assigned.items():
            values = assignments(method).get(f"self.{attr}", ())
            given = any(isinstance(v, ast.Name) and v.id in method.parameters for v in values)
            if (
                given
                and "rank" in attr
                and "local" not in attr
                and method.name == "__init__"
                and not others
            ):
                used = next(_devices(cls, f"self.{attr}"), None)
                place = _asked(program, *used, _MAX_STEPS) if used is not None else []
                if used is not None and place:
                    function, asked = place[0]
                    yield Kept(used[1], asked, used[0], function.module)


def optional_ranks(program: Program, module: Module) -> Iterator[Kept]:
    """The devices of a file that methods choose by an option whose default is the global rank: `self.args.rank`.

    MCQ 3555a9b base/base_trainer.py:160: `map_location="cuda:{}".format(self.args.rank)`, of `train_dist_MCQ.py`, which has
    `rank = int(os.environ["RANK"])` and `add_argument("--rank", default=rank)`.
    """
    for cls in module.all_classes:
        for method in cls.methods.values():
            for device in written_devices(method):
                chosen = chosen_by(method, device)
                match chosen.index if chosen is not None and not chosen.modulo else None:
                    case (
                        ast.Attribute(
                            value=ast.Attribute(value=ast.Name(id="self")),
                            attr="rank" | "global_rank",
                        ) as index
                    ):
                        asked = _default_of(program, module, index.attr)
                        if asked is not None:
                            yield Kept(index, asked[1], method, asked[0])


def _default_of(program: Program, module: Module, name: str) -> tuple[Module, ast.expr] | None:
    """Where the scripts that use a file ask for the global rank as the default of an option; None where it may be another."""
    around = linked(program, module)
    if any(_sets(each, name) for each in around):
        return None
    found: list[tuple[Module, ast.expr]] = []
    for each in importers(program, module):
        for option in options_of(each):
            if option.name == name:
                asked = _reads_rank(each, option.default)
                if asked is None:
                    return None
                found.append((each, asked))
    return min(found, key=lambda pair: pair[0].path, default=None)


def _sets(module: Module, name: str) -> bool:
    return f".{name} =" in module.source.text and any(
        isinstance(node.ctx, ast.Store)
        and node.attr == name
        and last_name(node.value) in ARGUMENT_NAMES
        for node in walk(module.source.tree, ast.Attribute)
    )


def _reads_rank(module: Module, node: ast.expr | None) -> ast.expr | None:
    """The expression that reads the variable RANK, where a default is that or, in another case, a number."""
    if isinstance(node, ast.Name):
        values = [
            value
            for function in module.all_functions
            for value in assignments(function).get(node.id, ())
            if not isinstance(value, ast.Constant)
        ]
        return _reads_rank(module, values[0]) if len(values) == 1 else None
    if node is not None and any(each.value == "RANK" for each in walk(node, ast.Constant)):
        return node
    return None


def _devices(cls: Class, path: str) -> Iterator[tuple[Function, ast.expr]]:
    """Where a method takes an attribute for the number of a device."""
    for method in cls.methods.values():
        for node in own_nodes(method, ast.Call):
            match node:
                case ast.Call(args=[*_, given]) if dotted_name(given) == path and (
                    dotted_name(node.func) in _CHOOSES or last_name(node) in _MOVES
                ):
                    yield method, given


def _of_parameter(program: Program, function: Function, name: str, steps: int) -> Places | None:
    """Where the calls of a function get the global rank that each of them hands over; none where one may not."""
    given = [
        (user, argument_of(call, function, name))
        for user, call in callers_by_name(program, function)
        if _means(program, user, call, function)
    ]
    given = [
        pair for pair in given if not isinstance(pair[1], ast.Constant)
    ]  # a test of one process
    return _all(
        _asked(program, user, argument, steps) if argument is not None else []
        for user, argument in given
    )


def _means(program: Program, user: Function, call: ast.Call, function: Function) -> bool:
    """Whether a call may be of a function: of a class or function of another file with that name it is not."""
    if isinstance(call.func, ast.Attribute) and function.name != "__init__":
        return True
    found = program.resolve_dotted(user.module, ast.unparse(call.func))
    return not isinstance(found, Class | type(function)) or found in (function, function.cls)


def _asked(program: Program, function: Function, node: ast.expr, steps: int) -> Places | None:
    """Where an expression asks for the global rank; none where it may be something else."""
    if not steps:
        return []
    if isinstance(node, ast.Constant):
        return None  # a test of one process
    if last_name(node) in _GLOBAL:
        return [(function, node)]
    match node:
        case ast.Name(id=name):
            values = assignments(function).get(name, [])
            if name in function.parameters and not values:
                return _of_parameter(program, function, name, steps - 1)
            return _all(_asked(program, function, value, steps - 1) for value in values)
        case ast.Attribute(value=ast.Name(id="self"), attr=attr) if function.cls is not None:
            return _all(
                _asked(program, method, value, steps - 1)
                for owner in program.mro(function.cls)[0]
                for method in owner.self_assigned.get(attr, ())
                for value in assignments(method).get(f"self.{attr}", ())
            )
        case ast.Attribute(attr="rank"):
            return _all(
                _asked(program, method, value, steps - 1)
                for method, value in _returned(program, "rank")
            )
    return []


def _returned(program: Program, name: str) -> Iterator[tuple[Function, ast.expr]]:
    """What the properties of a name give in the program."""
    for module in program.modules.values():
        for cls in module.all_classes:
            method = cls.methods.get(name)
            for node in own_nodes(method) if method is not None else ():
                if isinstance(node, ast.Return) and node.value is not None:
                    assert method is not None
                    yield method, node.value


def _all(ways: Iterator[Places | None]) -> Places | None:
    """All that is found, where every way leads to something; None where all are constants."""
    every = list(ways)
    found = [way for way in every if way is not None]
    if every and not found:
        return None
    return [place for each in found for place in each] if all(found) else []
