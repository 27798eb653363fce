"""Statements of the abstract run: branches, returns, definitions; loops, `with` and `try` have rooms of their own."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final

from distlint.analysis.interpreter.assignment import assign
from distlint.analysis.interpreter.conditions import asked_for
from distlint.analysis.interpreter.contexts import follow_with
from distlint.analysis.interpreter.exceptions import catches_exit, follow_try
from distlint.analysis.interpreter.expressions import binary
from distlint.analysis.interpreter.frame import WITHOUT_GRADIENTS, Frame
from distlint.analysis.interpreter.ir import (
    Branch,
    Jump,
    JumpKind,
    Step,
)
from distlint.analysis.interpreter.libraries import fails
from distlint.analysis.interpreter.loops import follow_for, follow_while, mark_volatile
from distlint.analysis.interpreter.matching import as_branches, captures
from distlint.analysis.interpreter.narrowing import insist, narrow
from distlint.analysis.interpreter.signature import deciding_decorator
from distlint.analysis.interpreter.values import (
    AGREED,
    UNKNOWN,
    Closure,
    Value,
    Variance,
    constant,
    join,
)
from distlint.analysis.interpreter.variables import Variables
from distlint.analysis.program.checks import lets_one_pass
from distlint.analysis.program.definitions import (
    Class,
    Definition,
    Function,
    dotted_name,
)
from distlint.analysis.program.syntax import (
    assignments,
    ends_process,
    ends_run,
    is_way_out,
    mentions_rank,
    own_nodes,
)
from distlint.knowledge import conventions
from distlint.nodes import children, last_name, walk


def start(frame: Frame) -> None:
    """Follow the function from its first statement; not on ranks that a decorator keeps out."""
    found = deciding_decorator(frame, frame.function)
    if found is not None:
        decorator, kept, _ = found
        frame.note_rank_condition(decorator, kept, False)
        if kept.truthiness() is False:
            frame.summary.returns = constant(None, Variance.RANK_DEPENDENT, kept.origin)
            return
    falls_off = frame.execute(frame.function.body)
    if falls_off:
        frame.note_way_out()
    returned = frame.summary.returns
    if returned is not None:
        given = returned.never_none and not falls_off and _hands_result_on(frame.function)
        if given is not returned.not_none:
            frame.summary.returns = returned.replace(not_none=given)


def _hands_result_on(function: Function) -> bool:
    """Whether nothing around a function may put None in the place of what it returns."""
    return all(
        dotted_name(d.func if isinstance(d, ast.Call) else d).rpartition(".")[2] in _TRANSPARENT
        for d in function.decorators
    )


_ASKS_FOR_DTENSOR: Final = ("DTensor", "full_tensor")
"""What a test asks a tensor for that may be sharded: its class, or the method that makes it whole."""
_TRANSPARENT: Final = frozenset(
    {
        "staticmethod",
        "classmethod",
        "property",
        "cached_property",
        "cache",
        "lru_cache",
        "override",
        *WITHOUT_GRADIENTS,
    }
)
"""Decorators behind which the result is what the function returns."""


def plain(frame: Frame, statement: ast.stmt) -> bool:
    """A statement of no kind of its own: its expressions are evaluated."""
    for child in children(statement):
        if isinstance(child, ast.expr):
            frame.evaluate(child)
    return True


def _if(frame: Frame, statement: ast.If) -> bool:
    test = asked_for(frame, statement.test)
    if _asks_for_presence(frame, statement.test, test):
        test = test.replace(variance=Variance.UNIFORM, origin=None)
    truth = test.truthiness()
    exits = _leaves(frame, statement.body) or _leaves(frame, statement.orelse)
    frame.note_rank_condition(statement.test, test, exits)
    if truth is None:
        return _fork(frame, statement, test)
    taken, other = statement.body, statement.orelse
    if not truth:
        taken, other = other, taken
    if "initialized" in test.tags and (
        _makes_group(other)
        or (_leaves(frame, taken) and _makes_group(_below(frame.function, statement)))
    ):
        return _fork(frame, statement, test.replace(const=UNKNOWN))
    scope = frame.scope.under(frame.guard(statement.test, test, truth))
    if test.variance is Variance.RANK_DEPENDENT:
        scope = scope.controlled_by(test)
    with frame.within(scope):
        alive = frame.execute(taken)
    if alive and _leaves(frame, other):
        frame.scope = frame.scope.under(frame.guard(statement.test, test, truth, exits=True))
    return alive


def _below(function: Function, statement: ast.stmt) -> list[ast.stmt]:
    """The statements of a function that stand below another, whichever blocks they are in."""
    return [
        node
        for node in own_nodes(function)
        if isinstance(node, ast.stmt) and node.lineno > (statement.end_lineno or 0)
    ]


def _makes_group(block: list[ast.stmt]) -> bool:
    """Whether statements make the process group: the first time that all ranks come there, it is missing.

    UniSpeech 40d3227 src/fairseq/distributed/utils.py:262: a warning if it is there already, else it is made, and tried.
    """
    return any(
        isinstance(node, ast.Call) and last_name(node.func) == "init_process_group"
        for statement in block
        for node in walk(statement)
    )


def _asks_for_presence(frame: Frame, node: ast.expr, test: Value) -> bool:
    """Whether `if x:` asks if there is an `x`: it may be None here, and is no answer of its own elsewhere.

    SlowFast 287ec00 tools/train_net.py:213: the losses that a second head adds, which the configuration chooses.
    """
    if not isinstance(node, ast.Name) or test.variance is not Variance.RANK_LOCAL:
        return False
    match test.key:
        case ("join", *_):
            given = assignments(frame.function).get(node.id, [])
            absent = [value for value in given if _is_none(value)]
            return bool(absent) and not any(map(_is_answer, given))
    return False


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_answer(node: ast.expr) -> bool:
    """Whether an expression is a yes or no, or a number."""
    match node:
        case (
            ast.Compare()
            | ast.BoolOp()
            | ast.UnaryOp()
            | ast.BinOp()
            | ast.Constant(value=bool() | int())
        ):
            return True
        case ast.Call(func=func):
            return last_name(func) in (
                "item",
                "bool",
                "any",
                "all",
                "isnan",
                "isinf",
                "int",
                "float",
            )
    return False


def _fork(frame: Frame, statement: ast.If, test: Value) -> bool:
    """Both arms of a condition that nothing decides here, and what is known where they meet."""
    node = statement.test
    before = frame.variables
    mark_volatile(frame, node, test)
    decided = frame.scope.controlled_by(test)
    arms: list[tuple[bool, Variables, list[Step]]] = []
    for taken, body in ((True, statement.body), (False, statement.orelse)):
        frame.variables = before.copy() if taken else before
        narrow(frame, node, taken)
        scope = decided.under(frame.guard(node, test, taken))
        with frame.filling([]) as steps, frame.within(scope):
            alive = frame.execute(body)
        arms.append((alive, frame.variables, steps))
    (then_alive, then, then_steps), (other_alive, other, other_steps) = arms
    if then_steps or other_steps:
        frame.steps.append(Branch(test, statement, then_steps, other_steps))
    if then_alive and other_alive:
        frame.variables = then.merge(other, id(statement))
        if AGREED in test.tags and not statement.orelse:
            _share_where_asked(frame, statement.body, then)
        if not statement.orelse:
            _whole_where_asked(frame, node, statement.body)
        return True
    frame.variables = then if then_alive else other
    if _ends_program(statement.orelse if then_alive else statement.body):
        insist(frame, node, then_alive)
    if then_alive or other_alive:
        frame.scope = frame.scope.under(frame.guard(node, test, then_alive, exits=True))
    return then_alive or other_alive


def _share_where_asked(frame: Frame, body: list[ast.stmt], then: Variables) -> None:
    """Take what ranks share on an answer that they share for the same on all: else there was nothing to share.

    molmo 793fa38 olmo/train.py:1265: `if run_canceled: extra_steps = synchronize_value(extra_steps, device)`.
    """
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=arguments)):
                shared = then.get(name)
                given = any(isinstance(a, ast.Name) and a.id == name for a in arguments)
                if given and shared is not None and AGREED in shared.tags:
                    frame.variables.refine(name, shared)


def _whole_where_asked(frame: Frame, test: ast.expr, body: list[ast.stmt]) -> None:
    """Take what was made whole where it was a DTensor for a plain tensor: else it was one before.

    SimpleTuner bc8e6ab simpletuner/helpers/training/save_hooks.py:239: rank 0 hands it on to what asks the same again.
    """
    for statement in body:
        match statement:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=sharded), attr="full_tensor")),
            ) if name == sharded and any(part in ast.unparse(test) for part in _ASKS_FOR_DTENSOR):
                value = frame.variables.get(name)
                if value is not None:
                    frame.variables.refine(name, value.replace(type=conventions.TENSOR))


def _match(frame: Frame, statement: ast.Match) -> bool:
    chain = as_branches(statement)
    if chain is not None:
        return _if(frame, chain)
    return _match_structure(frame, statement)


def _match_structure(frame: Frame, statement: ast.Match) -> bool:
    """Patterns that take the subject apart: which case it is, is a symbol of its own."""
    subject = frame.evaluate(statement.subject)
    before, outer = frame.variables, frame.steps
    ends: list[Variables] = []
    rest = outer
    exhaustive = False
    for index, case in enumerate(statement.cases):
        frame.variables = before.copy()
        for name in captures(case.pattern):
            value = Value(("match", id(case), name), UNKNOWN, subject.variance, subject.origin)
            frame.variables.refine(name, value)
        with frame.filling([]) as block:
            if case.guard is not None:
                frame.evaluate(case.guard)
            if frame.execute(case.body):
                ends.append(frame.variables)
        exhaustive = (
            isinstance(case.pattern, ast.MatchAs)
            and case.pattern.pattern is None
            and case.guard is None
        )
        if exhaustive:
            rest.extend(block)
            break
        key = ("case", id(statement), index, subject.key)
        condition = Value(key, UNKNOWN, subject.variance, subject.origin)
        following: list[Step] = []
        rest.append(Branch(condition, statement, block, following))
        rest = following
    if not exhaustive:
        ends.append(before)
    frame.variables = ends[0] if ends else before
    for end in ends[1:]:
        frame.variables = frame.variables.merge(end, id(statement))
    return bool(ends)


def _define(frame: Frame, statement: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    for decorator in statement.decorator_list:
        frame.evaluate(decorator)
    function = frame.function.nested.get(statement.name)
    if function is None or function.node is not statement:
        function = frame.summaries.function_of(statement)
    if function is not None and not frame.function.is_module_body:
        closure = Closure(function, frame.visible())
        frame.variables.refine(statement.name, Value(("function", id(statement)), target=closure))
    return True


def _class(frame: Frame, statement: ast.ClassDef) -> bool:
    cls = frame.summaries.class_of(statement)
    if cls is not None and not frame.function.is_module_body:
        frame.variables.refine(statement.name, Value(("class", id(statement)), target=cls))
    return True


def _expression(frame: Frame, statement: ast.Expr) -> bool:
    before = len(frame.steps)
    frame.evaluate(statement.value)
    steps = frame.steps
    return len(steps) == before or not any(isinstance(step, Jump) for step in steps[before:])


def _assign(frame: Frame, statement: ast.Assign) -> bool:
    value = frame.evaluate(statement.value)
    for target in statement.targets:
        assign(frame, target, value)
    return True


def _annotated(frame: Frame, statement: ast.AnnAssign) -> bool:
    if statement.value is not None:
        value = frame.evaluate(statement.value)
        if value.type is None and not value.known:
            type_ = frame.summaries.annotation_type(frame.module, statement.annotation)
            value = value.replace(type=type_) if type_ else value
        assign(frame, statement.target, value)
    return True


def _augmented(frame: Frame, statement: ast.AugAssign) -> bool:
    load = _as_load(statement.target)
    old = frame.evaluate(load)
    value = binary(old, frame.evaluate(statement.value), statement.op)
    if (
        isinstance(statement.op, ast.BitAnd)
        and value.variance is Variance.UNIFORM
        and not value.known
        and mentions_rank(statement.value)
    ):
        # FoundationVision/Infinity 4c27bbb infinity/utils/arg_util.py:432: a rank that a file keeps in a variable of its
        # own is not followed.
        value = value.replace(tags=value.tags | {"rank"})
    assign(frame, statement.target, value)
    return True


def _return(frame: Frame, statement: ast.Return) -> bool:
    value = frame.evaluate(statement.value) if statement.value is not None else constant(None)
    for guard in frame.scope.guards:
        if guard.value.variance > value.variance and guard.value.truthiness() is None:
            value = value.replace(variance=guard.value.variance, origin=guard.value.origin)
        if "initialized" in guard.value.tags and value.known and isinstance(value.const, bool):
            # obow 3758504 obow/utils.py:31: `if not is_initialized(): return False`, and below `return True`
            value = value.replace(tags=value.tags | {"initialized"})
    summary = frame.summary
    summary.returns = (
        value
        if summary.returns is None
        else join(summary.returns, value, ("returned", id(frame.function), summary.rank.rank))
    )
    frame.note_way_out()
    frame.leave(JumpKind.RETURN, statement)
    return False


def _raise(frame: Frame, statement: ast.Raise) -> bool:
    if statement.exc is not None:
        raised = frame.evaluate(statement.exc)
        if _is_system_exit(frame, statement.exc, raised):
            frame.leave(JumpKind.PROCESS, statement)
            return False
    frame.leave(JumpKind.RAISE, statement)
    return False


def _is_system_exit(frame: Frame, node: ast.expr, raised: Value) -> bool:
    """Whether a raise ends the process normally: SystemExit, or a class derived from it, uncaught.

    lightning 2.5.1 lightning/pytorch/utilities/exceptions.py: `class SIGTERMException(SystemExit)`.
    """
    name = node.func if isinstance(node, ast.Call) else node
    cls = frame.summaries.classes.get(raised.type) if raised.type is not None else raised.target
    if isinstance(cls, Class):
        if not any(
            isinstance(base, ast.Name) and base.id == "SystemExit"
            for owner in frame.summaries.program.mro(cls)[0]
            for base in owner.node.bases
        ):
            return False
    elif not isinstance(name, ast.Name) or name.id != "SystemExit":
        return False
    code = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if code is not None and fails(frame.evaluate(code)):
        return False
    return not any(catches_exit(h) for t in frame.scope.tries for h in t.handlers)


def _break(frame: Frame, statement: ast.Break) -> bool:
    if frame.scope.loops:
        frame.scope.loops[-1].ended.append(frame.variables.copy())
    frame.leave(JumpKind.BREAK, statement)
    return False


def _continue(frame: Frame, statement: ast.Continue) -> bool:
    if frame.scope.loops:
        frame.scope.loops[-1].cut_short.append(frame.variables.copy())
    frame.leave(JumpKind.CONTINUE, statement)
    return False


def _delete(frame: Frame, statement: ast.Delete) -> bool:
    for target in statement.targets:
        path = dotted_name(target)
        if path:
            frame.variables.remove(path)
        else:
            frame.evaluate(_as_load(target))
    return True


def _assert(frame: Frame, statement: ast.Assert) -> bool:
    test = frame.evaluate(statement.test)
    frame.note_rank_condition(statement.test, test, True)
    if (test.variance is Variance.RANK_DEPENDENT and test.truthiness() is False) or (
        test.truthiness() is not True and lets_one_pass(statement)
    ):
        # ScaledYOLOv4 6768003 train.py:471: `assert opt.local_rank == -1` in the branch of `--evolve`, whose call of
        # `train()` hands every process the path that rank 0 alone has another one for.
        frame.leave(JumpKind.RAISE, statement)
        return False
    if frame.judges_own_loss(statement.test, test):
        scope = frame.scope.under(frame.guard(statement.test, test, False))
        with frame.filling([]) as failing, frame.within(scope):
            frame.leave(JumpKind.RAISE, statement)
        frame.steps.append(Branch(test, statement, [], failing))
    narrow(frame, statement.test, True)
    insist(frame, statement.test)
    frame.scope = frame.scope.under(frame.guard(statement.test, test, True, exits=True))
    return True


def _nothing(frame: Frame, statement: ast.stmt) -> bool:
    return True


def _as_load(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Name):
        return ast.copy_location(ast.Name(target.id, ast.Load()), target)
    if isinstance(target, ast.Attribute):
        return ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
    if isinstance(target, ast.Subscript):
        return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    return target


def _ends_program(body: list[ast.stmt]) -> bool:
    """Whether a block ends in an error, or ends the process."""
    return bool(body) and ends_run(body[-1])


def _leaves(frame: Frame, body: list[ast.stmt]) -> bool:
    """Whether a block ends by leaving (return, raise, continue, break), on its straight path."""
    return bool(body) and (
        isinstance(body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))
        or (
            isinstance(body[-1], ast.If)
            and bool(body[-1].orelse)
            and _leaves(frame, body[-1].body)
            and _leaves(frame, body[-1].orelse)
        )
        or (
            isinstance(body[-1], ast.Expr)
            and isinstance(body[-1].value, ast.Call)
            and (ends_process(body[-1].value.func) or _is_way_out(frame, body[-1].value.func))
        )
    )


def _is_way_out(frame: Frame, called: ast.expr) -> bool:
    """Whether a call is one of a function of the program that ends the process."""
    cls, program = frame.function.cls, frame.summaries.program
    match called:
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if cls is not None:
            meaning: Definition | None = program.find_method(cls, name)
        case _:
            meaning = program.resolve_dotted(frame.function.module, dotted_name(called))
    return isinstance(meaning, Function) and is_way_out(meaning)


STATEMENTS: Final[dict[type[ast.stmt], Callable[[Frame, Any], bool]]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.If: _if,
    ast.While: follow_while,
    ast.For: follow_for,
    ast.AsyncFor: follow_for,
    ast.Try: follow_try,
    ast.With: follow_with,
    ast.AsyncWith: follow_with,
    ast.Match: _match,
    ast.FunctionDef: _define,
    ast.AsyncFunctionDef: _define,
    ast.ClassDef: _class,
    ast.Delete: _delete,
    ast.Assert: _assert,
    ast.Import: _nothing,
    ast.ImportFrom: _nothing,
    ast.Pass: _nothing,
    ast.Global: _nothing,
    ast.Nonlocal: _nothing,
}
