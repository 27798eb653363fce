"""Branches that only runs of one process take: where an option leads there, nothing makes the process group."""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import (
    Class,
    Function,
    asks_for_start,
    dotted_name,
    last_name,
)
from distlint.analysis.program.environment import evaluated_here, own_statements
from distlint.analysis.program.handed import argument_of, namings
from distlint.analysis.program.linked import imported_below, importers
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.options import Option, options_of
from distlint.analysis.program.places import innermost_at
from distlint.analysis.program.syntax import (
    assignments,
    comes_out,
    default_of,
    ends_process,
    literals,
    own_nodes,
)
from distlint.analysis.questions.dispatched import is_of_other_command
from distlint.analysis.questions.entry_points import (
    is_start,
    lacks_rank,
    leads_to,
    led_to,
    scripts_above,
)
from distlint.knowledge.ranks import ARGUMENT_NAMES
from distlint.nodes import walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.program.program import Program

_MAX_CALLERS: Final = 5
_MANY: Final = 8
_OF_LAUNCH: Final = pattern(
    r"dist|ddp|fsdp|deepspeed|parallel|multi|launch|rank|world|gpus?\b", re.IGNORECASE
)
"""Names of variables that say how a program is launched, wherever they are handed."""
_CHANGES: Final = pattern(r"init|avail|first|last|done|start", re.IGNORECASE)
"""Names of what comes out otherwise in the course of a run: `if not self.initialized:`."""
_SAME: Final = {ast.Eq: True, ast.NotEq: False, ast.Is: True, ast.IsNot: False}
_ORDERED: Final[Mapping[type, tuple[str, bool]]] = {
    ast.Gt: (">", True),
    ast.LtE: (">", False),
    ast.Lt: ("<", True),
    ast.GtE: ("<", False),
}

_NEEDS_GROUP: Final = pattern(r"\b(?:DDP|DistributedDataParallel|FSDP|FullyShardedDataParallel)\(")
"""What raises an error without a process group."""
_MAY_GIVE_NONE: Final = frozenset({"get", "getattr", "getenv", "pop"})
"""What looks a setting up that need not be there."""
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

Facts = dict[Hashable, bool]
"""What holds at a place: conditions, by what they ask."""


def is_without_group(
    program: Program, module: Module, line: int, entries: Iterable[Module]
) -> bool:
    """Whether a line runs only where an option keeps the entry points that lead to it from making a process group.

    satlas cmd/model/train.py:336 is the `else` of `if is_distributed:`, under which the group is made. LongVA
    text_extend/eval_text_ppl.py:165 writes with `--save-tokenized` and returns, above `Accelerator()`.
    """
    function = innermost_at(module, line)
    makers = [(entry, *maker) for entry in entries for maker in makers_of(program, entry)]
    if not makers:
        return False
    if is_of_other_command(program, function, [(made, node) for _, made, node in makers], entries):
        return True
    known = _known_at(program, function, line, _MAX_CALLERS)
    return bool(known) and all(
        _is_excluded(program, entry, maker, node.lineno, known, _MAX_CALLERS)
        for entry, maker, node in makers
    )


def is_beside_ranks(program: Program, entries: Iterable[Module]) -> bool:
    """Whether entry points lead to DDP and make no process group for it, and a script beside them does: they are of one process.

    ReMD 4564fde main.py: trainers/base.py:65 wraps where a setting says so, and main_ddp.py:13 makes the group.
    """
    return all(
        not makers_of(program, entry)
        and any(
            _NEEDS_GROUP.search(below.source.text)
            and any(
                each is not entry and each.is_script and makers_in(program, each)
                for each in importers(program, below)
            )
            for below in imported_below(program, entry) - {entry}
        )
        for entry in entries
    )


def leaves_group_out(program: Program, script: Module, line: int) -> bool:
    """Whether a script makes no process group, though it imports what would make it: it is for one process.

    Nor do those that import it. DAMAE-GPU 48a26ad main_pretrain.py:136: without `misc.init_distributed_mode(args)`, which
    distributed_train.py beside it calls. Several such processes, as the pages of the project that it was made from start
    them, and its submitit_pretrain.py, are a training each.
    """
    return (
        script.is_script
        and any(
            "init_process_group(" in each.source.text for each in imported_below(program, script)
        )
        and not any(
            isinstance(meaning, Function | Class) or not str(meaning).startswith("submitit.")
            for entry in {script, *scripts_above(program, script, line)}
            for function, call in makers_of(program, entry)
            for meaning in (program.resolve_dotted(function.module, dotted_name(call.func)),)
        )
    )


