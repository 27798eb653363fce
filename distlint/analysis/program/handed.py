"""Attributes that hold a test of the rank because the program hands one to the constructor.

`Tracker(quiet=rank != 0)`, and `self.quiet = quiet` in its `__init__`; the test may go through the parameters
of functions and methods, which are told apart by name alone (`config.tracker.create(quiet=quiet)`).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from distlint.analysis.program.definitions import Class, Function, Module, dotted_name, last_name
from distlint.analysis.program.memory import all_remembered, remembered
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import (
    assignments,
    default_of,
    literals,
    mentions_rank,
    own_nodes,
)
from distlint.nodes import walk
from distlint.patterns import pattern

_MAX_CALLERS: Final = 4
_CLEARS: Final = pattern(r" = (?<=[\])\w] = )[^\n]*(?:rank|main|master)[^\n]* and ")
"""An assignment of a test of the rank together with something else; what begins with plain text is found faster."""
_TURNED_OFF: Final = pattern(r"rank (?:!=|>) 0:\s+\w+\.\w+ = False")


def asks_rank_test(program: Program, cls: Class, test: ast.expr) -> bool:
    """Whether a condition asks an attribute that holds a test of the rank: `if self.quiet: return`."""
    return any(_holds_rank_test(program, cls, attr) for attr in _flags(test))


def asks_cleared_setting(program: Program, test: ast.expr) -> bool:
    """Whether a condition asks a setting that the program clears on all ranks but one: `if params.log_to_wandb:`.

    multiple_physics_pretraining e751fc2 train_basic.py:536: `params["log_to_wandb"] = (global_rank == 0) and …` in the
    main block, and 402 asks `self.params.log_to_wandb`.
    """
    cleared = _cleared_settings(program)
    return bool(cleared) and any(
        isinstance(each, ast.Attribute | ast.Subscript) and _setting(each) in cleared
        for each, holds in literals(test, True)
        if holds
    )


@remembered
def _cleared_settings(program: Program) -> frozenset[str]:
    """The settings that a test of the rank is put into together with what they were, and nothing else is."""
    found = [_settings_in(module) for module in program.modules.values()]
    return (
        frozenset()
        .union(*(cleared for cleared, _ in found))
        .difference(*(others for _, others in found))
    )


@remembered
def _settings_in(module: Module) -> tuple[frozenset[str], frozenset[str]]:
    """The settings that a file clears on some ranks, and those that it sets otherwise.

    transformer-sequential 9650fc9 distributed.py:22: `if args.rank > 0: args.plot = False`, where the group is made.
    """
    text = module.source.text
    off = {
        id(statement)
        for outer in (walk(module.source.tree, ast.If) if _TURNED_OFF.search(text) else ())
        if _asks_for_others(outer.test)
        for statement in outer.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Constant)
        and statement.value.value is False
    }
    cleared: set[str] = set()
    others: set[str] = set()
    if off or _CLEARS.search(text):
        for node in walk(module.source.tree, ast.Assign):
            names = {_setting(target) for target in node.targets} - {""}
            (cleared if id(node) in off or _clears(node.value) else others).update(names)
    return frozenset(cleared), frozenset(others)


def _asks_for_others(test: ast.expr) -> bool:
    """Whether a condition asks for another rank than the first: `args.rank != 0`, `rank > 0`."""
    match test:
        case ast.Compare(ops=[ast.NotEq() | ast.Gt()], comparators=[ast.Constant(value=0)]):
            return mentions_rank(test)
    return False


def _clears(value: ast.expr) -> bool:
    match value:
        case ast.BoolOp(op=ast.And(), values=parts):
            return any(mentions_rank(part) for part in parts)
    return False


def _setting(node: ast.expr) -> str:
    match node:
        case ast.Attribute(value=ast.Name() | ast.Attribute(), attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str() as name)):
            return name
    return ""


def _flags(test: ast.expr) -> Iterator[str]:
    """The attributes of `self` whose truth a condition asks for."""
    match test:
        case ast.Attribute(value=ast.Name(id="self"), attr=attr):
            yield attr
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _flags(operand)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _flags(value)


@remembered
def _holds_rank_test(program: Program, cls: Class, attr: str) -> bool:
    """Whether somebody who makes an object of a class hands it a test of the rank for an attribute."""
    owners, _ = program.mro(cls)
    return any(
        is_told_rank(program, method, name)
        for owner in owners
        for method in owner.self_assigned.get(attr, ())
        for value in assignments(method).get(f"self.{attr}", ())
        for name in _parameters_in(value, method)
    )


def _parameters_in(node: ast.expr, function: Function) -> list[str]:
    names = {child.id for child in walk(node, ast.Name)}
    return sorted(names.intersection(function.parameters) - {"self"})


@remembered
def is_told_rank(
    program: Program, function: Function, parameter: str, depth: int = _MAX_CALLERS
) -> bool:
    """Whether a call of something of a function's name passes a test of the rank for a parameter.

    Files that say nothing of ranks are not read: of a function that nobody calls in the others, the calls
    count that name the parameter (DALLE2-pytorch's train_configs.py makes the tracker, and
    train_decoder.py:549 says `tracker_config.create(…, dummy_mode=dummy)`).
    """
    callers = callers_by_name(program, function) or _naming(program, parameter)
    return any(
        _is_test(program, argument, user, depth - 1)
        for user, call in callers
        if (argument := argument_of(call, function, parameter)) is not None
    )


@remembered
def always_told_rank(program: Program, function: Function, parameter: str) -> bool:
    """Whether each call of something of a function's name passes a test of the rank for a parameter."""
    callers = callers_by_name(program, function)
    return bool(callers) and all(
        (argument := argument_of(call, function, parameter)) is not None
        and _is_test(program, argument, user, _MAX_CALLERS)
        for user, call in callers
    )


