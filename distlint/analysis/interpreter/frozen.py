"""Whether a model that goes into `prepare()` has no parameter that requires grad, by syntax.

The functions that build such a model ask nothing of the rank and call no collective, so no run follows
them: what they return is read from their last statement.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from distlint.analysis.program.definitions import Class, Function, dotted_name, last_name
from distlint.analysis.program.handed import argument_of, calls_of
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.places import source_of
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import assignments
from distlint.knowledge import wrappers
from distlint.nodes import parents_in, walk
from distlint.patterns import pattern

_NEUTRAL: Final = frozenset({
    "bfloat16", "compile", "cpu", "cuda", "disable_gradient_checkpointing",
    "enable_gradient_checkpointing", "enable_xformers_memory_efficient_attention", "eval", "float",
    "gradient_checkpointing_enable", "half", "load_state_dict", "parameters", "requires_grad_",
    "state_dict", "to", "train",
})  # fmt: skip
"""Methods that make no parameter trainable; those of requires_grad are read more closely."""
_THAWS: Final = pattern(
    r"requires_grad(?!_\(False\)| = False)|_modules\[|setattr\(|(?<!self\.)(?:add_module|register_parameter)\(|adapter|peft"
    r"|inject|attn_processor|\.train\(|unfreeze|thaw"
)
"""What of a function may make a parameter of a model trainable, or put trainable layers into it."""
_LOOKS: Final = frozenset({"hasattr", "isinstance", "len", "print", "type"})
_DEPTH: Final = 3


@remembered
def is_frozen(program: Program, function: Function, model: ast.expr) -> bool:
    """Whether every parameter of `model` was frozen before this expression, and none thawed."""
    path = dotted_name(model)
    return bool(path) and (
        _is_frozen(program, function, path, model.lineno, _DEPTH)
        or _is_frozen_element(program, function, model)
    )


@remembered
def is_frozen_part(program: Program, cls: Class, attr: str) -> bool:
    """Whether the constructor of a class freezes a part of its objects, and nothing that names the part thaws any.

    adv_pytorch 27e28b1 advfaces.py:32: `for param in self.aux_matcher_model.parameters(): param.requires_grad = False`.
    """
    init = cls.methods.get("__init__")
    if init is None or cls.self_assigned.get(attr) != [init]:
        return False
    end = (init.body[-1].end_lineno or 0) + 1
    return _is_frozen(program, init, f"self.{attr}", end, _DEPTH) and not any(
        "requires_grad" in (text := source_of(function.module, function.node)) and attr in text
        for module in program.modules.values()
        if attr in module.source.text
        for function in module.all_functions
        if function is not init
    )


def _is_frozen_element(program: Program, function: Function, model: ast.expr) -> bool:
    """Whether a model is one of several, and a loop above has frozen each of them.

    Step1X-Edit 570eba6 library/kohya_trainer.py:857: `accelerator.prepare(t_enc) if flag else t_enc for t_enc, flag in
    zip(text_encoders, …)`, below `for i, t_enc in enumerate(text_encoders): t_enc.requires_grad_(False)`.
    """
    models = next(
        (
            over
            for node in walk(function.node, ast.ListComp, ast.GeneratorExp)
            if any(part is model for part in walk(node.elt))
            for each in node.generators
            for name, over in _elements(each.target, each.iter)
            if name == dotted_name(model)
        ),
        "",
    )
    since = [
        statement
        for statement in _straight(function.body)
        if models
        and isinstance(statement, ast.For)
        and (statement.end_lineno or 0) < model.lineno
        and any(
            over == models and _freezes_element(program, function, statement, name)
            for name, over in _elements(statement.target, statement.iter)
        )
    ]
    return bool(since) and not _may_thaw(
        program, function, models, since[-1].end_lineno or 0, model.lineno
    )


def _freezes_element(program: Program, function: Function, loop: ast.For, name: str) -> bool:
    freezing = [s for s in _straight(loop.body) if _freezes(program, function, s, name)]
    end = (loop.end_lineno or 0) + 1
    return bool(freezing) and not _may_thaw(program, function, name, freezing[0].lineno, end)


def _elements(target: ast.expr, over: ast.expr) -> Iterator[tuple[str, str]]:
    """The names that a loop binds to elements, each with the list that they are of."""
    match target, over:
        case ast.Tuple(elts=[_, element]), ast.Call(func=ast.Name(id="enumerate"), args=[inner]):
            yield from _elements(element, inner)
        case ast.Tuple(elts=names), ast.Call(func=ast.Name(id="zip"), args=lists):
            for name, each in zip(names, lists, strict=False):
                yield from _elements(name, each)
        case ast.Name(id=name), _ if dotted_name(over):
            yield name, dotted_name(over)


def _is_frozen(program: Program, function: Function, path: str, end: int, depth: int) -> bool:
    since, value, index = 0, None, None
    certain = set(_straight(function.body))
    other = _other_arms(function, end)
    frozen = False
    for statement in walk(function.node):
        line = getattr(statement, "end_lineno", 0)
        if not isinstance(statement, ast.stmt) or not since <= line < end or line in other:
            continue
        if _freezes(program, function, statement, path):
            if statement in certain:
                since, frozen, value = line, True, None
        elif isinstance(statement, ast.Assign):
            if _same_object(statement.value, path) and not _ends_frozen(statement.value):
                continue
            for target in statement.targets:
                parts = target.elts if isinstance(target, ast.Tuple) else [target]
                for position, part in enumerate(parts):
                    if dotted_name(part) == path:
                        since, frozen, value = line, False, statement.value
                        index = position if part is not target else None
                        if _ends_frozen(value) and statement in certain:
                            frozen, value = True, None
    if value is not None and depth:
        frozen = _returns_frozen(program, function, value, index, depth - 1)
    elif not since and depth and path in function.parameters:
        frozen = _is_handed_frozen(program, function, path, depth - 1)
    return frozen and not _may_thaw(program, function, path, since, end)


@remembered
def _other_arms(function: Function, line: int) -> frozenset[int]:
    """The lines above that do not run where a line does: those of the `if` whose `else` it is in."""
    return frozenset(
        each
        for node in walk(function.node, ast.If)
        if node.orelse
        if node.orelse[0].lineno <= line <= (node.orelse[-1].end_lineno or line)
        for each in range(node.body[0].lineno, node.orelse[0].lineno)
    )


def _is_handed_frozen(program: Program, function: Function, path: str, depth: int) -> bool:
    """Whether each call of a function hands it a frozen model for a parameter.

    musubi-tuner 30c658c src/musubi_tuner/training/trainer_base.py:1520: one method loads the model and freezes it, and
    `train()` hands it to the one that prepares it.
    """
    given = [
        (user, argument_of(call, function, path)) for user, call in calls_of(program, function)
    ]
    return bool(given) and all(
        model is not None
        and bool(dotted_name(model))
        and _is_frozen(program, user, dotted_name(model), model.lineno, depth)
        for user, model in given
    )


def _straight(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that always run: those of a `with` too, and of a script's own block (DDT 1d1b4d2 tools/mm.py:9)."""
    for statement in body:
        yield statement
        match statement:
            case ast.With(body=inner) | ast.AsyncWith(body=inner):
                yield from _straight(inner)
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__")), body=inner):
                yield from _straight(inner)