def never_in_one_run(program: Program, one: tuple[Module, int], other: tuple[Module, int]) -> bool:
    """Whether an option leads to one of two lines alone, by what holds there and around all calls that lead there.

    Large-Time-Series-Model 1ff8d1a run.py:136 makes `Exp_Imputation` under `args.task_name == "imputation"`, and the loader
    has a sampler under `"forecast"`. What tells one rank from another chooses no run.
    """
    here, there = (
        {key: holds for key, holds in _chosen_at(program, *place).items() if not _is_rank(key)}
        for place in (one, other)
    )
    return any(_denies(here, key, holds) for key, holds in there.items())


def _chosen_at(program: Program, module: Module, line: int) -> Facts:
    function = innermost_at(module, line)
    known = _known_at(program, function, line, _MAX_CALLERS)
    cls = function.cls
    if cls is None or cls.node.decorator_list:
        return known
    made = [
        set(_known_at(program, user, node.lineno, _MAX_CALLERS - 1).items())
        for each in program.modules.values()
        if cls.name in each.source.text
        for user in each.all_functions
        if user.cls is not cls
        for node in own_nodes(user, ast.Name, ast.Attribute)
        if last_name(node) == cls.name
    ]
    return {**known, **dict(set.intersection(*made))} if made else known


def _is_rank(key: Hashable) -> bool:
    name = key[1] if isinstance(key, tuple) else key
    return "rank" in str(name).lower()


def _denies(known: Facts, key: Hashable, holds: bool) -> bool:
    """Whether a condition does not come out so by what is known."""
    if key in known:
        return known[key] is not holds
    match key:
        case ("==", option, value) if holds:
            return any(
                isinstance(each, tuple)
                and each[:2] == ("==", option)
                and each[2] != value
                and is_so
                for each, is_so in known.items()
            )
    return False


def options_asked(
    program: Program, entry: Module, module: Module, line: int
) -> tuple[tuple[str, Hashable], ...]:
    """The options that the command line of an entry point has to give where a line of a file runs, by name and value.

    The value is None where it is enough that an option is set; those that its default sets are none of them.
    """
    known = _known_at(program, innermost_at(module, line), line, _MAX_CALLERS)
    return tuple(
        (name, value)
        for key, holds in known.items()
        if holds
        for name, value in _of_fact(key)
        if _is_left_to_command(program, entry, name, value)
    )


def _of_fact(key: Hashable) -> Iterator[tuple[str, Hashable]]:
    match key:
        case str(name):
            yield name, None
        case ("==", str(name), value):
            yield name, value


@remembered
def _is_left_to_command(program: Program, entry: Module, name: str, value: Hashable) -> bool:
    """Whether an entry point declares an option, and its default is something else than is asked for."""
    found = [
        option
        for below in imported_below(program, entry)
        for option in options_of(below)
        if option.name == name and not option.is_positional
    ]
    return bool(found) and not any(_is_default(option, value) for option in found)


def _is_default(option: Option, value: Hashable) -> bool:
    """Whether an option has a value, or is set, where the command line does not say; where that is open, too."""
    match option.default:
        case ast.Constant(value=default):
            return bool(default) if value is None else default == value
        case None:
            action = option.given.get("action")
            return isinstance(action, ast.Constant) and action.value == "store_false"
    return True


def is_never_led_to(program: Program, entry: Module, module: Module, line: int) -> bool:
    """Whether an entry point does not come to a line of a function for what its calls pass.

    yolov9 5b1ea9a val.py:313 is below `if not training:`, and train.py gives the function a model: `training = model is
    not None`. As svoice svoice/separate.py:88, `if not model:`.
    """
    function = innermost_at(module, line)
    if function.is_module_body:
        return False
    if namings(program, function.name).others:
        return False
    callers = _callers(program, entry, function)
    given = frozenset(
        name
        for name in function.parameters
        if isinstance(default := default_of(function, name), ast.Constant)
        and default.value is None
        and all(_is_given(user, call, function, name) for user, call in callers)
    )
    return (
        bool(callers)
        and bool(given)
        and any(
            _holds(function, test, given) is (not taken)
            for test, taken in _conditions(function, line)
        )
    )


def _is_given(user: Function, call: ast.Call, function: Function, name: str) -> bool:
    """Whether a call passes something that is made for a parameter whose default is None, and not what may be None itself.

    PixArt-alpha cac2fd3 train_scripts/train.py:226: `init_random_seed(config.get("seed", None))`, as in mmcv's scripts.
    """
    match argument_of(call, function, name):
        case None | ast.Constant():
            return False
        case ast.Call(func=func) if last_name(func) in _MAY_GIVE_NONE:
            return False
        case ast.Attribute(value=ast.Name(id=settings)) if settings in ARGUMENT_NAMES:
            return False
        case ast.Name(id=handed) if handed in user.parameters:
            return default_of(user, handed) is None
    return True


