"""Parts of the data that a rank takes by its place on the machine, out of as many as there are ranks, or the reverse."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from distlint.analysis.interpreter.values import Value
from distlint.analysis.program.definitions import Function
from distlint.analysis.program.linked import linked
from distlint.analysis.program.memory import all_remembered
from distlint.analysis.program.syntax import own_nodes, target_names
from distlint.analysis.questions.entered import is_made_nowhere, is_named_nowhere
from distlint.analysis.questions.launched import on_one_machine, refuses_machines
from distlint.knowledge.ranks import DEALT_TO
from distlint.nodes import walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.interpreter.ranks import RankClass
    from distlint.analysis.interpreter.values import Origin
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Class, Module

_PLACES: Final = {"kind:local_rank": "kind:world_size", "kind:rank": "kind:local_world_size"}
"""What counts a rank, with the number of ranks that does not belong to it."""
_SIZES: Final = frozenset(_PLACES.values())
_RANK_NAMES: Final = ("rank", "_rank")
_SIZE_NAMES: Final = ("world_size", "_world_size")


class _Dealt(NamedTuple):
    """A call that gives a rank its part: where its place and the number of parts are given."""

    place: tuple[int | None, str]
    size: tuple[int | None, str]


_CALLS: Final[dict[str, _Dealt]] = {
    "torch.utils.data.DistributedSampler": _Dealt((2, "rank"), (1, "num_replicas")),
    "datasets.distributed.split_dataset_by_node": _Dealt((1, "rank"), (2, "world_size")),
    "shard": _Dealt((1, "index"), (0, "num_shards")),
}
"""Python 3.11; torch 2.13.0 torch/utils/data/distributed.py:77; datasets 4.4 distributed.py:15, arrow_dataset.py: `shard`."""
_COUNTED_ITSELF: Final = frozenset({"torch.utils.data.DistributedSampler"})
"""Calls that ask the process group for the number of parts where nobody gives it."""
_ALL: Final = Value(("world_size",), tags=frozenset({"world_size", "kind:world_size"}))
_FILLED_IN: Final = pattern(r"--local[-_]rank\b|\blocal_rank[\"']?\s*(?::|=(?!=))")
"""What gives options their local rank: a parser, a field, an assignment."""
_KEYWORDS: Final = (
    ("shard_id", "num_shards"),
    ("cur_shard", "shard_count"),
    ("rank", "num_replicas"),
)
"""What libraries call the two: DALI's readers, petastorm, samplers."""


@dataclass(frozen=True, slots=True)
class Mixed:
    """A place where a rank takes its part; `place` is the number that it goes by."""

    function: Function
    node: ast.AST
    place: Origin
    local: bool
    """Whether the rank is the one of the machine and the number of parts that of all ranks."""


@all_remembered
def mixed_parts(model: Model, module: Module) -> Iterator[Mixed]:
    """Each part that a rank takes by a number which does not go with the number of parts."""
    if on_one_machine(model, module):
        return
    seen: set[ast.AST] = set()
    for function in module.all_functions:
        runs = model.summaries_of(function)
        if runs is None or refuses_machines(function):
            continue
        if function.cls is not None and is_made_nowhere(model.program, function.cls):
            continue
        for rank, run in runs.summaries():
            pairs = [
                (cut.node, cut.place, cut.counted)
                for cut in run.cuts.values()
                if not _goes_through_all(function, cut.asked)
            ]
            pairs += [(site.node, *given) for site in run.calls for given in _given(site)]
            for node, place, counted in pairs:
                if node not in seen and _mixed(rank, place, counted):
                    assert place.origin is not None
                    seen.add(node)
                    # On two machines no launch gets to the parts: the group waits for ranks that nobody is
                    # (alpaca_farm 30717dd src/alpaca_farm/distributed_utils.py:34, MONAI tutorials b3c6c99
                    # generation/2d_ldm/utils.py:155, to which the script hands what it has handed to the setup).
                    if (
                        id(place.origin.node) in model.answer(_ranks_of_groups)
                        or _is_raised(model, module, place.origin)
                        or _is_given_by_nobody(model, function, place.origin)
                    ):
                        continue
                    yield Mixed(function, node, place.origin, "kind:local_rank" in place.tags)


def _goes_through_all(function: Function, asked: ast.expr) -> bool:
    """Whether a number is that of a loop: what each of the ranks has, one after the other.

    LoRA c4593f0 examples/NLU/src/transformers/trainer_pt_utils.py:391: `for i in range(self.world_size)`.
    """
    names = {node.id for node in walk(asked, ast.Name)}
    return any(
        not names.isdisjoint(target_names(loop.target))
        for loop in own_nodes(function, ast.For, ast.comprehension)
    )