def _freezes(
    program: Program, function: Function, statement: ast.stmt, path: str, depth: int = _DEPTH
) -> bool:
    """Whether a statement freezes all of a model: itself, in a loop over several, or by a function of the project."""
    match statement:
        case ast.Expr(value=ast.Call() as call):
            return (_ends_frozen(call) and _root(call) == path) or (
                depth > 0 and _hands_to_freezing(program, function, call, path, depth - 1)
            )
        case ast.For(
            target=ast.Name(id=name),
            iter=ast.Call(func=ast.Attribute(value=model, attr="parameters")),
            body=[inner],
        ) if dotted_name(model) == path:
            return ast.unparse(inner) in (
                f"{name}.requires_grad = False",
                f"{name}.requires_grad_(False)",
                f"{name}.detach_()",
            )
        case ast.For(iter=ast.List() | ast.Tuple() as models) if _holds(models, path):
            return _freezes_each(program, function, statement, depth)
    return False


def _freezes_each(program: Program, function: Function, loop: ast.For, depth: int) -> bool:
    """Whether a loop over models freezes each: what asks whether there is one leaves none out."""
    if not isinstance(loop.target, ast.Name):
        return False
    name = loop.target.id
    body = [
        inner
        for statement in loop.body
        for inner in (
            statement.body
            if isinstance(statement, ast.If)
            and ast.unparse(statement.test) in (name, f"{name} is not None")
            else [statement]
        )
    ]
    return any(_freezes(program, function, inner, name, depth) for inner in _straight(body))


