"""Calls of the abstract run: builtins, project functions, and what the tables know of libraries."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Final

from distlint.analysis.interpreter import expressions
from distlint.analysis.interpreter.ir import (
    CallSite,
    Event,
    Fail,
    Invoke,
    Known,
    Layer,
    Opaque,
    Run,
)
from distlint.analysis.interpreter.values import (
    NO_TAGS,
    UNKNOWN,
    Closure,
    Spread,
    Value,
    constant,
    spread_of,
)
from distlint.analysis.program.definitions import Class, Function, dotted_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.nodes import walk
from distlint.knowledge import facts, failures, hooks
from distlint.knowledge.schema import Call, Effect

if TYPE_CHECKING:
    from distlint.analysis.interpreter.frame import Frame

_LAYERS: Final[dict[Effect, Layer]] = {
    Effect.COLLECTIVE: Layer.ALWAYS,
    Effect.SHARDED_COLLECTIVE: Layer.SHARDED,
    Effect.WRAPPED_COLLECTIVE: Layer.WRAPPED,
}

_COMPUTED: Final[dict[str, Callable[..., Any]]] = {
    "int": int,
    "str": str,
    "float": float,
    "bool": bool,
    "abs": abs,
    "min": min,
    "max": max,
    "len": len,
    "round": round,
}

_MAX_RANGE: Final = 16

SUPER: Final = "builtins.super()"
"""The target of what `super()` gives; its methods are looked up behind the class it stands in."""


def evaluate_call(frame: Frame, node: ast.Call) -> Value:
    """The value of a call; what the call does is appended to the frame's steps."""
    if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
        return _super(frame, node)
    function = expressions.evaluate(frame, node.func)
    args: list[Value] = []
    known_arguments = True
    for argument in node.args:
        value = expressions.evaluate(frame, argument)
        if isinstance(argument, ast.Starred):
            if value.items is None:
                known_arguments = False
                args.append(value)
            else:
                args.extend(value.items)
        else:
            args.append(value)
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        value = expressions.evaluate(frame, keyword.value)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        else:
            known_arguments = False
            keywords["**"] = value  # no parameter has this name; what is in it goes into the result
    return dispatch(frame, node, function, args, keywords, known_arguments)


def dispatch(
    frame: Frame,
    node: ast.Call,
    function: Value,
    args: list[Value],
    keywords: dict[str, Value],
    known_arguments: bool,
) -> Value:
    """Call `function` with evaluated arguments."""
    match function.target:
        case Closure():
            named = _named_by_user(function.target.function) if facts.USER_ROWS else None
            if named is not None:
                return external(frame, node, named, function.target.receiver, args, keywords)
            if function.wraps and function.target.function.cls is None:
                return _forward(frame, node, function, args, keywords)
            return call_project(
                frame, function.target, args, keywords, node, node if known_arguments else None
            )
        case Class():
            return _construct(frame, node, function.target, args, keywords, known_arguments)
        case str():
            if function.target.startswith("builtins."):
                return _builtin(frame, node, function.target[9:], args, keywords)
            return external(frame, node, function.target, function.receiver, args, keywords)
    if function.wraps:
        return _forward(frame, node, function, args, keywords)
    if function.type is not None and function.type in frame.engine.classes:
        cls = frame.engine.classes[function.type]
        method = frame.engine.program.find_method(
            cls, "__call__"
        ) or frame.engine.program.find_method(cls, "forward")
        if method is not None:
            return call_project(frame, Closure(method, {}, function), args, keywords, node, node)
    if isinstance(node.func, ast.Attribute):
        receiver = function.receiver
        if receiver is None:
            receiver = (
                expressions.evaluate(frame, node.func.value)
                if isinstance(node.func.value, ast.Constant)
                else None
            )
        return _method(frame, node, receiver, args, keywords)
    _hand_over(frame, node, [*args, *keywords.values()])
    return unknown_result(frame, node, [function, *args, *keywords.values()], pure=False)