@all_remembered
def _naming(program: Program, parameter: str) -> Iterator[tuple[Function, ast.Call]]:
    for module in program.modules.values():
        yield from _naming_in(module).get(parameter, ())


@remembered
def _naming_in(module: Module) -> dict[str, list[tuple[Function, ast.Call]]]:
    """The calls of a file by the keywords that they name."""
    found: dict[str, list[tuple[Function, ast.Call]]] = {}
    for calls in _calls(module).values():
        for user, call in calls:
            for keyword in call.keywords:
                if keyword.arg is not None:
                    found.setdefault(keyword.arg, []).append((user, call))
    return found


@remembered
def callers_by_name(program: Program, function: Function) -> tuple[tuple[Function, ast.Call], ...]:
    """The calls with arguments that may be of a function: by its name, of a constructor by the names of its classes."""
    return tuple(
        (user, call) for user, call in calls_of(program, function) if call.args or call.keywords
    )


@remembered
def calls_of(program: Program, function: Function) -> tuple[tuple[Function, ast.Call], ...]:
    """All calls that may be of a function, those without arguments too: what is so in each of them is so in all runs,
    unless something else gets the function and calls it."""
    return tuple(_found_callers(program, function))


def _found_callers(program: Program, function: Function) -> Iterator[tuple[Function, ast.Call]]:
    cls = function.cls if function.name == "__init__" else None
    if cls is None:
        names = [function.name]
    else:
        classes = [cls, *program.subclasses(cls)]
        names = sorted({each.name for each in classes})
        for below in classes[1:]:  # `super().__init__(quiet=quiet)`
            for method in below.methods.values():
                calls = _calls(below.module).get("__init__", ())
                yield from ((user, call) for user, call in calls if user is method)
    calling = _calling(program)
    for module in calling.get(names[0], ()) if len(names) == 1 else program.modules.values():
        by_name = _calls(module)
        for name in names:
            for user, call in by_name.get(name, ()):
                if _is_own_method(program, function, user, call):
                    continue
                if not cls or not means_another(program, cls, user.module, dotted_name(call.func)):
                    yield user, call


def _is_own_method(program: Program, function: Function, user: Function, call: ast.Call) -> bool:
    """Whether a call is of a method of the object in which it stands, where the function is none.

    violent_sorting_project 2a316d1 src/utils/pytorchtools.py:35: `self.save_checkpoint(…)`, beside a function of that name.
    """
    match call.func:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return (
                function.cls is None
                and user.cls is not None
                and program.find_method(user.cls, name) not in (None, function)
            )
    return False


def means_another(program: Program, cls: Class, module: Module, name: str) -> bool:
    """Whether a name that ends in that of a class means another one in a file: the program's, or a library's.

    CBIM-Medical-Image-Segmentation 403bcd3 model/dim2/medformer_utils.py:93: the `MBConv` of dim2/conv_layers.py, which is
    not read, beside that of dim3/conv_layers.py.
    """
    meaning = program.resolve_dotted(module, name)
    if isinstance(meaning, Class):
        return not program.may_share_objects(cls, meaning)
    home = module.imports.get(name, "").rpartition(".")[0]
    twin = home.rpartition(".")[2] == cls.module.name.rpartition(".")[2]
    return isinstance(meaning, str) or (twin and home not in program.modules)


@remembered
def _calling(program: Program) -> dict[str, list[Module]]:
    """The files that call something of a name: each function of the program is asked for, and most are called in few."""
    found: dict[str, list[Module]] = {}
    for module in program.modules.values():
        for name in _calls(module):
            found.setdefault(name, []).append(module)
    return found


@remembered
def left_at_default(program: Program, function: Function) -> frozenset[str]:
    """The parameters with a number for a default that no call of a function gives, nor passes on from one that was given."""
    return frozenset(
        name
        for name in function.parameters
        if isinstance(default := default_of(function, name), ast.Constant)
        and type(default.value) is int
        and _is_left(program, function, name, 3)
    )


