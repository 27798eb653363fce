"""Branches that nobody asks for: a parameter has one of a few constants in every call of the program, an option of the
command line takes none that leads there, a condition above has asked the same, or where it holds one process works."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from distlint.analysis.interpreter.ir import CallSite, Guard
from distlint.analysis.program.definitions import Class, Function, Module, dotted_name, last_name
from distlint.analysis.program.environment import evaluated_here, own_statements
from distlint.analysis.program.handed import namings
from distlint.analysis.program.linked import imported
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.options import options_of
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import (
    SPAWNERS,
    assignments,
    default_of,
    literals,
    own_nodes,
    statement_with_test,
)
from distlint.nodes import walk

_THERE: Final = frozenset({"exists", "isdir", "isfile", "ismount"})
"""Questions of `os.path` to which nothing that is missing answers yes."""
_SPAWNS: Final = SPAWNERS | {"Process"}


def never_entered(program: Program, site: CallSite) -> bool:
    """Whether a condition around a call does not hold for what any caller passes.

    threestudio 28d9d80 threestudio/utils/saving.py:420: `if save_format == "gif"`, and all pass "mp4".
    """
    return (
        any(_excluded(program, site.function, g.node, g.taken) for g in site.guards)
        or _asked_above(site)
        or _denies_the_test_above(site)
        or _is_of_one_process(site)
    )


def _denies_the_test_above(site: CallSite) -> bool:
    """Whether a test asks for what is not there, and stands first where another has found it.

    EasyCV 901ff18 easycv/file/base.py:143: `if os.path.isdir(dst): if not os.path.exists(dst): os.makedirs(dst)`.
    """
    inside = [guard for guard in site.guards if not guard.exits]
    for outer, inner in pairwise(inside):
        missing = _asked_of_files(inner, False)
        if missing and missing & _asked_of_files(outer, True):
            above = statement_with_test(site.function, outer.node)
            below = statement_with_test(site.function, inner.node)
            if above is not None and (above.body if outer.taken else above.orelse)[:1] == [below]:
                return True
    return False


def _asked_of_files(guard: Guard, there: bool) -> set[str]:
    """The paths, as written, of which a condition says that they are there; or that nothing is there."""
    return {
        ast.unparse(part.args[0])
        for part, holds in literals(guard.node, guard.taken)
        if holds is there
        and isinstance(part, ast.Call)
        and len(part.args) == 1
        and last_name(part.func) in (_THERE if there else ("exists", "lexists"))
    }


def _asked_above(site: CallSite) -> bool:
    """Whether an `elif` around a call asks what an arm above it has asked: nobody gets there.

    apple/ml-4m cda590f run_training_vqvae.py:450 has the condition of line 447 again.
    """
    for guard in site.guards:
        if guard.taken and not guard.exits and isinstance(guard.node, ast.BoolOp | ast.Compare):
            asked = ast.unparse(guard.node)
            if asked in _asked_before(site.function, guard.node) and not any(
                walk(guard.node, ast.Call, ast.Await, ast.NamedExpr)
            ):
                return True
    return False


def _asked_before(function: Function, test: ast.expr) -> set[str]:
    """The conditions of the arms above an `elif`."""
    asked: set[str] = set()
    statement = statement_with_test(function, test)
    while statement is not None:
        below = statement
        statement = next((n for n in own_nodes(function, ast.If) if n.orelse == [below]), None)
        if statement is not None:
            asked.add(ast.unparse(statement.test))
    return asked


def _is_of_one_process(site: CallSite) -> bool:
    """Whether a call waits for what keeps the program from starting the others: `args.command == "export"`.

    NVIDIA/retinanet-examples 65e6310 odtk/main.py:247: there `worker(0, args, 1, …)`, and else `spawn(worker, …)`.
    """
    if not site.guards or site.function.cls is not None:
        return False
    chosen = _not_when_spawned(site.function)
    return bool(chosen) and any(
        holds and ast.unparse(part) in chosen
        for guard in site.guards
        for part, holds in literals(guard.node, guard.taken)
    )


@remembered
def _not_when_spawned(function: Function) -> frozenset[str]:
    """What does not hold, as it is written, wherever a function is handed to new processes; it is called by one, too.

    Attributes of a parameter that is called the same on both sides are meant, compared with a constant.
    """
    refused: list[set[str]] = []
    called = False
    for user in function.module.all_functions:
        names = {n.id for n in own_nodes(user, ast.Name)}
        if function.name not in names:
            continue
        for statement, around in own_statements(user.body):
            for node in evaluated_here(statement):
                if not isinstance(node, ast.Call):
                    continue
                if last_name(node.func) == function.name:
                    called = True
                elif last_name(node.func) in _SPAWNS and any(
                    last_name(given) == function.name
                    for given in (*node.args, *(k.value for k in node.keywords))
                ):
                    refused.append(set(_refused_around(around, statement)))
    shared = set.intersection(*refused) if refused and called else set()
    return frozenset(each for each in shared if each.partition(".")[0] in function.parameters)


def _refused_around(around: tuple[ast.stmt, ...], statement: ast.stmt) -> Iterator[str]:
    """The comparisons of an attribute with a constant that do not hold where a statement stands."""
    for outer, inner in pairwise((*around, statement)):
        if isinstance(outer, ast.If):
            for part, holds in literals(outer.test, inner in outer.body):
                match part:
                    case ast.Compare(
                        left=ast.Attribute(), ops=[ast.Eq()], comparators=[ast.Constant()]
                    ) if not holds:
                        yield ast.unparse(part)


def is_never_named(program: Program, function: Function) -> bool:
    """Whether other files use the file of a function, and none of the program names the function itself.

    LAVIS 506965b lavis/models/ulip_models/utils/utils.py:104: `init_distributed_mode` came along with a model, and all
    call that of lavis/common/dist_utils.py.
    """
    home = function.module
    used = any(home in imported(program, module) for module in program.modules.values())
    return used and is_named_nowhere(program, function)


def is_named_nowhere(program: Program, function: Function) -> bool:
    """Whether none of the program names a function of a file, neither by a decorator that may register it."""
    if function.cls is not None or function.parent is not None or function.is_module_body:
        return False
    return not function.decorators and not _is_named(program, function)


@remembered
def is_made_nowhere(program: Program, cls: Class) -> bool:
    """Whether scripts import a class and no other file does, and none of the program makes, derives from, or says its name.

    FollowYourPose 5dee0d7 inference.py:32: `HDVilaDataset`, beside the data set that it trains on.
    """
    imported_by = _imported_as(program, cls.name)
    return (
        bool(imported_by)
        and not cls.node.decorator_list
        and all(module.is_script and local == cls.name for module, local in imported_by)
        and not any(namings(program, each.name) != ((), False) for each in program.subclasses(cls))
        and namings(program, cls.name) == ((), False)
        and not any(
            f"{cls.name}{quote}" in module.source.text
            or any(name.rpartition(".")[2] == cls.name for _, name in module.source.chosen)
            for module in program.modules.values()
            for quote in ("'", '"')
        )
    )


@remembered
def _imported_as(program: Program, name: str) -> tuple[tuple[Module, str], ...]:
    """The files that import something of a name, each with what it is called there."""
    return tuple(_all_imported(program).get(name, ()))


@remembered
def _all_imported(program: Program) -> dict[str, list[tuple[Module, str]]]:
    found: dict[str, list[tuple[Module, str]]] = {}
    for module in program.modules.values():
        for local, meant in module.imports.items():
            found.setdefault(meant.rpartition(".")[2], []).append((module, local))
    return found


@remembered
def _is_named(program: Program, function: Function) -> bool:
    """Whether any file imports a function, or names it."""
    return any(
        # `from engine import train as train_model`: what it is called there is not looked for.
        (node.asname is not None and node.name == function.name)
        if isinstance(node, ast.alias)
        else last_name(node) == function.name
        and program.resolve_dotted(module, dotted_name(node)) is function
        for module in program.modules.values()
        if function.name in module.source.text
        for node in walk(module.source.tree, ast.Name, ast.Attribute, ast.alias)
    )


def _excluded(program: Program, function: Function, test: ast.expr, taken: bool) -> bool:
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _excluded(program, function, operand, not taken)
        case ast.Compare(
            left=ast.Name(id=name),
            ops=[ast.Eq() | ast.NotEq() as op],
            comparators=[ast.Constant(value=str() as asked)],
        ) if name in function.parameters and name not in assignments(function):
            passed = _passed(program, function, name)
            equal = isinstance(op, ast.Eq) is taken
            return passed is not None and all((value == asked) is not equal for value in passed)
    return _refused(function, test, taken)


def _refused(function: Function, test: ast.expr, taken: bool) -> bool:
    """Whether a test of an option comes out the other way for each of its `choices`.

    ibot da316d8 evaluation/eval_image_retrieval.py:142: `elif "xcit" in args.arch`, which is none of `--arch`.
    """
    match test:
        case ast.Compare(
            left=ast.Attribute(value=ast.Name(), attr=option),
            ops=[ast.Eq() | ast.NotEq() as op],
            comparators=[ast.Constant(value=str() as asked)],
        ):
            holds = {choice: choice == asked for choice in _choices(function.module, option)}
        case ast.Compare(
            left=ast.Constant(value=str() as asked),
            ops=[ast.In() | ast.NotIn() as op],
            comparators=[ast.Attribute(value=ast.Name(), attr=option)],
        ):
            holds = {choice: asked in choice for choice in _choices(function.module, option)}
        case _:
            return False
    wanted = isinstance(op, ast.Eq | ast.In) is taken
    return bool(holds) and wanted not in holds.values()


@remembered
def _choices(module: Module, name: str) -> frozenset[str]:
    """What an option of a file's command line may be; nothing where that is not written out, or set elsewhere."""
    if any(
        isinstance(node.ctx, ast.Store) and node.attr == name
        for node in walk(module.source.tree, ast.Attribute)
    ):
        return frozenset()
    found: set[str] = set()
    for option in options_of(module):
        if option.name == name:
            choices = _written_out(option.given.get("choices"))
            if not choices or "nargs" in option.given:
                return frozenset()
            found |= choices | _written_out(option.default)
    return frozenset(found)