def _named_by_user(function: Function) -> str | None:
    """The name under which the settings list a function of the project as a collective or rank test."""
    name = f"{function.module.name}.{function.qualname}"
    if name in facts.USER_ROWS:
        return name
    return f".{function.name}" if f".{function.name}" in facts.USER_ROWS else None


def unknown_result(frame: Frame, node: ast.AST, inputs: list[Value], *, pure: bool = True) -> Value:
    """What an unknown call returns: the same on all ranks unless an argument differs.

    Code that is not resolved at all (`pure` is false) may do anything with a rank's own data: it is not
    taken to hand the difference on. What depends on the rank number does.
    """
    spread, origin, tags = spread_of(inputs)
    if spread is Spread.LOCAL and not pure:
        spread, origin, tags = spread_of(v for v in inputs if v.spread is Spread.RANK)
    return Value(
        ("call", id(node)), UNKNOWN, spread, origin, tags=tags - {"world_size", "bool-mask"}
    )


def _super(frame: Frame, node: ast.Call) -> Value:
    function = frame.function
    while function.cls is None and function.parent is not None:
        function = function.parent
    receiver = frame.env.get("self") or frame.captured.get("self")
    return Value(("super", id(node)), target=SUPER, receiver=receiver)


def super_method(frame: Frame, attr: str) -> tuple[Function | None, tuple[str, ...]]:
    """What `super().attr` means: the next project method, else the external bases to look it up in."""
    function = frame.function
    while function.cls is None and function.parent is not None:
        function = function.parent
    if function.cls is None:
        return None, ()
    receiver = frame.env.get("self") or frame.captured.get("self")
    cls = (
        frame.engine.classes.get(receiver.type) if receiver is not None and receiver.type else None
    )
    program = frame.engine.program
    return program.find_method(cls or function.cls, attr, after=function.cls), program.mro(
        function.cls
    )[1]


def _method(
    frame: Frame,
    node: ast.Call,
    receiver: Value | None,
    args: list[Value],
    keywords: dict[str, Value],
) -> Value:
    """A method whose receiver's class is not of the project: by the class's name, else by the method's."""
    assert isinstance(node.func, ast.Attribute)
    name = node.func.attr
    if receiver is not None:
        if isinstance(receiver.target, str) and receiver.target == SUPER:
            method, outside = super_method(frame, name)
            this = receiver.receiver
            if method is not None:
                return call_project(frame, Closure(method, {}, this), args, keywords, node, node)
            for type_ in facts.with_bases(outside):
                known = facts.inherited_call(type_, name, frame.module.source.text)
                if known is not None:
                    return external(frame, node, known, this, args, keywords)
            return unknown_result(frame, node, [*args, *keywords.values()])
        if receiver.type is not None:
            cls = frame.engine.classes.get(receiver.type)
            outside = frame.engine.program.mro(cls)[1] if cls is not None else (receiver.type,)
            for type_ in facts.with_bases(outside):
                dotted = f"{type_}.{name}"
                if facts.is_known_call(dotted):
                    return external(frame, node, dotted, receiver, args, keywords)
            if name == "start" and cls is not None and not hooks.THREADS.isdisjoint(outside):
                run = frame.engine.program.find_method(cls, "run")
                if run is not None:
                    call_project(frame, Closure(run, {}, receiver), [], {}, node, node)
            if cls is None:
                return external(frame, node, f"{receiver.type}.{name}", receiver, args, keywords)
        if receiver.wraps:
            for wrap in reversed(receiver.wraps):
                dotted = f"{facts.WRAPPER_TYPES.get(wrap.kind, '')}.{name}"
                if dotted in facts.CALLS:
                    return external(frame, node, dotted, receiver, args, keywords)
    known = facts.model_method(name, dotted_name(node.func.value), frame.module.source.text)
    return external(frame, node, known or f".{name}", receiver, args, keywords)


