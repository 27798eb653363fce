"""Code under a condition that never holds: a flag that is True or False is not above 1, an option that is on is not off."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from typing import Final

from distlint.analysis.program.definitions import Function, Module
from distlint.analysis.program.environment import blocks
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.places import functions_at
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import (
    assignments,
    bound_again,
    default_of,
    ends_process,
    literals,
    names_bound,
    own_nodes,
)
from distlint.analysis.questions.fixed_options import fixed_option, set_in
from distlint.nodes import last_name, walk

_TRUTHS: Final = frozenset(
    {"is_available", "is_initialized", "isinstance", "hasattr", "bool", "any", "all"}
)
"""Functions whose answer is True or False."""


_OF_DICT: Final = frozenset(dir(dict))
_OPENERS: Final = frozenset({"open", "ZipFile"})


def never_run(program: Program, function: Function) -> Iterator[tuple[ast.expr, ast.AST]]:
    """The nodes of a function, each with the test, under a test that a flag is above 1, where the program only sets it to True and False.

    FiD fe769f3 train_retriever.py:49: `if opt.is_distributed > 1: train_sampler.set_epoch(epoch)`, and src/slurm.py
    sets `params.is_distributed` to True or False. And those under a test that the file itself makes impossible, or an
    assertion of the function, or what an option of the command line cannot be.
    """
    for node in own_nodes(function, ast.If):
        always = fixed_option(program, function.module, node.test)
        if always is False or (
            never_holds(program, node.test)
            or contradicts(function.module, node.test)
            or is_refused(function, node.test)
        ):
            never = node.body
        else:
            never = node.orelse if always else []
        yield from ((node.test, each) for statement in never for each in walk(statement))


def is_unreached(module: Module, line: int) -> bool:
    """Whether a line of a file stands where no run of its functions comes to."""
    return any(
        first <= line <= last
        for function in functions_at(module, line)
        for first, last in unreached(function)
    )


def is_behind_an_end(function: Function, node: ast.stmt) -> bool:
    """Whether a statement stands where no run of its function comes to."""
    return any(first <= node.lineno <= last for first, last in unreached(function))


@remembered
def unreached(function: Function) -> tuple[tuple[int, int], ...]:
    """The first and last lines of what stands in a block behind its end: `exit()`, `return`, a bare name that nothing binds, an
    attribute of a dictionary, a folder that is opened as a file.

    srgan_cosmo2d 8bad41d toolbox/Trainer.py:170: `never_tested1` alone in a line, a NameError. STR_e2e 03c5fca main.py:86: `exit()` above the loop over epochs. KB-Chat ed39d0c main_train_update.py:49: `args.batch_size`
    below `args = vars(args)`.
    """
    found = []
    for block in blocks(function.body):
        for at, statement in enumerate(block[:-1]):
            if _ends(function.module, statement) or (
                block is function.body and _fails(function, statement)
            ):
                found.append((block[at + 1].lineno, block[-1].end_lineno or block[-1].lineno))
                break
    found += [(o.body[0].lineno, o.end_lineno or o.lineno) for o in _opening_folders(function)]
    return tuple(found)


def _opening_folders(function: Function) -> Iterator[ast.With]:
    """The blocks for which a function opens the folder that it is going through, where that is a parameter: it raises.

    EveryDream2trainer 0a913c6 data/resolver.py:62: `zipfile.ZipFile(path)` below `os.walk(path)`, without the name of the file.
    """
    for loop in own_nodes(function, ast.For):
        match loop.iter:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="os"), attr="walk" | "listdir" | "scandir"),
                args=[ast.Name(id=folder), *_],
            ) if folder in function.parameters and folder not in bound_again(function):
                for block in walk(loop, ast.With):
                    match block.items[0].context_expr:
                        case ast.Call(func=func, args=[ast.Name(id=opened), *_]) if (
                            opened == folder and last_name(func) in _OPENERS
                        ):
                            yield block


def _ends(module: Module, statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Name(id=name)):
            bound = names_bound(module)
            return bound is not None and name not in bound
        case ast.Expr(value=ast.Call(func=func)):
            return ends_process(func)
    return isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue)


def _fails(function: Function, statement: ast.stmt) -> bool:
    """Whether a statement asks the dictionary of an object's fields for one as if it were the object."""
    if not isinstance(statement, ast.Assign | ast.Expr):
        return False
    return any(
        isinstance(part.value, ast.Name)
        and isinstance(part.ctx, ast.Load)
        and part.attr not in _OF_DICT
        and (made := _fields_in(function).get(part.value.id)) is not None
        and made < part.lineno
        for part in walk(statement.value, ast.Attribute)
    )