def _holds(function: Function, test: ast.expr, given: frozenset[str]) -> bool | None:
    """How a condition comes out where parameters are `given`; None where that is open."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _holds(function, operand, given)
            return None if inner is None else not inner
        case ast.Compare(
            left=ast.Name(id=name), ops=[op], comparators=[ast.Constant(value=None)]
        ) if name in given:
            return not _SAME[type(op)] if type(op) in _SAME else None
        case ast.Name(id=name):
            above = (v for v in assignments(function).get(name, ()) if v.lineno < test.lineno)
            match [*above]:
                case []:
                    return True if name in given else None
                case [ast.UnaryOp() | ast.Compare() as value]:
                    return _holds(function, value, given)
    return None


@remembered
def makers_of(program: Program, entry: Module) -> tuple[tuple[Function, ast.Call], ...]:
    """The calls that make the process group in what an entry point leads to, each with its function."""
    parts: dict[Module, list[ast.AST]] = {}
    for module, part in led_to(program, entry):
        if makers_in(program, module):
            parts.setdefault(module, []).append(part)
    found: list[tuple[Function, ast.Call]] = []
    for module, led in parts.items():
        nodes = {node for part in led for node in walk(part)}
        found += (maker for maker in makers_in(program, module) if maker[1] in nodes)
    return tuple(found)


@remembered
def makers_in(program: Program, module: Module) -> tuple[tuple[Function, ast.Call], ...]:
    """The calls of a file that make the process group, each with its function."""
    return tuple(
        (function, node)
        for function in module.all_functions
        for node in own_nodes(function, ast.Call)
        if is_start(program, module, node.func) and not lacks_rank(module, node)
    )


def always_in_group(program: Program, module: Module, line: int) -> bool:
    """Whether all entry points that lead to a line make the process group, under no condition.

    dope_selfsup 65e7914 scripts/train_ddp.py:225 is the only script that makes the model which
    dope_selfsup/models/contrastive/dope.py:69 wraps `if dist.is_initialized()`.
    """
    entries = scripts_above(program, module, line)
    return bool(entries) and all(
        any(
            _surely_runs(program, entry, function, node, _MAX_CALLERS)
            for function, node in makers_of(program, entry)
        )
        for entry in entries
    )


def _surely_runs(
    program: Program, entry: Module, function: Function, node: ast.AST, depth: int
) -> bool:
    """Whether a run from an entry point comes to a node, under no condition but that the file is started."""
    around = next(
        (
            above
            for statement, above in own_statements(function.body)
            if any(part is node for part in evaluated_here(statement))
        ),
        None,
    )
    if around is None or any(
        not isinstance(each, ast.With)
        and not (function.is_module_body and isinstance(each, ast.If) and asks_for_start(each))
        for each in around
    ):
        return False
    if function.is_module_body:
        return function.module is entry
    return depth > 0 and any(
        _surely_runs(program, entry, user, call, depth - 1)
        for user, call in _callers(program, entry, function)
    )


def _is_excluded(
    program: Program, entry: Module, function: Function, line: int, known: Facts, depth: int
) -> bool:
    """Whether a run from an entry point with what is `known` does not come to a line of a function."""
    if not _comes_to(function.body, line, known):
        return True
    if depth == 0 or function.is_module_body or namings(program, function.name).others:
        return False
    callers = _callers(program, entry, function)
    return 0 < len(callers) <= _MANY and all(
        _is_excluded(program, entry, user, call.lineno, known, depth - 1) for user, call in callers
    )


@remembered
def _callers(
    program: Program, entry: Module, function: Function
) -> tuple[tuple[Function, ast.Call], ...]:
    """The calls by the name of a function in what an entry point leads to; of a method, of whatever object."""
    return tuple(
        (user, call)
        for user, call in namings(program, function.name).calls
        if user is not function
        and (function.cls is not None or _is_of(program, user.module, call.func, function))
        and leads_to(program, entry, user.module, call.lineno)
    )


def _is_of(program: Program, module: Module, func: ast.expr, function: Function) -> bool:
    """Whether an expression may be a function: not `subprocess.run`, nor the method `session.run`."""
    meaning = program.resolve_dotted(module, dotted_name(func))
    return meaning is function or (meaning is None and isinstance(func, ast.Name))


def _comes_to(block: list[ast.stmt], line: int, known: Facts) -> bool:
    """Whether a run with what is `known` may come to a line below the beginning of a block."""
    for statement in block:
        if statement.lineno > line:
            break
        if not _holds_line(statement, line):
            if _leaves([statement], known):
                return False
            continue
        for name in ("body", "orelse", "finalbody"):
            inner: list[ast.stmt] = getattr(statement, name, [])
            if isinstance(inner, list) and any(_holds_line(each, line) for each in inner):
                if isinstance(statement, ast.If) and _comes_out(statement.test, known) is (
                    name == "orelse"
                ):
                    return False
                return _comes_to(inner, line, known)
    return True


def _holds_line(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _known_at(program: Program, function: Function, line: int, depth: int) -> Facts:
    """What holds wherever a line of a function runs, by the conditions around it and around the calls of the function."""
    known: Facts = {}
    calls, others = namings(program, function.name)
    if depth and not (function.is_module_body or others) and len(calls) <= _MANY:
        above = [
            _known_at(program, user, call.lineno, depth - 1)
            for user, call in calls
            if user is not function
        ]
        shared = set.intersection(*(set(each.items()) for each in above)) if above else set()
        known.update(shared)
    for test, taken in _conditions(function, line):
        for part, holds in literals(test, taken):
            asked = _asked(part, holds)
            if asked is not None:
                known[asked[0]] = asked[1]
    return known


@remembered
def _conditions(function: Function, line: int) -> tuple[tuple[ast.expr, bool], ...]:
    """The conditions under which a line of a function runs: around it, and of what returns above."""
    return tuple(_on_the_way(function.body, line))


def _on_the_way(block: list[ast.stmt], line: int) -> Iterator[tuple[ast.expr, bool]]:
    for statement in block:
        if statement.lineno > line:
            return
        here = _holds_line(statement, line)
        if isinstance(statement, ast.Assert) and not here:
            yield statement.test, True
        if isinstance(statement, ast.If):
            if not here:
                if _leaves(statement.body, {}):
                    yield statement.test, False
                elif _leaves(statement.orelse, {}):
                    yield statement.test, True
            elif statement.body[0].lineno <= line:
                yield statement.test, any(_holds_line(each, line) for each in statement.body)
        if here and not isinstance(statement, _DEFINITIONS):
            for name in ("body", "orelse", "finalbody"):
                yield from _on_the_way(getattr(statement, name, []), line)


def _leaves(block: list[ast.stmt], known: Facts) -> bool:
    """Whether a run with what is `known` ends its function, or the process, in a block."""
    for statement in block:
        match statement:
            case ast.Return() | ast.Raise():
                return True
            case ast.Expr(value=ast.Call(func=func)) if ends_process(func):
                return True
            case ast.If(test=test, body=body, orelse=orelse):
                holds = _comes_out(test, known)
                arms = [body, orelse] if holds is None else [body if holds else orelse]
                if all(_leaves(arm, known) for arm in arms):
                    return True
            case ast.With(body=body):
                if _leaves(body, known):
                    return True
    return False


def _comes_out(test: ast.expr, known: Facts) -> bool | None:
    """How a condition comes out by what is known; None where that is open."""
    return comes_out(test, partial(_is_known, known))


def _is_known(known: Facts, test: ast.expr) -> bool | None:
    asked = _asked(test, True)
    if asked is None:
        return None
    key, holds = asked
    if _denies(known, key, True):
        return not holds
    return holds if known.get(key) else None


def _asked(test: ast.expr, holds: bool) -> tuple[Hashable, bool] | None:
    """What a condition asks, the same for both spellings, and whether that holds; None for what a run may change."""
    match test:
        case ast.Name() | ast.Attribute():
            name = _option(test)
            return None if name is None else (name, holds)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            name, value = _option(left), _written(right)
            if name is None or value is None:
                return None
            if type(op) in _SAME:
                same = _SAME[type(op)] is holds
                return (
                    (name, value is same)
                    if isinstance(value, bool)
                    else (("==", name, value), same)
                )
            if type(op) in _ORDERED:
                sign, way = _ORDERED[type(op)]
                return (sign, name, value), way is holds
    return None


def _written(node: ast.expr) -> Hashable:
    """The constant that an expression is; None for anything else."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as number)):
            return -number
    return None


def _option(node: ast.expr) -> str | None:
    """The name of an option or of a variable that says how the program is launched."""
    name = last_name(node) if isinstance(node, ast.Name | ast.Attribute) else ""
    own = isinstance(node, ast.Name) or dotted_name(node) == f"self.{name}"
    if not name or _CHANGES.search(name) or (own and not _OF_LAUNCH.search(name)):
        return None
    return name