def external(
    frame: Frame,
    node: ast.Call,
    name: str,
    receiver: Value | None,
    args: list[Value],
    keywords: dict[str, Value],
) -> Value:
    """A call of something outside the project, or of a method known by its name alone."""
    by_name = name.startswith(".")
    rows: tuple[Call, ...] = (
        facts.METHODS.get(name[1:], ()) if by_name else facts.CALLS.get(name, ())
    ) or ()
    site = frame.site(node, name, receiver, args, keywords, rows, None)
    inputs = [*args, *keywords.values()]
    if not rows:
        _hand_over(frame, node, inputs, name)
    result = _rank_predicate(frame, node, name, by_name, args)
    if result is None and not by_name:
        result = _special(frame, node, name, args, keywords)
    if result is None:
        result = _wrapping(frame, node, name, receiver, args, keywords)
    for row in rows:
        outcome = _perform(frame, site, row, args)
        result = outcome if result is None else result
    failure = (facts.METHOD_FAILURES if by_name else facts.FAILURES).get(name.removeprefix("."))
    if failure is not None:
        _may_fail(frame, node, failure)
    if result is None:
        result = _local(frame, node, name, by_name, receiver, args)
    if result is None:
        last = name.rpartition(".")[2]
        if last[:1].isupper() and not by_name and not last.isupper():
            spread, origin, tags = spread_of(inputs)
            # Objects made from the rank are not themselves what ranks decide by, but they carry it (paths).
            type_ = None if _is_alone(name, keywords) else name
            result = Value(("instance", id(node)), UNKNOWN, spread, origin, type=type_, tags=tags)
        else:
            if by_name and (receiver is None or receiver.spread is not Spread.LOCAL):
                result = unknown_result(frame, node, inputs, pure=False)
            else:
                result = unknown_result(frame, node, [*inputs, *([receiver] if receiver else [])])
            if last in facts.MASK_METHODS:
                result.tags = result.tags | {"bool-mask"}
            elif last in facts.SAME_MODEL_METHODS and receiver is not None and not args[1:]:
                # `model.to(device)`, `model.eval()` give the model back.
                result = receiver
    site.result = result
    return result


def _is_alone(name: str, keywords: dict[str, Value]) -> bool:
    """Whether an object that is made with these arguments belongs to this process alone."""
    row = facts.ALONE.get(name)
    if row is None or "num_nodes" in keywords:
        return False
    keyword, values = row
    return keyword in keywords and keywords[keyword].const in values


def _may_fail(frame: Frame, node: ast.AST, failure: str) -> None:
    """Something may fail on one rank alone: caught here, or what the function that calls this may catch."""
    if frame.tries:
        frame.steps.append(Fail(node, failure))
    elif failure in failures.CATCHES and not frame.run.failure:
        frame.run.failure = failure


def _catches(statement: ast.Try, failure: str) -> bool:
    """Whether a `try` names an exception that a failure below raises, or catches all."""
    for handler in statement.handlers:
        caught = handler.type
        for name in caught.elts if isinstance(caught, ast.Tuple) else [caught]:
            if name is None or dotted_name(name).rpartition(".")[2] in failures.CATCHES[failure]:
                return True
    return False


def _hand_over(frame: Frame, node: ast.Call, inputs: list[Value], name: str = "") -> None:
    """Unknown code that receives a function or generator of the project may run it; a thread does."""
    for value in inputs:
        if value.type == "generator" and value.receiver is not None:
            frame.steps.append(Opaque(value.receiver.const, node, frame.module))
        elif isinstance(value.target, Closure) and not value.target.function.is_generator:
            closure = value.target
            run = frame.engine.run(
                closure.function, frame.run.rank, {}, closure.receiver, closure.captured
            )
            frame.run.children.append(run)
            frame.run.consulted |= run.consulted
            frame.steps.append(
                Invoke(run, node) if name in hooks.THREADS else Opaque(run, node, frame.module)
            )


