"""Which variables of a module hold what a process is told of itself: functions fill them, once the group is made."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from distlint.analysis.program.definitions import Function, Module, last_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, own_nodes, target_names
from distlint.knowledge.conventions import ANSWERS, NAMED_RANKS
from distlint.knowledge.ranks import ENVIRONMENT
from distlint.knowledge.schema import Kind
from distlint.nodes import walk

_OF_FIRST: Final[dict[str, Kind]] = {"rank": "is_main", "local_rank": "is_local_main"}
"""What a number says that is 0."""
_READS: Final = frozenset({"get", "getenv"})
"""What reads a variable of the environment, beside a subscript."""


@remembered
def rank_globals(module: Module) -> Mapping[str, Kind]:
    """The variables of a file that its functions assign through `global`, of each the one kind of number that it gets.

    UniTok bb8012e utils/dist.py:46: `__rank, __world_size = tdist.get_rank(), tdist.get_world_size()`, which
    `get_rank()` and `is_master()` give the whole program, and `__initialized = True` below. What else such a number is
    given is a constant: 0 in front. An attribute of an object that the module makes for all goes by its path: mttl 3724abf
    mttl/dist_utils.py:34, `ddp_state.ddp_rank = int(os.environ.get("RANK", 0))`.
    """
    held = _objects(module)
    if not held and "global " not in module.source.text:
        return {}
    found: dict[str, set[Kind | None]] = {}
    for function in module.all_functions:
        if function.is_module_body:
            continue
        declared = {*_declared(function), *_attributes_of(held, function)}
        starts = bool(declared) and _makes_group(function)
        for name in sorted(declared):
            for value in assignments(function).get(name, ()):
                match value:
                    case ast.Constant(value=True):
                        surely = starts and name in _set_with_group(function)
                        found.setdefault(name, set()).add("initialized" if surely else None)
                    case ast.Constant():
                        pass
                    case ast.Name() if name.partition(".")[0] in module.classes:
                        found.setdefault(name, set()).add(None)  # `Layer.rank = rank`, of a matrix
                    case _:
                        found.setdefault(name, set()).add(kind_of_answer(value))
    return {
        name: kind
        for name, kinds in found.items()
        if len(kinds) == 1 and (kind := next(iter(kinds))) is not None
    }


@remembered
def _objects(module: Module) -> frozenset[str]:
    """The variables that a module assigns once, at its top, and what a class of its own makes; its classes themselves."""
    classes = {name for name in module.classes if f"{name}." in module.source.text}
    return frozenset(classes) | frozenset(
        name
        for name, values in assignments(module.body).items()
        if len(values) == 1
        and isinstance(values[0], ast.Call)
        and last_name(values[0].func) in module.classes
    )


def _attributes_of(held: frozenset[str], function: Function) -> Iterator[str]:
    """The attributes of such objects that a function assigns, each by its path."""
    for path in assignments(function) if held else ():
        name, _, attribute = path.partition(".")
        if attribute and name in held and name not in function.parameters:
            yield path


def _declared(function: Function) -> Iterator[str]:
    for node in walk(function.node, ast.Global):
        yield from node.names


def _set_with_group(function: Function) -> set[str]:
    """The names that a function assigns where it makes the process group, or under no condition.

    What it does with the group in some launches says another thing: fairseq 0.12.2 fairseq/distributed/utils.py:301,
    `_USE_MEGATRON = True`, below `if cfg.common.model_parallel_size > 1`. mttl 3724abf mttl/dist_utils.py:33 asks for the
    launcher's variables, makes the group below the question, and sets `ddp_state.ddp = True` beside it.
    """
    blocks = [getattr(function.node, "body", [])]
    blocks += [
        block
        for node in own_nodes(function)
        for block in (getattr(node, "body", None), getattr(node, "orelse", None))
        if isinstance(block, list) and any(map(_starts_group, block))
    ]
    return {
        name
        for block in blocks
        for statement in block
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        for name in target_names(target)
    }


def _starts_group(statement: ast.AST) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=called)):
            return last_name(called) == "init_process_group"
    return False


def _makes_group(function: Function) -> bool:
    """Whether a function makes the process group, so that a flag which it sets says that there is one."""
    return any(_starts_group(node) for node in own_nodes(function))


def kind_of_answer(value: ast.expr) -> Kind | None:
    """What a value numbers, or counts: what the group or the launcher answers, here or in the line above."""
    match value:
        case ast.Call(func=ast.Name(id="int"), args=[inner]):
            return kind_of_answer(inner)
        case ast.Call(func=func, args=[ast.Constant(value=str(variable)), *_]) if (
            last_name(func) in _READS
        ):
            return ENVIRONMENT.get(variable)
        case ast.Subscript(value=read, slice=ast.Constant(value=str(variable))) if (
            last_name(read) == "environ"
        ):
            return ENVIRONMENT.get(variable)
        case ast.Call(func=func, args=[], keywords=[]):
            return ANSWERS.get(last_name(func))
        case ast.Name(id=name):
            return NAMED_RANKS.get(name)
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=0)]):
            return _OF_FIRST.get(kind_of_answer(left) or "")
    return None


def kind_by_default(value: ast.expr | None) -> Kind | None:
    """What a field of a dataclass numbers where nobody gives it a value: `field(default_factory=lambda: get_rank())`."""
    match value:
        case ast.Call(func=func, keywords=keywords) if last_name(func) == "field":
            given = {each.arg: each.value for each in keywords}
            made = given.get("default_factory")
            return kind_of_answer(made.body) if isinstance(made, ast.Lambda) else None
        case ast.expr():
            return kind_of_answer(value)
    return None
