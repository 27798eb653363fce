"""Which settings of a script a file asks for as one asks for a rank: `args.rank`, which may be that of a matrix."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from distlint.analysis.program.definitions import Function, Module, dotted_name, last_name
from distlint.analysis.program.environment import Use, accesses
from distlint.analysis.program.memory import all_remembered, remembered
from distlint.analysis.program.options import options_of
from distlint.analysis.program.program import Program
from distlint.analysis.program.rank_globals import kind_of_answer
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.knowledge.facts import argument_attribute
from distlint.knowledge.ranks import (
    AMBIGUOUS_ARGUMENT_ATTRIBUTES,
    ARGUMENT_ATTRIBUTES,
    ARGUMENT_NAMES,
    ENVIRONMENT,
)
from distlint.knowledge.schema import Kind
from distlint.nodes import walk

_ALIKE: Final[dict[Kind, frozenset[str]]] = {
    "rank": frozenset({"rank", "local_rank"}),
    "is_main": frozenset({"is_main", "is_local_main"}),
}
"""What settings are asked for, that of all ranks or that of one machine: which tells rank 0 from the others alike."""
_NO_SIZES: Final = frozenset({-1, 0})
"""What a rank is compared with: no matrix has such a rank."""
_EQUAL: Final = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
_BOUNDS: Final[dict[type[ast.cmpop], int]] = {ast.Gt: 0, ast.LtE: 0, ast.Lt: 1, ast.GtE: 1}
"""Comparisons that part rank 0 from the others; one alone may ask whether there is a matrix at all."""
_TURNED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Gt: ast.Lt, ast.Lt: ast.Gt, ast.GtE: ast.LtE, ast.LtE: ast.GtE,
}  # fmt: skip


@remembered
def rank_settings(module: Module) -> frozenset[str]:
    """The settings that are compared with 0 or -1 in a file, or with both bounds between rank 0 and the others.

    P-tuning-v2 b1520c9 PT-Retrieval/colbert/colbert/training/training.py:41: `args.rank not in [-1, 0]`, 36 lines
    above `args.rank == 0`.
    """
    surely: set[str] = set()
    bounds: dict[str, set[type[ast.cmpop]]] = {}
    text = module.source.text
    if not any(
        f".{a}" in text or f"[{q}{a}{q}]" in text
        for a in AMBIGUOUS_ARGUMENT_ATTRIBUTES
        for q in "'\""
    ):
        return frozenset()
    for name, op, numbers in _comparisons(module):
        if issubclass(op, _EQUAL) and numbers and numbers <= _NO_SIZES:
            surely.add(name)
        elif _BOUNDS.get(op) in numbers:
            bounds.setdefault(name, set()).add(op)
    return frozenset({*surely, *(name for name, ops in bounds.items() if len(ops) > 1)})


def setting(node: ast.expr) -> tuple[str, str] | None:
    """The object and the name of a setting, read as an attribute or, where they are kept in a dict, by its key.

    ParallelWaveGAN 8674037 parallel_wavegan/bin/train.py:349: `self.config["rank"] == 0`, of `vars(args)`; BasicSR's
    `self.opt["rank"]`.
    """
    match node:
        case ast.Attribute(value=owner, attr=name):
            pass
        case ast.Subscript(value=owner, slice=ast.Constant(value=str() as name)):
            pass
        case _:
            return None
    of = dotted_name(owner)
    return (of, name) if of else None


def is_rank_setting(node: ast.expr, module: Module) -> bool:
    """Whether an expression reads a setting that a file asks for as one asks for a rank."""
    name = _ambiguous(node)
    return bool(name) and name in rank_settings(module)


def is_handed_rank(node: ast.expr, program: Program) -> bool:
    """Whether an expression reads the setting that the program hands to `init_process_group` as its rank.

    tubelet-transformer f610c97 pipelines/launch.py:49: `rank=cfg.DDP_CONFIG.GPU_WORLD_RANK`, which names the files that
    utils/video_action_recognition.py writes. Not `args.rank`, which is that of a matrix elsewhere.
    """
    return (
        isinstance(node, ast.Attribute)
        and node.attr in (owners := _handed_ranks(program))
        and last_name(node.value) in owners[node.attr]
    )


@remembered
def _handed_ranks(program: Program) -> Mapping[str, frozenset[str]]:
    """The names of such settings, each with what they are kept in."""
    found: dict[str, set[str]] = {}
    for module in program.modules.values():
        if "init_process_group" not in module.source.text:
            continue
        for node in walk(module.source.tree):
            if not isinstance(node, ast.Call) or last_name(node.func) != "init_process_group":
                continue
            for given in node.keywords:
                match given:
                    case ast.keyword(arg="rank", value=ast.Attribute(value=owner, attr=name)):
                        if _is_of_settings(dotted_name(owner).split("."), name):
                            found.setdefault(name, set()).add(last_name(owner))
    return {name: frozenset(owners) for name, owners in found.items()}


def _is_of_settings(owner: list[str], name: str) -> bool:
    """Whether a name is of a section of the settings, or of the settings themselves and no matrix's."""
    if owner[0] not in ARGUMENT_NAMES:
        return False
    return len(owner) > 1 or name not in AMBIGUOUS_ARGUMENT_ATTRIBUTES


