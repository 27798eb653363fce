"""Answers to "is there a process group?" that outlive the question: kept by an object, or built into a loader.

What asks anew each time is right once the group is there; what has asked before stays with the answer for one process.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Function, dotted_name
from distlint.analysis.program.handed import argument_of
from distlint.analysis.program.memory import all_remembered, remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.built import parts
from distlint.knowledge import facts
from distlint.nodes import last_name, walk
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Module
    from distlint.analysis.program.program import Program

_READY: Final = "torch.distributed.is_initialized"
_SHORT: Final = 6
"""So many statements has a function that answers a question at most."""
_DEPTH: Final = 3
_SAMPLER: Final = "DistributedSampler"
_MAKERS: Final = frozenset({"Accelerator", "PartialState", "init_process_group"})
"""What a trainer's constructor makes the group with (accelerate 1.15.0 accelerate/state.py `PartialState.__init__`)."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A place that asks for the group, and what keeps the answer."""

    function: Function
    asked: ast.expr
    what: str
    """`self.is_distributed`, or the sampler's class."""

    @property
    def divides(self) -> bool:
        """Whether the answer decides that the ranks divide the data."""
        return self.what == _SAMPLER


def kept_answers(live: LiveProgram) -> tuple[Kept, ...]:
    """The places of reported files that keep what `is_initialized()` says."""
    return tuple(
        kept
        for module in live.modules
        if any(word in module.source.text for word in (_SAMPLER, "is_initialized", "distributed"))
        for function in module.all_functions
        if not function.is_module_body
        for kept in _kept_in(live, function)
    )


@all_remembered
def _kept_in(live: LiveProgram, function: Function) -> Iterator[Kept]:
    in_constructor = function.name == "__init__" and function.cls is not None
    for node in own_nodes(function, ast.IfExp, ast.If, ast.Assign):
        match node:
            case ast.IfExp(test=test, body=body, orelse=ast.Constant(value=None)):
                if _makes_sampler(body) and asks_for_group(live.program, function.module, test):
                    yield Kept(function, test, _SAMPLER)
            case ast.If(test=test, body=[ast.Assign(value=value)]) if _makes_sampler(value):
                if asks_for_group(live.program, function.module, test):
                    yield Kept(function, test, _SAMPLER)
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id="self")) as target], value=value
            ) if in_constructor and _is_test(value) and _decides(function, target.attr):
                if _is_replaced(function, node, target.attr):
                    continue
                if asks_for_group(live.program, function.module, value):
                    yield Kept(function, value, ast.unparse(target))


def _is_replaced(constructor: Function, first: ast.Assign, attr: str) -> bool:
    """Whether each way on through the constructor keeps another answer, before anything of it reads the first.

    VISTA f73d7c2 vista2d/scripts/workflow.py:101: asked again behind `init_process_group()`, and False in the other arm.
    """
    again = next(
        (s for s in constructor.body if s.lineno > first.lineno and _puts([s], attr)), None
    )
    return again is not None and not any(
        node.attr == attr
        and isinstance(node.ctx, ast.Load)
        and first.lineno < node.lineno <= (again.end_lineno or again.lineno)
        for node in own_nodes(constructor, ast.Attribute)
    )


def _puts(block: list[ast.stmt], attr: str) -> bool:
    """Whether each way through a block puts something into an attribute of the object."""
    for statement in block:
        match statement:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)]):
                if name == attr:
                    return True
            case ast.If(body=body, orelse=orelse) if _puts(body, attr) and _puts(orelse, attr):
                return True
    return False


def _decides(constructor: Function, attr: str) -> bool:
    """Whether a method of the class asks an attribute which way to go."""
    assert constructor.cls is not None
    return any(
        isinstance(part, ast.Attribute) and part.attr == attr and isinstance(part.ctx, ast.Load)
        for method in constructor.cls.methods.values()
        for node in own_nodes(method, ast.If, ast.IfExp)
        for part in walk(node.test)
    )


