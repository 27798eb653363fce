"""Prepared schedules for the batches of all ranks, multiplied by the number of processes: as many times too long."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.chosen import option_defaults
from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.lengths import counts_processes, prepared
from distlint.nodes import last_name, walk
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Function
    from distlint.findings import Place
    from distlint.launch.commands import Launch

_TOTAL: Final = "num_training_steps"
_ENDLESS: Final = frozenset({"constant", "constant_with_warmup", "piecewise_constant"})
"""Schedules that take no number of steps (diffusers 0.42.1 diffusers/optimization.py)."""
_DEPTH: Final = 4
_PROCESSES: Final = ("num_processes", "nproc_per_node", "num_gpus")


@dataclass(frozen=True, slots=True, eq=False)
class Multiplied:
    """A number of steps, the length in it, the call that divides that, and the launch which leaves it so."""

    function: Function
    steps: ast.expr
    length: ast.Call
    prepared: ast.Call
    launched: Place | None


def multiplied(model: Model, function: Function) -> Iterator[Multiplied]:
    """The prepared schedules of a function whose steps are those of all ranks, once for each process.

    ConsisID 60429e4 train.py:730. Where the number of steps may be an option, there is a launch that leaves it out and
    asks for a schedule with an end.
    """
    given = prepared(model, function)
    for node in own_nodes(function, ast.Assign):
        match node:
            case ast.Assign(targets=[target], value=ast.Call() as made) if (
                ast.unparse(target) in given
            ):
                steps = next((k.value for k in made.keywords if k.arg == _TOTAL), None)
                path = _factor(steps) if steps is not None else ""
                length = _length(function, path, node.lineno, given) if path else None
                if steps is None or length is None:
                    continue
                optional = _stands_for_none(function, path, node.lineno)
                option = path.rpartition(".")[2] if optional else ""
                launched = _launch(model, function, option, _schedule(made))
                if launched is not None or not (optional or _schedule(made)):
                    call = given[ast.unparse(length.args[0])]
                    place = launched.place if launched is not None else None
                    yield Multiplied(function, steps, length, call, place)


def _factor(steps: ast.expr) -> str:
    """What is multiplied by the number of processes: `args.max_train_steps * accelerator.num_processes`."""
    match steps:
        case ast.BinOp(op=ast.Mult(), left=left, right=right):
            for number, processes in ((left, right), (right, left)):
                if last_name(processes) == "num_processes" and dotted_name(number):
                    return dotted_name(number)
    return ""


def _length(
    function: Function, path: str, before: int, loaders: dict[str, ast.Call], depth: int = _DEPTH
) -> ast.Call | None:
    """The length of a loader that is not prepared yet in what a variable is made of; None where a number of ranks is in
    it, too, and where it may be made of something else."""
    found: list[ast.Call] = []
    for value in _written(function, path, before):
        own = None
        for part in walk(value, ast.Call, ast.Name, ast.Attribute):
            match part:
                case ast.Call(func=ast.Name(id="len"), args=[loader]) if (
                    call := loaders.get(ast.unparse(loader))
                ) is not None:
                    own = part if part.lineno < call.lineno else None
                case ast.Name() | ast.Attribute() if counts_processes(last_name(part)):
                    return None
                case ast.Name() | ast.Attribute() if depth and dotted_name(part) != path:
                    name = dotted_name(part)
                    if name and _written(function, name, value.lineno):
                        inner = _length(function, name, value.lineno, loaders, depth - 1)
                        own = own or inner
        if own is None:
            return None
        found.append(own)
    return found[0] if found else None


def _written(function: Function, path: str, before: int) -> list[ast.expr]:
    return [
        node.value
        for node in own_nodes(function, ast.Assign)
        if node.lineno < before and any(dotted_name(target) == path for target in node.targets)
    ]


def _stands_for_none(function: Function, path: str, before: int) -> bool:
    """Whether a number is made only where an option does not give it: `if args.max_train_steps is None:`."""
    return any(
        node.lineno < before and any(dotted_name(p) == path for p in walk(node.test, ast.Attribute))
        for node in own_nodes(function, ast.If)
    )


def _schedule(made: ast.Call) -> ast.expr | None:
    """What names the kind of a schedule; None where the function that is called is of one kind."""
    if last_name(made.func) != "get_scheduler":
        return None
    named = [k.value for k in made.keywords if k.arg == "name"]
    return next(iter([*named, *made.args[:1]]), None)


def _launch(model: Model, function: Function, option: str, kind: ast.expr | None) -> Launch | None:
    """A launch of several processes of this script that leaves an option out, and whose schedule ends."""
    for _, launch in model.launch.starting(function.module.path):
        number = launch.number(*_PROCESSES)
        alone = number is not None and number[0] == 1
        left = launch.complete and not alone and option not in launch.arguments
        if left and (kind is None or _ends(model, launch, kind)):
            return launch
    return None


def _ends(model: Model, launch: Launch, kind: ast.expr) -> bool:
    """Whether a launch asks for a schedule that is made for a number of steps."""
    match kind:
        case ast.Constant(value=str(name)):
            return name not in _ENDLESS
        case ast.Attribute(attr=option):
            given = launch.arguments.get(option)
            if given is not None:
                return given.sure and given.value is not None and given.value not in _ENDLESS
            defaults = option_defaults(model.program, option)
            return bool(defaults) and _ENDLESS.isdisjoint(defaults)
    return False
