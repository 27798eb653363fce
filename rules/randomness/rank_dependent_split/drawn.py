"""Seeds of distributed samplers that every process draws for itself, from a stream that nothing has seeded."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Function, dotted_name, last_name
from distlint.analysis.program.handed import argument_of, callers_by_name
from distlint.analysis.program.syntax import assignments, mentions_rank, own_nodes
from distlint.analysis.questions.seeding import seeds
from distlint.knowledge import randomness
from distlint.nodes import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Module

_STREAMS: Final = ("python", "numpy")
"""Generators that begin in each process with what the system gives them; torch's begins with a constant."""
_SYSTEM: Final = ("secrets.", "os.urandom", "random.SystemRandom", "time.time")
_STARTS: Final = ("spawn", "Process", "start_processes", "launch", "notebook_launcher")
"""What starts the ranks: what was drawn before in that process is handed to all of them."""
_SHARES: Final = ("broadcast", "gather", "share", "sync", "reduce", "scatter", "environ")
_DEPTH: Final = 3


def drawn_seed(model: Model, function: Function, seed: ast.expr) -> tuple[Module, ast.Call] | None:
    """Where every process draws the seed that a sampler is given; None where the ranks agree, or may.

    imaginaire c6f7484 train.py:54: `args.seed = random.randint(0, 10000)`, which goes into `DistributedSampler(seed=…)`.
    """
    return next(_drawn(model, function, seed, _DEPTH), None)


def _drawn(
    model: Model, function: Function, seed: ast.expr, depth: int
) -> Iterator[tuple[Module, ast.Call]]:
    name = _path(seed)
    if name.startswith("self.") and function.cls is not None and function.name != "__init__":
        # oat c1a074c oat/utils/deepspeed.py:52: `args.seed = time.time_ns() % 2**32`, and the strategy keeps it.
        init = model.program.find_method(function.cls, "__init__") if depth else None
        if init is not None:
            for value in assignments(init).get(name, ()):
                yield from _drawn(model, init, value, depth - 1)
        return
    given = [v for v in assignments(function).get(name, ()) if v.lineno < seed.lineno]
    for value in given or [seed]:
        for call in walk(value, ast.Call):
            if _is_own(model, function, call, name):
                yield function.module, call
    root = name.partition(".")[0]
    if given or not depth or root not in function.parameters:
        return
    for user, call in callers_by_name(model.program, function):
        argument = argument_of(call, function, root)
        if argument is not None and _path(argument):
            handed = ast.parse(_path(argument) + name[len(root) :], mode="eval").body
            yield from _drawn(model, user, ast.copy_location(handed, call), depth - 1)


def _path(node: ast.expr) -> str:
    """The variable or attribute that an expression reads, also by `getattr(args, "seed", 42)`; "" for others."""
    match node:
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(name)), *_]):
            return f"{_path(owner)}.{name}" if _path(owner) else ""
    return dotted_name(node)


def _is_own(model: Model, function: Function, draw: ast.Call, name: str) -> bool:
    """Whether a call draws in each process, from what nothing has seeded, and nobody sends the number around."""
    meaning = model.resolve(function.module, draw.func)
    if not isinstance(meaning, str):
        return False
    row = randomness.DRAWS.get(meaning)
    if not meaning.startswith(_SYSTEM) and (row is None or row.stream not in _STREAMS):
        return False
    called = own_nodes(function, ast.Call)
    return (
        not (row is not None and _seeded_before(model, function, draw, row.stream))
        and not any(last_name(call.func) in _STARTS for call in called)
        and not any(_is_shared(call, name) for call in called)
        and not _of_some_rank(function, draw)
    )


def _seeded_before(model: Model, function: Function, draw: ast.Call, stream: str) -> bool:
    """Whether something may have seeded the stream: above in the function, at the top of its file, or in a caller."""
    before = {user for user, _ in callers_by_name(model.program, function)}
    before.add(function.module.body)
    for module in {each.module for each in before} | {function.module}:
        for seed in seeds(model, module):
            where = seed.site.function
            above = where is function and seed.site.node.lineno < draw.lineno
            if stream in seed.streams and (above or where in before - {function}):
                return True
    return False


def _is_shared(call: ast.Call, name: str) -> bool:
    """Whether a call sends a value to the other ranks, or puts it where they find it."""
    said = ast.unparse(call.func).lower()
    last = name.rpartition(".")[2]
    return any(word in said for word in _SHARES) and any(
        isinstance(node, ast.Name | ast.Attribute) and last_name(node) == last
        for given in (*call.args, *(keyword.value for keyword in call.keywords))
        for node in walk(given)
    )


def _of_some_rank(function: Function, draw: ast.Call) -> bool:
    """Whether a test of the rank stands around a draw: what becomes of it then, the analysis does not follow."""
    return any(
        mentions_rank(node.test) and any(part is draw for part in walk(node))
        for node in own_nodes(function, ast.If)
    )