def _given(site: CallSite) -> Iterator[tuple[Value, Value]]:
    """The place and the number of parts that a call is given."""
    row = _CALLS.get(site.name) or _CALLS.get(site.method)
    pairs = [row] if row is not None else []
    if site.keywords and site.callee is None:
        pairs += [
            _Dealt((None, place), (None, size))
            for place, size in _KEYWORDS
            if place in site.keywords
        ]
    for pair in pairs:
        place, counted = site.argument(*pair.place), site.argument(*pair.size)
        if counted is None and site.name in _COUNTED_ITSELF:
            counted = _ALL
        if place is not None and counted is not None:
            yield place, counted
            return


def _mixed(rank: RankClass, place: Value, counted: Value) -> bool:
    """Whether a rank is counted in another way than those that it is one of."""
    kinds = {tag for tag in place.tags if tag.startswith("kind:")}
    if place is counted:  # `names[rank * size : …]`: the size is made of the number of ranks
        return (
            not _is_by_name(place)
            and _is_multiple(place)
            and any(kinds == {own, other} for own, other in _PLACES.items())
        )
    sizes = counted.tags & _SIZES
    return len(kinds) == 1 and sizes == {_PLACES.get(next(iter(kinds)))} and _is_asked(rank, place)


def _is_asked(rank: RankClass, place: Value) -> bool:
    """Whether a value is the rank itself, which something else than its name says, and not made of it."""
    if _is_by_name(place):
        return False
    if not place.known:
        return not isinstance(place.key, tuple) or place.key[0] != "binary"
    kind = "local_rank" if "kind:local_rank" in place.tags else "rank"
    return str(place.const) == str(rank.fact(kind))


def _is_by_name(place: Value) -> bool:
    """Whether a value is a rank by its name only, as a parameter is.

    BAGEL 056b5fd data/distributed_iterable_dataset.py:38: `local_rank`, for which the only caller gives
    `dist.get_rank()`.
    """
    return place.origin is None or isinstance(place.origin.node, ast.Name | ast.arg)


def _ranks_of_groups(live: LiveProgram) -> frozenset[int]:
    """Where the numbers are asked for that process groups of the program are given for a rank, by the `id` of the node."""
    given = (
        site.argument(4, "rank")
        for call in live.calls("torch.distributed.init_process_group")
        for _, site in call.sites
    )
    return frozenset(
        id(rank.origin.node) for rank in given if rank is not None and rank.origin is not None
    )


def _is_raised(model: Model, module: Module, origin: Origin) -> bool:
    """Whether the attribute that the rank is read from is raised by the ranks of the machines before.

    CodeGen e3e8855 CodeXGLUE/Text-Code/text-to-code/code/run.py:549: `args.local_rank += args.node_index * args.gpu_per_node`.
    """
    if not isinstance(origin.node, ast.Attribute):
        return False
    name = origin.node.attr
    for each in linked(model.program, module):
        for node in walk(each.source.tree) if name in each.source.text else ():
            match node:
                case ast.AugAssign(
                    target=ast.Attribute(attr=raised), op=ast.Add(), value=ast.BinOp(op=ast.Mult())
                ) if raised == name:
                    return True
    return False


def _is_given_by_nobody(model: Model, function: Function, origin: Origin) -> bool:
    """Whether a function that nobody names reads its rank from options that no file around fills in: no launch comes to it.

    ClearerVoice-Studio 6b3774d clearvoice/clearvoice/dataloader/dataloader.py:557: `args.local_rank`, in a package for inference
    to which the loader of train/ was copied.
    """
    match origin.node:
        case ast.Attribute(value=ast.Name(id=owner), attr="local_rank") if (
            owner in function.parameters
        ):
            return is_named_nowhere(model.program, function) and not any(
                _FILLED_IN.search(each.source.text)
                for each in linked(model.program, function.module)
            )
    return False


def _is_multiple(place: Value) -> bool:
    """Whether a value is the rank times something."""
    match place.key:
        case ("binary", "Mult", (str() as left, *_), (str() as right, *_)):
            return "constant" in (left, right)
    return False


def mixed_pairs(model: Model, module: Module) -> Iterator[Mixed]:
    """The classes whose objects tell a library both numbers, by which it deals the work out."""
    for cls in module.all_classes if not on_one_machine(model, module) else ():
        init = cls.methods.get("__init__")
        runs = model.summaries_of(init) if init is not None else None
        if init is None or runs is None or not _is_dealt_to(model, cls):
            continue
        for rank, run in runs.summaries():
            place, size = (
                next((run.self_attributes[n] for n in names if n in run.self_attributes), None)
                for names in (_RANK_NAMES, _SIZE_NAMES)
            )
            if place is not None and size is not None and _mixed(rank, place, size):
                assert place.origin is not None
                yield Mixed(init, place.origin.node, place.origin, local=True)
                break


def _is_dealt_to(model: Model, cls: Class) -> bool:
    """Whether a class is of a library, or of a copy of it, that deals work out by `rank` and `world_size`."""
    own, outside = model.program.mro(cls)
    names = {*outside, *(each.full_name for each in own if each is not cls)}
    return any(f".{name}".endswith(f".{base}") for name in names for base in DEALT_TO)