def told_rank(node: ast.expr, program: Program) -> Kind | None:
    """What a setting says of the rank into which the program puts it, or a test of it, whichever launcher tells it.

    PersFormer_3DLane 3ed3109 experiments/ddp.py:40: `args.proc_id = int(os.environ['SLURM_PROCID'])`, in line 26
    `args.local_rank`, and 0 in front of both.
    """
    if isinstance(node, ast.Attribute) and last_name(node.value) in ARGUMENT_NAMES:
        return _told_ranks(program).get(node.attr)
    return None


@remembered
def _told_ranks(program: Program) -> Mapping[str, Kind]:
    """The names of such settings: what else they are given is a constant, as long as no one has asked."""
    found: dict[str, set[str | None]] = {}
    for module in program.modules.values():
        for name, kinds in _told_in(module).items():
            found.setdefault(name, set()).update(kinds)
    # An option of the name may be another program's, and number something else.
    known = {option.name for m in program.modules.values() if found for option in options_of(m)}
    known |= ARGUMENT_ATTRIBUTES.keys() | AMBIGUOUS_ARGUMENT_ATTRIBUTES.keys()
    return {
        name: kind
        for name, kinds in found.items()
        for kind, alike in _ALIKE.items()
        if kinds and kinds <= alike and name not in known
    }


@all_remembered
def _put_into_settings(module: Module) -> Iterator[tuple[Function, str, list[ast.expr]]]:
    """What each function of a file puts into settings, by their names."""
    text = module.source.text
    if any(f"{name}." in text for name in ARGUMENT_NAMES):
        for function in module.all_functions:
            for path, values in assignments(function).items():
                owner, _, name = path.rpartition(".")
                if owner.rpartition(".")[2] in ARGUMENT_NAMES:
                    yield function, name, values


@remembered
def _told_in(module: Module) -> dict[str, set[str | None]]:
    """What a file puts into settings that is no constant, by their names."""
    found: dict[str, set[str | None]] = {}
    for function, name, values in _put_into_settings(module):
        kinds = (_told(v, function) for v in values if not isinstance(v, ast.Constant))
        found.setdefault(name, set()).update(kinds)
    return found


def _told(value: ast.expr, function: Function) -> str | None:
    match value:
        case ast.Attribute():
            return argument_attribute(last_name(value.value), value.attr)
        case ast.Name(id=name) if len(once := assignments(function).get(name, [])) == 1:
            return kind_of_answer(once[0])
    return kind_of_answer(value)