def _is_left(program: Program, function: Function, name: str, depth: int) -> bool:
    calls = calls_of(program, function)
    if namings(program, function.name).others:
        return False  # who gets the function may call it with anything
    for user, call in calls:
        given = argument_of(call, function, name)
        unpacked = any(isinstance(arg, ast.Starred) for arg in call.args)
        if given is None and not unpacked and all(k.arg is not None for k in call.keywords):
            continue
        if not (
            isinstance(given, ast.Name)
            and depth
            and isinstance(default_of(user, given.id), ast.Constant)
            and given.id not in assignments(user)
            and _is_left(program, user, given.id, depth - 1)
        ):
            return False
    return bool(calls)


def started_with(
    program: Program, function: Function, parameter: str
) -> Iterator[tuple[Function, ast.expr]]:
    """What is handed to a parameter where a function is run as a process: `Process(target=work, args=(rank, path))`."""
    for module in program.modules.values():
        if function.name not in module.source.text or "Process" not in module.source.text:
            continue
        for user, call in _calls(module).get("Process", ()):
            given = {keyword.arg: keyword.value for keyword in call.keywords}
            target, arguments = given.get("target"), given.get("args")
            if target is None or last_name(target) != function.name:
                continue
            handed = ast.Call(
                target, arguments.elts if isinstance(arguments, ast.Tuple | ast.List) else [], []
            )
            if (argument := argument_of(handed, function, parameter)) is not None:
                yield user, argument


def _is_test(program: Program, argument: ast.expr, user: Function, depth: int) -> bool:
    """Whether an argument is a test of the rank, or what its function was handed as one."""
    if mentions_rank(argument):
        return True
    names = {node.id for node in walk(argument, ast.Name)}
    if not names:  # `quiet=True`
        return False
    assigned = assignments(user)
    if any(mentions_rank(value) for name in names for value in assigned.get(name, ())):
        return True
    return depth > 0 and any(
        is_told_rank(program, user, name, depth) for name in _parameters_in(argument, user)
    )


class Namings(NamedTuple):
    """Where a program names a function: its calls, each with who makes it, and whether it is handed to others too."""

    calls: tuple[tuple[Function, ast.Call], ...]
    others: bool


@remembered
def namings(program: Program, name: str) -> Namings:
    """Where a program names what is called `name`: `mp.spawn(work, …)` hands it on, beside `else: work(0)`.

    Constructors, `forward` and what Python calls for operators are called without their name.
    """
    calls = [each for module in _calling(program).get(name, ()) for each in _calls(module)[name]]
    named = _times_read(program)[name]
    unnamed = name == "forward" or name.startswith("__")
    return Namings(tuple(calls), unnamed or named > len(calls))


@remembered
def _times_read(program: Program) -> Counter[str]:
    """How often the files read each name: most names are asked for."""
    times: Counter[str] = Counter()
    for module in program.modules.values():
        for name, places in reads(module).items():
            times[name] += len(places)
    return times


@remembered
def reads(module: Module) -> dict[str, list[tuple[Function, ast.expr]]]:
    """Where a file reads each name, of whatever object, with the function that does."""
    found: dict[str, list[tuple[Function, ast.expr]]] = {}
    for function in module.all_functions:
        for node in own_nodes(function, ast.Name, ast.Attribute):
            if isinstance(node.ctx, ast.Load):
                found.setdefault(last_name(node), []).append((function, node))
    return found


@remembered
def is_put_from_outside(program: Program, name: str) -> bool:
    """Whether anything is put into an attribute of a name of another object than `self`."""
    return any(name in put_from_outside(module) for module in program.modules.values())


@remembered
def put_from_outside(module: Module) -> frozenset[str]:
    """The attributes into which a file puts anything, of other objects than `self`."""
    return frozenset(
        node.attr
        for node in walk(module.source.tree, ast.Attribute)
        if isinstance(node.ctx, ast.Store)
        and not (isinstance(node.value, ast.Name) and node.value.id == "self")
    )


def argument_of(call: ast.Call, function: Function, parameter: str) -> ast.expr | None:
    """What a call passes for a parameter, by keyword or place."""
    for keyword in call.keywords:
        if keyword.arg == parameter:
            return keyword.value
    bound = function.cls is not None and not function.has_decorator("staticmethod")
    names = function.parameters[1:] if bound else function.parameters
    place = names.index(parameter) if parameter in names else len(call.args)
    return call.args[place] if place < len(call.args) else None


@remembered
def _calls(module: Module) -> dict[str, list[tuple[Function, ast.Call]]]:
    """The calls of a file by the last name of what is called, each with the function that makes it."""
    found: dict[str, list[tuple[Function, ast.Call]]] = {}
    for function in module.all_functions:
        for node in own_nodes(function, ast.Call):
            found.setdefault(last_name(node.func), []).append((function, node))
    return found