@remembered
def _fields_in(function: Function) -> dict[str, int]:
    """The variables that a function makes dictionaries of fields, and never anything else, each with the line."""
    return {
        target.id: statement.lineno
        for statement in function.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
        and last_name(statement.value) == "vars"
        and assignments(function).get(target.id) == [statement.value]
    }


def never_holds(program: Program, test: ast.expr) -> bool:
    """Whether a condition asks whether a flag that is True or False is above 1."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return any(never_holds(program, each) for each in values)
        case ast.Compare(
            left=ast.Attribute(attr=name), ops=[op], comparators=[ast.Constant(value=int(limit))]
        ):
            above = isinstance(op, ast.Gt) and limit >= 1
            above = above or (isinstance(op, ast.GtE | ast.Eq) and limit >= 2)
            return above and _is_flag(program, name)
    return False


def is_refused(function: Function, test: ast.expr) -> bool:
    """Whether a condition asks whether a parameter is a text that an assertion above does not let through.

    3detr a5d1aad datasets/scannet.py:194: `if split_set == "all"`, below `assert split_set in ["train", "val"]`.
    """
    match test:
        case ast.Compare(
            left=ast.Name(id=name), ops=[ast.Eq()], comparators=[ast.Constant(value=str() as asked)]
        ) if name in function.parameters and name not in bound_again(function):
            return any(
                asked not in let_through and line < test.lineno
                for line, let_through in _asserted(function).get(name, ())
            )
    return False


@remembered
def _asserted(function: Function) -> dict[str, list[tuple[int, frozenset[object]]]]:
    """The texts of which one has to be given for a parameter, each with the line of the assertion, which always runs."""
    found: dict[str, list[tuple[int, frozenset[object]]]] = {}
    for statement in function.body:
        match statement:
            case ast.Assert(
                test=ast.Compare(
                    left=ast.Name(id=name),
                    ops=[ast.In()],
                    comparators=[
                        ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements)
                    ],
                )
            ) if all(isinstance(e, ast.Constant) for e in elements):
                texts = frozenset(e.value for e in elements if isinstance(e, ast.Constant))
                found.setdefault(name, []).append((statement.lineno, texts))
    return found


def keeps_out(call: ast.Call, function: Function, node: ast.AST) -> bool:
    """Whether a call of a function gives a flag by which the function does not come to one of its nodes.

    Uni-Mol 90f52c4 unimol_tools/unimol_tools/tasks/trainer.py:970 makes a sampler `if distributed:`, and the call that shuffles
    says `distributed=False`. PatrickStar 2384535 examples/train_simple_net.py:98: the only call says so. gpt-from-scratch
    9b85295 src/train.py:127 leaves `world_size` at 1, and the sampler is made `if world_size > 1:`.
    """
    changed = bound_again(function)
    return any(
        name in function.parameters
        and name not in changed
        and isinstance(given := _given_or_left(call, function, name), ast.Constant)
        and comes_out(given.value) is (not holds)
        for part, holds in _needed(function, node)
        for name, comes_out in _asked(part)
    )


_BOUNDS: Final[dict[type[ast.cmpop], Callable[[float, float], bool]]] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def _asked(part: ast.expr) -> Iterator[tuple[str, Callable[[object], bool | None]]]:
    """The variable that a part of a condition asks for, and how it comes out by its value; None where that is not known."""
    match part:
        case ast.Name(id=name):
            yield name, bool
        case ast.Compare(
            left=ast.Name(id=name), ops=[order], comparators=[ast.Constant(value=int() as bound)]
        ) if type(order) in _BOUNDS:
            holds = _BOUNDS[type(order)]
            yield (
                name,
                lambda value: holds(value, bound) if isinstance(value, int | float) else None,
            )


def _needed(function: Function, node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """What has to hold, or not, for a function to come to a node, by the tests around it."""
    for outer in own_nodes(function, ast.If, ast.IfExp):
        for arm, taken in ((outer.body, True), (outer.orelse, False)):
            parts = arm if isinstance(arm, list) else [arm]
            if any(each is node for part in parts for each in walk(part)):
                yield from literals(outer.test, taken)


def _given_or_left(call: ast.Call, function: Function, name: str) -> ast.expr | None:
    """What a call gives for a parameter, or its default where it gives nothing; None where that is not seen."""
    given = argument_of(call, function, name)
    if given is not None:
        return given
    unpacked = any(isinstance(each, ast.Starred) for each in call.args)
    unpacked = unpacked or any(each.arg is None for each in call.keywords)
    return None if unpacked else default_of(function, name)


def contradicts(module: Module, test: ast.expr) -> bool:
    """Whether a condition asks for a flag and for a number above 1, and the file sets the number to 1 under the flag.

    VGen 4014d1f tools/train/train_t2v_instructvideo_entrance.py:162: `if cfg.world_size > 1 and cfg.debug`, and
    `if cfg.debug: cfg.world_size = 1` beside an `else` is all that the file puts there.
    """
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.And):
        return False
    flags = {ast.unparse(v) for v in test.values if isinstance(v, ast.Attribute | ast.Name)}
    for each in test.values:
        match each:
            case ast.Compare(
                left=ast.Attribute() as number,
                ops=[ast.Gt()],
                comparators=[ast.Constant(value=int(limit))],
            ) if limit >= 1:
                if flags & _one_under(module).get(ast.unparse(number), frozenset()):
                    return True
    return False


@remembered
def _one_under(module: Module) -> dict[str, frozenset[str]]:
    """The attributes that a file sets to 1 under a flag and otherwise nowhere but in the other arm, with the flag."""
    found: dict[str, frozenset[str]] = {}
    for node in walk(module.source.tree):
        if not isinstance(node, ast.If) or not isinstance(node.test, ast.Attribute | ast.Name):
            continue
        for statement in node.body:
            match statement:
                case ast.Assign(
                    targets=[ast.Attribute(attr=attr) as target], value=ast.Constant(value=1)
                ) if _set_only_in(module, node, attr):
                    found[ast.unparse(target)] = frozenset({ast.unparse(node.test)})
    return found


def _set_only_in(module: Module, choice: ast.If, attr: str) -> bool:
    """Whether a file puts something into attributes of a name in the arms of one choice alone."""
    inside = {id(n) for n in walk(choice)}
    return all(
        id(n) in inside
        for n in walk(module.source.tree, ast.Attribute)
        if n.attr == attr and isinstance(n.ctx, ast.Store)
    )


@remembered
def _is_flag(program: Program, name: str) -> bool:
    """Whether all that the program puts into attributes of a name is True or False, and no option fills it."""
    values: list[ast.expr] = []
    for module in program.modules.values():
        text = module.source.text
        if name not in text:
            continue
        if f"--{name}" in text or f"--{name.replace('_', '-')}" in text:
            return False
        values += set_in(module).get(name, ())
    return bool(values) and all(_is_truth(each, name) for each in values)


def _is_truth(node: ast.expr, flag: str) -> bool:
    """Whether an expression is True or False, or what an attribute of the same name holds."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, bool)
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BoolOp(values=values):
            return all(_is_truth(each, flag) for each in values)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _TRUTHS
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in ("bool", flag)
    return False