def _makes_sampler(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == _SAMPLER


def _is_test(node: ast.expr) -> bool:
    """Whether an expression is a yes or no by itself: calls, and what joins and compares them."""
    match node:
        case ast.BoolOp(values=values):
            return all(map(_is_test, values))
        case ast.Compare(left=left, comparators=[ast.Constant()]):
            return _is_test(left)
        case ast.Call(args=[], keywords=[]):
            return True
    return False


def asks_for_group(program: Program, module: Module, node: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether a test is false on every process as long as there is no group, by what it calls.

    Of `a and b` one part is enough; a function that reads the launcher's variables knows better.
    """
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            return any(asks_for_group(program, module, each, depth) for each in values)
        case ast.Compare(left=left, ops=[ast.Gt()], comparators=[ast.Constant(value=1)]):
            return _counts_one_process(program, module, left)
        case ast.Call(func=func, args=[], keywords=[]):
            meaning = program.resolve_dotted(module, ast.unparse(func))
            if isinstance(meaning, Function):
                return depth > 0 and _answers(program, meaning, depth)
            return meaning == _READY
    return False


def _answers(program: Program, function: Function, depth: int) -> bool:
    """Whether a function of the project says no more than that the group is there."""
    if len(function.body) > _SHORT or function.parameters or _knows_launcher(function):
        return False
    returned = [n.value for n in own_nodes(function, ast.Return)]
    if [v for v in returned if v is not None and _asks(program, function, v, depth)]:
        return True
    denied = any(
        isinstance(node.test, ast.UnaryOp)
        and isinstance(node.test.op, ast.Not)
        and _asks(program, function, node.test.operand, depth)
        and [s for s in node.body if isinstance(s, ast.Return) and _is_constant(s.value, False)]
        for node in own_nodes(function, ast.If)
    )
    return denied and any(_is_constant(v, True) for v in returned)


def _asks(program: Program, function: Function, node: ast.expr, depth: int) -> bool:
    return asks_for_group(program, function.module, node, depth - 1)


@remembered
def _knows_launcher(function: Function) -> bool:
    return "environ" in ast.unparse(function.node) or "getenv" in ast.unparse(function.node)


def _counts_one_process(program: Program, module: Module, node: ast.expr) -> bool:
    """Whether a number of ranks is 1 as long as there is no group: a function that asks for it first."""
    match node:
        case ast.Call(func=func, args=[], keywords=[]):
            meaning = program.resolve_dotted(module, ast.unparse(func))
            if not isinstance(meaning, Function) or len(meaning.body) > _SHORT:
                return False
            text = ast.unparse(meaning.node)
            returned = [n.value for n in own_nodes(meaning, ast.Return)]
            return (
                not _knows_launcher(meaning)
                and "get_world_size()" in text
                and any(_is_constant(value, 1) for value in returned)
                and any(
                    asks_for_group(program, meaning.module, n) for n in own_nodes(meaning, ast.Call)
                )
            )
    return False


def _is_constant(node: ast.expr | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def prepared_by(live: LiveProgram, function: Function, made: ast.Call) -> bool:
    """Whether a loader of a function goes to an object that hands it to accelerate's `prepare()` when it is made.

    EasyNLP a4ee956 examples/BeautifulPrompt/train_sft.py:41: `SFTTrainer(model, tokenizer, train_dataloader, …)`, whose
    constructor prepares `self.train_dataloader`: accelerate divides it, whatever its sampler.
    """
    cls = live.resolve(function.module, made.func)
    init = live.program.find_method(cls, "__init__") if isinstance(cls, Class) else None
    if init is None:
        return False
    prepared = {
        dotted_name(argument)
        for node in own_nodes(init, ast.Call)
        if last_name(node.func) == "prepare"
        for argument in node.args
    }
    kept = assignments(init)
    return any(
        name in prepared
        or any(path in prepared and _is_name(values, name) for path, values in kept.items())
        for name in init.parameters[1:]
        if (given := argument_of(made, init, name)) is not None and _is_loader(function, given)
    )


def _is_name(values: list[ast.expr], name: str) -> bool:
    return any(isinstance(value, ast.Name) and value.id == name for value in values)


def _is_loader(function: Function, node: ast.expr) -> bool:
    return any(
        isinstance(value, ast.Call) and last_name(value.func).endswith("DataLoader")
        for value in assignments(function).get(dotted_name(node), ())
    )


def handed_to_maker(live: LiveProgram, kept: Kept) -> tuple[Function, ast.Call] | None:
    """A constructor that is given an object which has asked, and that makes the group itself.

    musiclm-pytorch 4a78b41 musiclm_pytorch/distributed.py:73: `AllGather` is a part of `MuLaN`, of which `MuLaNTrainer`
    gets one, before it makes its Accelerator.

    Returns:
        The constructor, and the call in it that makes the group; None where there is none.
    """
    for constructor, made, given in live.answer(_makers_given):
        if kept.function.cls is not None and any(
            kept.function.cls in parts(live, cls)[0] for cls in given
        ):
            return constructor, made
    return None


def _makers_given(live: LiveProgram) -> tuple[tuple[Function, ast.Call, tuple[Class, ...]], ...]:
    """The constructors that make the group: each with the call, and the classes of models that it is given."""
    found = []
    for module in live.modules:
        if not any(word in module.source.text for word in _MAKERS):
            continue
        for function in module.all_functions:
            if function.name != "__init__" or function.cls is None:
                continue
            makes = [n for n in own_nodes(function, ast.Call) if last_name(n.func) in _MAKERS]
            given = tuple(_given(live, function)) if makes else ()
            if given:
                found.append((function, makes[0], given))
    return tuple(found)


def _given(live: LiveProgram, function: Function) -> Iterator[Class]:
    spec = function.node.args  # type: ignore[union-attr]
    for parameter in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
        annotation = parameter.annotation
        if isinstance(annotation, ast.Name | ast.Attribute):
            cls = live.resolve(function.module, annotation)
            if isinstance(cls, Class) and cls is not function.cls:
                bases = facts.with_bases(tuple(live.program.mro(cls)[1]))
                if "torch.nn.Module" in bases:
                    yield cls