@remembered
def set_for_one_rank(program: Program) -> frozenset[str]:
    """The settings that the program gives no other value than one that holds for one rank as well.

    Of an option, only where the program itself says how many ranks there are: without a launcher too. PersFormer_3DLane
    3ed3109 experiments/ddp.py:76: `args.distributed = int(os.environ['WORLD_SIZE']) >= 1`, which lines 32 and 56 set.
    """
    found: dict[str, bool] = {}
    options = {each.name for module in program.modules.values() for each in options_of(module)}
    for module in program.modules.values():
        for function, name, values in _put_into_settings(module):
            holds = all(map(_holds_for_one, values))
            if holds and _says_how_many(program, function):
                options.discard(name)
            found[name] = found.get(name, True) and holds
    return frozenset(name for name, holds in found.items() if holds) - options


def _says_how_many(program: Program, function: Function) -> bool:
    """Whether a function, or one beside it that it calls, sets the number of ranks in the environment."""
    called = {function.name, *(last_name(node) for node in own_nodes(function, ast.Call))}
    return any(
        each.use is Use.WRITE
        and ENVIRONMENT.get(each.name) == "world_size"
        and each.function is not None
        and each.function.name in called
        for each in accesses(program, function.module)
    )


def _holds_for_one(value: ast.expr) -> bool:
    match value:
        case (
            ast.Compare(left=left, ops=[ast.GtE()], comparators=[ast.Constant(value=1)])
            | ast.Compare(left=left, ops=[ast.Gt()], comparators=[ast.Constant(value=0)])
        ):
            return kind_of_answer(left) == "world_size"
    return False


def is_kept_rank(node: ast.Subscript, program: Program) -> bool:
    """Whether an expression reads the key "rank" of a dict that the program fills with its rank.

    DL-Art-School f31a333 codes/trainer/eval/sr_diffusion_fid.py:53: `self.env["rank"] <= 0`, of the dict that
    codes/trainer/ExtensibleTrainer.py:44 makes.
    """
    match node.slice:
        case ast.Constant(value="rank"):
            return last_name(node.value) in _filled_with_rank(program)
    return False


@remembered
def _filled_with_rank(program: Program) -> frozenset[str]:
    """The last names of what holds a dict, written out, whose key "rank" is what `get_rank()` has given the file."""
    found: set[str] = set()
    for module in program.modules.values():
        text = module.source.text
        if "get_rank()" not in text or not ("'rank'" in text or '"rank"' in text):
            continue
        given = {
            dotted_name(target)
            for node in walk(module.source.tree, ast.Assign)
            if _asks_for_rank(node.value)
            for target in node.targets
        }
        for node in walk(module.source.tree, ast.Assign):
            match node:
                case ast.Assign(targets=[target], value=ast.Dict(keys=keys, values=values)):
                    kept = [
                        value
                        for key, value in zip(keys, values, strict=True)
                        if isinstance(key, ast.Constant) and key.value == "rank"
                    ]
                    if any(_asks_for_rank(v) or (dotted_name(v) or " ") in given for v in kept):
                        found.add(last_name(target))
    return frozenset(found)


def _asks_for_rank(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == "get_rank"


def _ambiguous(node: ast.expr) -> str:
    """The name of a setting that may be a rank, or a size; empty for others."""
    read = setting(node)
    if read is None or read[1] not in AMBIGUOUS_ARGUMENT_ATTRIBUTES:
        return ""
    return ".".join(read) if read[0].rpartition(".")[2] in ARGUMENT_NAMES else ""


def _comparisons(module: Module) -> Iterator[tuple[str, type[ast.cmpop], frozenset[int]]]:
    for function in module.all_functions:
        for node in own_nodes(function, ast.Compare):
            match node:
                case ast.Compare(left=left, ops=[op], comparators=[right]):
                    if name := _ambiguous(left):
                        yield name, type(op), _numbers(right)
                    elif name := _ambiguous(right):
                        yield name, _TURNED.get(type(op), type(op)), _numbers(left)


def _numbers(node: ast.expr) -> frozenset[int]:
    """The whole numbers that are written there, alone or in a list; none where anything else is."""
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return frozenset({number})
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
            return frozenset({-number})
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            found = [_numbers(part) for part in parts]
            return frozenset().union(*found) if all(found) else frozenset()
    return frozenset()