def _hands_to_freezing(
    program: Program, function: Function, call: ast.Call, path: str, depth: int
) -> bool:
    """Whether a call hands a model to a function of the project that freezes it, by itself or among others.

    MotionDirector 0146a50 MotionDirector_train.py:564: `freeze_models([vae, text_encoder, unet])`.
    """
    given = [arg.value if isinstance(arg, ast.Starred) else arg for arg in call.args]
    given += [keyword.value for keyword in call.keywords]
    if not any(dotted_name(each) == path or _holds(each, path) for each in given):
        return False
    called = program.resolve_dotted(function.module, dotted_name(call.func))
    if not isinstance(called, Function):
        return False
    return any(
        _freezes(program, called, statement, name, depth)
        if dotted_name(argument) == path
        else isinstance(statement, ast.For)
        and dotted_name(statement.iter) == name
        and _freezes_each(program, called, statement, depth)
        for name in called.parameters
        if (argument := argument_of(call, called, name)) is not None
        and (dotted_name(argument) == path or _holds(argument, path))
        for statement in _straight(called.body)
    )


def _holds(models: ast.expr, path: str) -> bool:
    return isinstance(models, ast.List | ast.Tuple) and any(
        dotted_name(each) == path for each in models.elts
    )


def _ends_frozen(value: ast.expr) -> bool:
    """Whether a chain of calls freezes the object that it gives: `build().requires_grad_(False).eval()`."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr == "requires_grad_":
            given = [*value.args, *(k.value for k in value.keywords)]
            return len(given) == 1 and isinstance(given[0], ast.Constant) and not given[0].value
        if value.func.attr not in _NEUTRAL:
            return False
        value = value.func.value
    return False


def _root(value: ast.expr) -> str:
    """The path at the head of a chain of neutral calls."""
    while (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in _NEUTRAL
    ):
        value = value.func.value
    return dotted_name(value)


def _same_object(value: ast.expr, path: str) -> bool:
    """`model = model.to(device)`."""
    return isinstance(value, ast.Call) and _root(value) == path


def _returns_frozen(
    program: Program, function: Function, value: ast.expr, index: int | None, depth: int
) -> bool:
    """Whether a value is what a function of the project froze and returns, or a copy that its class froze."""
    if not isinstance(value, ast.Call):
        return False
    maker = program.resolve_dotted(function.module, dotted_name(value.func))
    match value.func:
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if function.cls is not None:
            makers = _methods(program, function.cls, name)
            return bool(makers) and all(_gives_frozen(program, m, index, depth) for m in makers)
    match maker:
        case Class():
            return index is None and _keeps_frozen(program, maker, depth)
        case str():
            flag = wrappers.FROZEN_COPIES.get(maker)
            return flag is not None and any(
                k.arg == flag and isinstance(k.value, ast.Constant) and k.value.value is False
                for k in value.keywords
            )
    return isinstance(maker, Function) and _gives_frozen(program, maker, index, depth)


def _methods(program: Program, cls: Class, name: str) -> list[Function]:
    """The methods that a name may be of on the objects of a class: its own or a base's, and those that override it."""
    own = program.find_method(cls, name)
    below = (each.methods.get(name) for each in program.subclasses(cls))
    return [method for method in (own, *below) if method is not None]


def _gives_frozen(program: Program, maker: Function, index: int | None, depth: int) -> bool:
    """Whether a function freezes what it returns, or the part of it at an index."""
    returns = [n.value for n in walk(maker.node, ast.Return)]
    if len(returns) != 1 or returns[0] is None:
        return False
    given = returns[0]
    if index is not None:
        if not isinstance(given, ast.Tuple) or index >= len(given.elts):
            return False
        given = given.elts[index]
    path = dotted_name(given)
    return _ends_frozen(given) or (
        bool(path) and _is_frozen(program, maker, path, given.lineno, depth)
    )