def _rank_predicate(
    frame: Frame, node: ast.Call, name: str, by_name: bool, args: list[Value]
) -> Value | None:
    kind = facts.ANY_METHODS.get(name[1:]) if by_name else facts.FUNCTIONS.get(name)
    if kind is None:
        return None
    if (
        args
        and kind in ("rank", "local_rank", "is_main", "world_size")
        and args[0].const is not None
    ):
        # A rank inside the group that was passed.
        kind = "group_rank" if kind != "world_size" else "group_size"
    return frame.rank_value(kind, node, f"`{dotted_name(node.func) or name.lstrip('.')}()`")


def _special(
    frame: Frame, node: ast.Call, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value | None:
    """Library functions whose value can be computed."""
    if name in ("os.getenv", "os.environ.get", "os.environ.setdefault", "os.environ.pop"):
        if args and isinstance(args[0].const, str):
            return expressions.environment(
                frame, args[0].const, node, args[1] if len(args) > 1 else None
            )
        return None
    if (
        name
        in (
            "functools.partial",
            "functools.wraps",
            "copy.copy",
            "copy.deepcopy",
            "typing.cast",
            "typing_extensions.cast",
        )
        and args
    ):
        return (
            args[-1] if name.endswith("cast") else args[0] if not name.endswith("wraps") else None
        )
    return None


def _wrapping(
    frame: Frame,
    node: ast.Call,
    name: str,
    receiver: Value | None,
    args: list[Value],
    keywords: dict[str, Value],
) -> Value | None:
    """Calls that put a layer around a model, or take the layers off."""
    if facts.is_unwrap(name):
        if not args:
            return None
        return args[0].but(
            key=("unwrapped", args[0].key),
            wraps=(),
            tags=args[0].tags | {"unwrapped"},
            spread=Spread.UNIFORM,
            origin=None,
        )
    wrapper = facts.wrapper(name)
    if wrapper is None:
        return None
    unless = keywords.get(wrapper.unless)
    if unless is not None and unless.truthiness() is True:
        return args[0] if args else None
    layers = frame.wraps(wrapper.kinds, node)
    if wrapper.each_argument:
        items = tuple(
            _wrapped_argument(value, layers, node, i, expression)
            for i, (value, expression) in enumerate(zip(args, node.args, strict=False))
        )
        if any(isinstance(a, ast.Starred) for a in node.args) or not items:
            return None
        return items[0] if len(items) == 1 else Value(("call", id(node)), items=items, truth=True)
    model = next((keywords[k] for k in wrapper.model_keywords if k in keywords), None)
    if model is None and wrapper.model_position is not None and wrapper.model_position < len(args):
        model = args[wrapper.model_position]
    base = model if model is not None else Value(("call", id(node)))
    wrapped = base.but(
        key=("wrapped", id(node)),
        wraps=(*base.wraps, *layers),
        tags=base.tags - {"unwrapped"},
        target=None,
        spread=Spread.UNIFORM,
        origin=None,
        receiver=None,
    )
    if wrapper.result_index is None:
        return wrapped
    items = tuple(
        wrapped if i == wrapper.result_index else Value(("item", ("call", id(node)), i))
        for i in range(wrapper.result_length)
    )
    return Value(("call", id(node)), items=items, truth=True)


def _wrapped_argument(
    value: Value, layers: tuple[Any, ...], node: ast.Call, index: int, expression: ast.expr
) -> Value:
    """An argument of `prepare()` as it comes back: only models are wrapped."""
    key = ("prepared", id(node), index)
    if facts.is_data_or_optimizer(value.type, dotted_name(expression)):
        return value.but(key=key, tags=value.tags | {"prepared"})
    return value.but(
        key=key,
        wraps=(*value.wraps, *layers),
        tags=(value.tags - {"unwrapped"}) | {"prepared"},
        target=None,
    )


def _perform(frame: Frame, site: CallSite, row: Call, args: list[Value]) -> Value | None:
    """Carry out one row: events, arguments filled, and the result."""
    node = site.node
    if row.when and not _condition_holds(site, row.when):
        return None
    if row.mentions and any("version" in ast.unparse(guard.node) for guard in site.guards):
        # What other versions do is another matter (accelerate 0.22.0 data_loader.py:556).
        return None
    layer = _LAYERS.get(row.effect)
    for extra in row.also:
        layer = _LAYERS.get(extra) if layer is None else layer
    if layer is not None and not row.context:
        frame.event(row, layer, node, site)
    elif row.effect in (Effect.WAIT, Effect.SEND):
        return None
    elif row.effect is Effect.EXIT:
        frame.leave("failure" if args and fails(args[0]) else "process", node)
    if layer is None:
        return None
    uniform = Value(("filled", id(node)))
    for position in row.fills:
        if position < len(node.args):
            frame.fill(node.args[position], uniform)
    for keyword in node.keywords:
        if keyword.arg in row.fills_keywords:
            frame.fill(keyword.value, uniform)
    match row.result:
        case "none":
            return constant(None)
        case "rank":
            return Value(
                ("call", id(node), frame.run.rank.rank),
                UNKNOWN,
                Spread.RANK,
                frame.origin(node, f"the result of `{row.op}`"),
            )
        case "local":
            return Value(
                ("call", id(node)),
                UNKNOWN,
                Spread.LOCAL,
                frame.origin(node, f"the result of `{row.op}`", "data"),
            )
        case "same-as-arg":
            return (
                args[0].but(
                    spread=Spread.UNIFORM, origin=None, key=("call", id(node)), const=UNKNOWN
                )
                if args
                else None
            )
        case "group":
            return Value(("call", id(node)), tags=frozenset({"group"}), truth=True)
        case "work":
            return Value(("call", id(node)), tags=frozenset({"work"}))
        case "wrapped":
            return None
    if frame.is_grouped(site, row):
        return Value(("call", id(node), frame.run.rank.rank), tags=NO_TAGS)
    return Value(("call", id(node)))


def fails(code: Value) -> bool:
    """Whether a process that exits with this code has failed, so that the launcher ends the others.

    Source: python 3.11 `sys.exit`; torch 2.13.0 torch/distributed/elastic/multiprocessing/api.py:973.
    """
    return code.known and code.const not in (None, 0)


def _condition_holds(site: CallSite, when: str) -> bool:
    """Whether an argument may have the value that a row asks for (`download=True`)."""
    keyword, _, wanted = when.partition("=")
    value = site.keywords.get(keyword.strip())
    if value is None:
        return False
    truth = value.truthiness()
    return (
        truth is None or str(value.const) == wanted.strip() or (wanted.strip() == "True" and truth)
    )


def _local(
    frame: Frame,
    node: ast.Call,
    name: str,
    by_name: bool,
    receiver: Value | None,
    args: list[Value],
) -> Value | None:
    """Calls whose result is each rank's own: tensor contents, the clock, files, random names."""
    fact = facts.LOCAL_METHODS.get(name[1:]) if by_name else facts.LOCAL_CALLS.get(name)
    if fact is None:
        return None
    if fact.needs_local_input:
        spread, _, tags = spread_of([*([receiver] if receiver is not None else []), *args])
        if spread is not Spread.LOCAL and not tags & {"masked"}:
            return None
    tags = (receiver.tags if receiver is not None else NO_TAGS) | {fact.tag}
    return Value(
        ("call", id(node)),
        UNKNOWN,
        Spread.LOCAL,
        frame.origin(node, fact.text, fact.tag),
        tags=tags,
    )


def _forward(
    frame: Frame, node: ast.Call, model: Value, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A call of a wrapped model: its forward is a collective of the wrapper's."""
    site = frame.site(node, "forward", model, args, keywords, (), None)
    layer = Layer.WRAPPED if facts.replicates(model.wraps) else Layer.SHARDED
    local = layer is Layer.WRAPPED and frame.without_gradients and _keeps_buffers(model)
    if facts.forward_waits(model.wraps) and not local:
        frame.steps.append(Event("forward", layer, node, frame.module, site=site))
    result = Value(
        ("call", id(node)),
        UNKNOWN,
        Spread.LOCAL,
        frame.origin(node, "the output of this rank's batch", "tensor"),
        tags=frozenset({"model-output"}),
    )
    site.result = result
    return result


def _keeps_buffers(model: Value) -> bool:
    """Whether DDP was told not to broadcast buffers: then a forward without gradients stays local.

    With buffers, the first forward after a step with gradients broadcasts them, in evaluation as well
    (torch 2.13.0 torch/nn/parallel/distributed.py:1781, :2382).
    """
    return any(
        keyword.arg == "broadcast_buffers"
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is False
        for wrap in model.wraps
        if wrap.kind == "ddp" and isinstance(wrap.node, ast.Call)
        for keyword in wrap.node.keywords
    )


def _construct(
    frame: Frame,
    node: ast.Call,
    cls: Class,
    args: list[Value],
    keywords: dict[str, Value],
    known_arguments: bool,
) -> Value:
    spread, origin, tags = spread_of([*args, *keywords.values()])
    instance = Value(
        ("instance", id(node)), UNKNOWN, type=cls.full_name, tags=tags, spread=spread, origin=origin
    )
    init = frame.engine.program.find_method(cls, "__init__")
    if init is not None:
        call_project(
            frame,
            Closure(init, {}, instance),
            args,
            keywords,
            node,
            node if known_arguments else None,
        )
    else:
        outside = frame.engine.program.mro(cls)[1]
        for type_ in facts.with_bases(outside):
            if type_ in facts.CALLS:
                external(frame, node, type_, None, args, keywords)
                break
    frame.site(node, cls.full_name, None, args, keywords, (), None)
    return instance


def call_project(
    frame: Frame,
    closure: Closure,
    args: list[Value],
    keywords: dict[str, Value],
    node: ast.AST,
    call: ast.Call | None,
) -> Value:
    """Call a project function: run it for this class of ranks, and take over its steps and result."""
    function = closure.function
    found = deciding_decorator(frame, function)
    if found is not None:
        frame.consult(found[1])
        if frame.run.rank.fact(found[1]) is False:
            text = f"`{function.name}` runs on the main process only"
            return constant(None, Spread.RANK, frame.origin(node, text))
    if isinstance(node, ast.Call):
        frame.site(
            node,
            f"{function.module.name}.{function.qualname}",
            closure.receiver,
            args,
            keywords,
            (),
            function,
        )
    if frame.engine.is_plain(function, [*args, *keywords.values()]) and not function.is_generator:
        result = unknown_result(frame, node, [*args, *keywords.values()], pure=False)
        return result.but(key=_ident(closure, args, keywords, node))
    bound = (
        bind(function, closure.receiver, args, keywords)
        if call is not None or not isinstance(node, ast.Call)
        else {}
    )
    run = frame.engine.run(function, frame.run.rank, bound, closure.receiver, closure.captured)
    frame.run.children.append(run)
    frame.run.consulted |= run.consulted
    if closure.receiver is not None and closure.receiver.key == ("self",):
        for name, value in run.self_attributes.items():
            frame.set_path(f"self.{name}", value)
    if function.is_generator or function.has_decorator("contextmanager", "asynccontextmanager"):
        return Value(
            ("generator", id(node)),
            target=None,
            type="generator",
            receiver=Value(("run",), const=run),
        )
    if run.failure and (not frame.tries or _catches(frame.tries[-1], run.failure)):
        _may_fail(frame, node, run.failure)
    if run.steps:
        frame.steps.append(Invoke(run, node, _not_told(run, bound)))
    returned = run.returns
    if returned is None:
        return constant(None)
    key = returned.key
    if (
        isinstance(key, tuple)
        and len(key) == 3
        and key[0] == "parameter"
        and key[1] == id(function)
    ):
        argument = bind(function, closure.receiver, args, keywords).get(key[2])
        if argument is not None:
            return _inside(argument) if facts.is_unwrap(function.name) else argument
    if facts.is_unwrap(function.name):
        returned = _inside(returned)
    if returned.known or returned.target is not None:
        return returned
    return returned.but(key=_ident(closure, args, keywords, node))


def _ident(
    closure: Closure, args: list[Value], keywords: dict[str, Value], node: ast.AST
) -> Hashable:
    """The number of a result: a function of the project answers the same question alike each time.

    axolotl 0.19.0 utils/callbacks/__init__.py:303 asks `is_distributed()` twice.
    """
    inputs = args if closure.receiver is None else [closure.receiver, *args]
    called = id(node) if keywords else None
    return ("returned", id(closure.function), tuple(value.key for value in inputs), called)


def _not_told(run: Run, bound: dict[str, Value]) -> Known:
    """Constant arguments of which a run does not know: a function has only so many runs."""
    told = run.variant[1] if isinstance(run.variant, tuple) else ()
    if len(told) >= len(bound):
        return ()
    names = {name for name, _ in told}
    return tuple(
        (name, value.const)
        for name, value in bound.items()
        if value.known and name not in names
        if value.const is None or isinstance(value.const, bool)
    )


def _inside(value: Value) -> Value:
    """The model that a project's own unwrapping function gives: its loops are not followed."""
    return value.but(wraps=(), tags=value.tags | {"unwrapped"})


def _sets_globals(function: Function) -> bool:
    return any(isinstance(node, ast.Global) for node in walk(function.node))


def deciding_decorator(frame: Frame, function: Function) -> tuple[ast.expr, str] | None:
    """The decorator that lets a function run on some ranks only, and the predicate it asks."""
    for decorator in function.decorators:
        dotted = dotted_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if not dotted:
            continue
        meaning = frame.engine.program.resolve_dotted(function.module, dotted)
        if isinstance(meaning, str) and meaning in facts.DECORATORS:
            return decorator, facts.DECORATORS[meaning]
        last = dotted.rpartition(".")[2]
        if isinstance(meaning, Function) and _sets_globals(meaning):
            # speechbrain 1.1.2 speechbrain/utils/distributed.py: inside, barriers do nothing.
            return None
        if (meaning is None or isinstance(meaning, Function)) and last in facts.ANY_DECORATORS:
            return decorator, facts.ANY_DECORATORS[last]
    return None


def bind(
    function: Function, receiver: Value | None, args: list[Value], keywords: dict[str, Value]
) -> dict[str, Value]:
    """Arguments by parameter name; defaults that are constants are filled in."""
    if function.is_module_body:
        return {}
    names, by_keyword, defaults = _parameters(function)
    bound: dict[str, Value] = {}
    takes_self = function.cls is not None and not function.has_decorator("staticmethod")
    if takes_self and names and receiver is not None:
        args = [receiver, *args]
    bound.update(zip(names, args, strict=False))
    for name, value in keywords.items():
        if name in by_keyword:
            bound[name] = value
    for name, default in defaults.items():
        if name not in bound:
            bound[name] = default
    return bound


@remembered
def _parameters(function: Function) -> tuple[list[str], frozenset[str], dict[str, Value]]:
    """The positional parameters of a function, those that keywords may name, and constant defaults."""
    spec: ast.arguments = function.node.args  # type: ignore[union-attr]
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    keywords = [a.arg for a in spec.kwonlyargs]
    defaults = dict(zip(reversed(names), reversed(spec.defaults), strict=False))
    defaults.update(
        {name: d for name, d in zip(keywords, spec.kw_defaults, strict=True) if d is not None}
    )
    constants = {n: constant(d.value) for n, d in defaults.items() if isinstance(d, ast.Constant)}
    for name, default in defaults.items():
        if isinstance(default, ast.UnaryOp) and ast.unparse(default) == "-1":
            constants[name] = constant(-1)
    return names, frozenset((*names, *keywords)), constants


def _builtin(
    frame: Frame, node: ast.Call, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """Builtins whose value follows from their arguments."""
    spread, origin, tags = spread_of([*args, *keywords.values()])
    if name == "range" and args and all(isinstance(a.const, int) for a in args) and len(args) <= 3:
        numbers = _range([a.const for a in args])
        if numbers is not None:
            return Value(
                ("range", tuple(a.key for a in args)),
                numbers,
                spread,
                origin,
                tags=tags,
                items=tuple(constant(n) for n in numbers)
                if "world_size" in tags or spread is Spread.RANK
                else None,
            )
    if name in ("list", "tuple", "sorted", "set", "frozenset", "iter", "reversed") and args:
        items = args[0].items if name in ("list", "tuple") else None
        salted = Spread.LOCAL if name == "set" and spread is Spread.LOCAL else spread
        return Value(
            (name, args[0].key),
            UNKNOWN,
            salted,
            origin,
            tags=tags,
            items=items,
            truth=args[0].truth,
            wraps=args[0].wraps,
        )
    if name == "len" and args and args[0].items is not None:
        return constant(len(args[0].items), spread, origin)
    if name in ("isinstance", "issubclass", "hasattr", "callable", "type", "id"):
        return _kind_question(frame, node, name, args)
    if name == "getattr" and len(args) >= 2 and isinstance(args[1].const, str):
        attribute = ast.Attribute(value=node.args[0], attr=args[1].const, ctx=ast.Load())
        ast.copy_location(attribute, node)
        if len(args) == 2 and not args[0].wraps:
            return expressions.attribute_of(frame, args[0], attribute)
        unwrapped = (
            args[0].but(wraps=(), tags=args[0].tags | {"unwrapped"})
            if args[1].const == "module"
            else args[0].but(wraps=())
        )
        value = expressions.attribute_of(frame, unwrapped, attribute)
        return (
            value.but(const=UNKNOWN, target=None)
            if len(args) > 2 and value.known and value.spread is Spread.UNIFORM
            else value
        )
    if name in ("open", "input", "print", "breakpoint", "exit", "quit", "hash"):
        return external(frame, node, f"builtins.{name}", None, args, keywords)
    if name in _COMPUTED and args and all(a.known for a in args) and not keywords:
        try:
            return constant(_COMPUTED[name](*(a.const for a in args)), spread, origin, tags)
        except (TypeError, ValueError, OverflowError):
            return Value((name, tuple(a.key for a in args)), UNKNOWN, spread, origin, tags=tags)
    if name in ("zip", "enumerate", "map", "filter"):
        frame.site(node, f"builtins.{name}", None, args, keywords, (), None)
        if name == "enumerate" and args:
            return Value(
                (name, args[0].key),
                UNKNOWN,
                spread,
                origin,
                tags=tags | {"enumerate"},
                receiver=args[0],
            )
    if name in _COMPUTED and args and len(args) == 1:
        return Value((name, args[0].key), UNKNOWN, spread, origin, tags=tags)
    if name in ("any", "all", "sum") and args:
        return Value((name, args[0].key), UNKNOWN, spread, origin, tags=tags)
    site_rows = facts.CALLS.get(f"builtins.{name}", ())
    if site_rows:
        return external(frame, node, f"builtins.{name}", None, args, keywords)
    return unknown_result(frame, node, [*args, *keywords.values()])


def _range(numbers: list[int]) -> tuple[int, ...] | None:
    try:
        values = range(*numbers)
    except ValueError:
        return None
    return tuple(values) if len(values) <= _MAX_RANGE else None


def _kind_question(frame: Frame, node: ast.Call, name: str, args: list[Value]) -> Value:
    """Questions about the kind of an object: the same on all ranks."""
    key: tuple[object, ...] = (name, *(a.key for a in args))
    if name == "isinstance" and len(args) == 2 and args[0].wraps:
        asked = args[1].target
        kinds = {facts.WRAPPER_TYPES.get(w.kind) for w in args[0].wraps[-1:]}
        if isinstance(asked, str) and asked in kinds:
            return constant(True)
    if len(args) == 2 and args[0].const is None and args[0].known and name == "isinstance":
        return constant(False, args[0].spread, args[0].origin)
    return Value(key)