def _written_out(node: ast.expr | None) -> set[str]:
    """The texts in a literal; none where it holds anything else."""
    parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    texts = {p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)}
    return texts if len(texts) == len(parts) else set()


@remembered
def _passed(program: Program, function: Function, name: str) -> frozenset[str | None] | None:
    """The constants that the calls of what has a function's name pass for a parameter.

    None where some pass something else, where nothing calls it, or where it is handed on as a value.
    """
    found: set[str | None] = set()
    for module in program.modules.values():
        if function.name not in module.source.text:
            continue
        called: set[int] = set()
        for node in walk(module.source.tree, ast.Call, ast.Name, ast.Attribute):
            match node:
                case ast.Call(func=func) if last_name(func) == function.name:
                    called.add(id(func))
                    match _given(function, node, name):
                        case ast.Constant(value=str() | None as value):
                            found.add(value)
                        case _:
                            return None
                case ast.Name() | ast.Attribute() if last_name(node) == function.name:
                    if id(node) not in called:
                        return None
    return frozenset(found) or None


def _given(function: Function, call: ast.Call, name: str) -> ast.expr | None:
    """What a call passes for a parameter, be it by its default; None where that cannot be told."""
    if any(k.arg is None for k in call.keywords) or any(
        isinstance(a, ast.Starred) for a in call.args
    ):
        return None
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    position = function.parameters.index(name)
    bound = function.cls is not None and isinstance(call.func, ast.Attribute)
    if bound and not function.has_decorator("staticmethod"):
        position -= 1
    return call.args[position] if position < len(call.args) else default_of(function, name)