def _keeps_frozen(program: Program, cls: Class, depth: int) -> bool:
    """Whether all that the objects of a module class keep of a model is a copy that the constructor froze: an average
    of the weights."""
    init = cls.methods.get("__init__")
    own, outside = program.mro(cls)
    if init is None or len(own) > 1 or any(base != "torch.nn.Module" for base in outside):
        return False
    end = (init.body[-1].end_lineno or 0) + 1
    kept = {name: values for name, values in assignments(init).items() if name.startswith("self.")}
    frozen = {name for name in kept if _is_frozen(program, init, name, end, depth)}
    others = [value for name in kept.keys() - frozen for value in kept[name]]
    models = {node.id for name in frozen for value in kept[name] for node in walk(value, ast.Name)}
    return bool(frozen) and not any(
        isinstance(value, ast.Call) or dotted_name(value) in models for value in others
    )


def _may_thaw(program: Program, function: Function, path: str, start: int, end: int) -> bool:
    """Whether a parameter may become trainable between two lines: adapters, a part, unknown code."""
    other = _other_arms(function, end)
    for statement in walk(function.node):
        if not isinstance(statement, ast.stmt) or statement.lineno <= start:
            continue
        if (
            statement.lineno in other
            or (statement.end_lineno or end) >= end
            or _freezes(program, function, statement, path)
        ):
            continue
        parents = parents_in(statement)
        for node in walk(statement, ast.Name, ast.Attribute):
            if (
                isinstance(node.ctx, ast.Load)
                and dotted_name(node) == path
                and _thaws(node, parents, statement)
                and not _is_left_frozen(program, node, parents)
            ):
                return True
    return False


def _thaws(node: ast.AST, parents: dict[int, ast.AST], statement: ast.stmt) -> bool:
    match parents.get(id(node)):
        case ast.Attribute() as member:
            called = parents.get(id(member))
            is_method = isinstance(called, ast.Call) and called.func is member
            if is_method and member.attr not in _NEUTRAL:
                return True
            return "requires_grad" in ast.unparse(statement)
        case ast.Call(func=func):
            return func is not node and dotted_name(func) not in _LOOKS  # its forward thaws nothing
        case ast.Return():
            return False
    return True


def _is_left_frozen(program: Program, node: ast.expr, parents: dict[int, ast.AST]) -> bool:
    """Whether a call is handed a model, or is one of its methods, and nothing of that name in the program thaws it.

    A network of LoRA that keeps its layers for itself, and only takes the place of the model's calls (musubi-tuner 30c658c
    src/musubi_tuner/networks/lora.py:133).
    """
    call = _call_with(node, parents)
    if call is None:
        return False
    named = _called_by(program, call)
    return bool(named) and not any(
        _thaws_what_it_gets(program, function, call, node, _DEPTH) for function in named
    )


def _call_with(node: ast.AST, parents: dict[int, ast.AST]) -> ast.Call | None:
    """The call that is handed an expression, or that is a method of it."""
    outer = parents.get(id(node))
    if isinstance(outer, ast.keyword | ast.Attribute):
        outer = parents.get(id(outer))
    return outer if isinstance(outer, ast.Call) else None


def _thaws_what_it_gets(
    program: Program, function: Function, call: ast.Call, model: ast.AST, depth: int
) -> bool:
    """Whether a function, or one of the program that it hands a model on to, has what makes parameters trainable."""
    if _has_what_thaws(function):
        return True
    if depth == 0:
        return False
    own = isinstance(call.func, ast.Attribute) and call.func.value is model
    got = {
        name
        for place, name in enumerate(function.parameters)
        if (place == 0 if own else argument_of(call, function, name) is model)
    }
    parents = parents_in(function.node)
    return any(
        _thaws_what_it_gets(program, each, handed, node, depth - 1)
        for node in walk(function.node, ast.Name)
        if node.id in got
        if (handed := _call_with(node, parents)) is not None
        for each in _called_by(program, handed)
        if each is not function
    )


def _called_by(program: Program, call: ast.Call) -> list[Function]:
    """The functions of a program that a call may run, by their name."""
    name = last_name(call.func)
    return [] if name in _NEUTRAL else _named(program).get(name, [])


@remembered
def _named(program: Program) -> dict[str, list[Function]]:
    """The functions of a program by name; a constructor by that of its class."""
    found: dict[str, list[Function]] = {}
    for function in program.functions():
        cls = function.cls if function.name == "__init__" else None
        found.setdefault(cls.name if cls is not None else function.name, []).append(function)
    return found


@remembered
def _has_what_thaws(function: Function) -> bool:
    return _THAWS.search(source_of(function.module, function.node)) is not None
