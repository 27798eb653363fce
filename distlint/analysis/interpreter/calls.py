"""Calls of the abstract run: which function is called, and what a project function does there."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Final

from distlint.analysis.interpreter.arguments import wrapped_in
from distlint.analysis.interpreter.assignment import fill
from distlint.analysis.interpreter.builtins import builtin
from distlint.analysis.interpreter.frame import Frame
from distlint.analysis.interpreter.ir import (
    CHOSEN,
    Branch,
    CallStep,
    JumpKind,
    Known,
    Step,
    Summary,
)
from distlint.analysis.interpreter.libraries import (
    backward,
    external,
    forward,
    hand_over,
    may_fail,
    unknown_result,
)
from distlint.analysis.interpreter.members import SUPER
from distlint.analysis.interpreter.outside import definition
from distlint.analysis.interpreter.passing import passed_by
from distlint.analysis.interpreter.signature import (
    bind,
    certain,
    deciding_decorator,
    has_places,
    takes,
    with_bound,
)
from distlint.analysis.interpreter.values import (
    IN_TURN,
    MOST_WAYS,
    UNKNOWN,
    Closure,
    Either,
    Entries,
    OneOf,
    Partial,
    Value,
    Variance,
    constant,
    difference_of_object,
    is_mode,
    join,
)
from distlint.analysis.program.chosen import BUILDS, chosen
from distlint.analysis.program.configured import Candidate, made_by, module_named, own_of
from distlint.analysis.program.definitions import Class, Function, dotted_name, last_name
from distlint.analysis.program.elements import method_of_element
from distlint.analysis.program.handed import is_put_from_outside
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import makes_at_first_read, own_nodes
from distlint.knowledge import conventions, facts, failures, hooks


def evaluate_call(frame: Frame, node: ast.Call) -> Value:
    """The value of a call; what the call does is appended to the frame's steps."""
    if (
        isinstance(node.func, ast.Name)
        and node.func.id == "super"
        and _is_of_own_class(frame, node)
    ):
        return _super(frame, node)
    function = frame.evaluate(node.func)
    if isinstance(node.func, ast.Attribute):
        _forget_contents(frame, node.func.value, node.func.attr)
    args: list[Value] = []
    known_arguments = True
    for argument in node.args:
        value = frame.evaluate(argument)
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
        value = frame.evaluate(keyword.value)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        else:
            known_arguments = False
            keywords["**"] = value  # no parameter has this name; what is in it goes into the result
            if value.entries is not None:
                # s1 77272c6 train/sft.py:37: `kwargs = {"device_map": "auto"}`, handed on as `**kwargs`.
                keywords.update(value.entries.named)
    return dispatch(frame, node, function, args, keywords, known_arguments)


_NAMESPACES: Final = frozenset({"argparse.Namespace", "types.SimpleNamespace"})
"""Objects that hold what they are given under its names."""


def _namespace(made: Value, given: dict[str, Value]) -> Value:
    named = {n: v for n, v in given.items() if n != "**" and _stays(v)}
    return made.replace(entries=Entries(named, Value(("held", made.key)))) if named else made


def _stays(value: Value) -> bool:
    """Whether what an object is given is worth knowing of it later: whoever holds it may have changed a plain constant."""
    return bool(value.wraps) or value.type is not None or value.variance is not Variance.UNIFORM


_CHANGES_ENTRIES: Final = frozenset({"update", "pop", "popitem", "clear", "setdefault"})
"""Methods of a dict after which other things are under its keys."""
_CHANGES_ITEMS: Final = frozenset({"append", "extend", "insert", "pop", "remove", "clear", "add"})
"""Methods after which a list or set has more elements, or fewer."""


def _forget_contents(frame: Frame, owner: ast.expr, method: str) -> None:
    """Note that what was written of a list or dict is not all that is in it behind a method that changes it.

    TorchEasyRec 54cac31 tzrec/modules/sid/residual_vector_quantizer.py:61: `res_centers = []`, filled in a loop and returned.
    """
    path = dotted_name(owner)
    known = frame.variables.get(path) if path else None
    if known is None:
        return
    if known.entries is not None and method in _CHANGES_ENTRIES:
        known = known.replace(entries=None)
        frame.variables.refine(path, known)
    if known.items is not None and method in _CHANGES_ITEMS:
        frame.variables.refine(path, known.replace(items=None, const=UNKNOWN, not_none=True))


def dispatch(
    frame: Frame,
    node: ast.Call,
    function: Value,
    args: list[Value],
    keywords: dict[str, Value],
    known_arguments: bool,
) -> Value:
    """Call `function` with evaluated arguments."""
    made = _configured(frame, node, function) or _built(frame, node)
    if made is not None:
        return made
    match function.target:
        case Partial(function=inner, args=first, keywords=later):
            return dispatch(
                frame, node, inner, [*first, *args], {**dict(later), **keywords}, known_arguments
            )
        case Closure():
            named = _named_by_user(frame, function.target.function)
            if named is not None:
                return external(frame, node, named, function.target.receiver, args, keywords)
            if function.wraps and function.target.function.cls is None:
                return forward(frame, node, function, args, keywords)
            return frame.call(
                function.target, args, keywords, node, node if known_arguments else None
            )
        case Class():
            return _construct(frame, node, function.target, args, keywords, known_arguments)
        case Either(values=values) if all(isinstance(v.target, Closure | Class) for v in values):
            return _call_one_of(frame, node, values, args, keywords, known_arguments)
        case str():
            if function.target.startswith("builtins."):
                return builtin(frame, node, function.target[9:], args, keywords)
            made = external(frame, node, function.target, function.receiver, args, keywords)
            return _namespace(made, keywords) if function.target in _NAMESPACES else made
    if function.wraps:
        return forward(frame, node, function, args, keywords)
    if function.type is not None and function.type in frame.summaries.classes:
        cls = frame.summaries.classes[function.type]
        method = frame.summaries.program.find_method(
            cls, "__call__"
        ) or frame.summaries.program.find_method(cls, "forward")
        if method is not None:
            return frame.call(Closure(method, {}, function), args, keywords, node, node)
    found = _of_any(frame, node, function, ("__call__", "forward"), args, keywords)
    if found is not None:
        return found
    if isinstance(node.func, ast.Attribute):
        receiver = function.receiver
        found = _of_any(frame, node, receiver, (node.func.attr,), args, keywords)
        if found is not None:
            return found
        if receiver is None:
            receiver = (
                frame.evaluate(node.func.value)
                if isinstance(node.func.value, ast.Constant)
                else None
            )
        return _method(frame, node, receiver, args, keywords)
    bound = _bound_method(frame, function)
    if bound is not None:
        return external(frame, node, bound, function.receiver, args, keywords)
    # `{"train": train, "test": test}[args.mode](…)`, `MODELS[config.name](…)`: some launch comes to each of them.
    if 0 < len(ways := _possible(frame, node)) <= MOST_WAYS:
        functions = [definition(each) for each in ways]
        return _call_one_of(frame, node, functions, args, keywords, known_arguments)
    hand_over(frame, node, [*args, *keywords.values()])
    backward(frame, node, args, None)
    return unknown_result(frame, node, [function, *args, *keywords.values()], pure=False)


def _configured(frame: Frame, node: ast.Call, function: Value) -> Value | None:
    """What a call makes that is given a section of a configuration: what each one names there, a class or a function.

    stable-diffusion 21f890f main.py:529: `model = instantiate_from_config(config.model)`.
    """
    match function.target:
        case Closure(function=callee):
            found = made_by(frame.summaries.program, frame.function, node, callee)
        case str() if function.target in conventions.FROM_CONFIGURATION:
            found = made_by(frame.summaries.program, frame.function, node, None)
        case "importlib.import_module" if node.args:
            module = module_named(frame.summaries.program, frame.function, node.args[0])
            return definition(module) if module is not None else None
        case _:
            return None
    own = own_of(found or ())
    made = _made_of(frame, node, own) if found == own else None
    if made is None:
        return None
    classes = tuple(each for each in own if isinstance(each, Class))
    if len(own) == 1 or len(classes) < len(own):
        return made
    return made.replace(type=None, target=OneOf(classes))


def _built(frame: Frame, node: ast.Call) -> Value | None:
    """What a registry makes of a configuration that names a class of the project: `MODELS.build(config)`."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in BUILDS:
        return None
    return _made_of(frame, node, chosen(frame.summaries.program, frame.function, node).possible)


def _made_of(frame: Frame, node: ast.Call, ways: Sequence[Candidate]) -> Value | None:
    """What one of a few classes or functions makes; None where there are none, or too many."""
    if not 0 < len(ways) <= MOST_WAYS:
        return None
    return _either(frame, node, [partial(_made_as_named, frame, node, each) for each in ways])


def _made_as_named(frame: Frame, node: ast.Call, named: Candidate) -> Value:
    """An object of a class, or what a function gives, with arguments of which nothing is known."""
    if isinstance(named, Class):
        return _construct(frame, node, named, [], {}, False)
    return frame.call(Closure(named, {}), [], {}, node, None)


def _either(frame: Frame, node: ast.Call, ways: Sequence[Callable[[], Value]]) -> Value:
    """Go one of several ways, which nothing of the rank decides."""
    first, *others = ways
    if not others:
        return first()
    test = Value((CHOSEN, id(node), len(others)))
    then: list[Step] = []
    orelse: list[Step] = []
    with frame.filling(then), frame.guarded(node.func, test, True):
        one = first()
    with frame.filling(orelse), frame.guarded(node.func, test, False):
        other = _either(frame, node, others)
    if then or orelse:
        frame.steps.append(Branch(test, node.func, then, orelse))
    return join(one, other, ("either", id(node)))


def _call_one_of(
    frame: Frame,
    node: ast.Call,
    functions: Sequence[Value],
    args: list[Value],
    keywords: dict[str, Value],
    known_arguments: bool,
) -> Value:
    """What a call of one of a few functions or classes gives."""
    ways = [
        partial(dispatch, frame, node, each, args, keywords, known_arguments) for each in functions
    ]
    return _either(frame, node, ways)


def _of_any(
    frame: Frame,
    node: ast.Call,
    receiver: Value | None,
    names: tuple[str, ...],
    args: list[Value],
    keywords: dict[str, Value],
) -> Value | None:
    """What a method gives of an object that is of one of a few classes; None where none of them has it."""
    objects: tuple[tuple[Class, Value], ...] = ()
    match receiver:
        case Value(target=OneOf(classes=classes)):
            objects = tuple(
                (cls, receiver.replace(type=cls.full_name, target=None)) for cls in classes
            )
        case Value(target=Either(values=values)):
            known = frame.summaries.classes
            objects = tuple((known[v.type], v) for v in values if v.type in known)
    find = frame.summaries.program.find_method
    ways: dict[tuple[Function, str | None], Callable[[], Value]] = {}
    for cls, this in objects:
        method = next((m for name in names if (m := find(cls, name)) is not None), None)
        if method is not None and not method.decorators:
            closure = Closure(method, {}, this)
            way = partial(frame.call, closure, args, keywords, node, node)
            ways.setdefault((method, this.type), way)
    return _either(frame, node, [*ways.values()]) if 0 < len(ways) <= MOST_WAYS else None


def _bound_method(frame: Frame, function: Value) -> str | None:
    """The method of a library's object that a variable holds.

    LTX-Video-Trainer 31b1273 src/ltxv_trainer/trainer.py:546: `prepare = self._accelerator.prepare`.
    """
    receiver = function.receiver
    match function.key:
        case ("attr", _, str() as name) if receiver is not None and receiver.type is not None:
            dotted = (f"{each}.{name}" for each in facts.with_bases((receiver.type,)))
            return next((each for each in dotted if frame.knowledge.is_known_call(each)), None)
    return None


def _possible(frame: Frame, node: ast.Call) -> tuple[Candidate, ...]:
    """What a call may call by a name that is known at run time.

    RT-DETR 068dfde rtdetr_pytorch/tools/train.py:36: `TASKS[cfg.yaml_cfg["task"]](cfg)`, a table of one solver.
    """
    if not isinstance(node.func, (ast.Subscript, ast.Call, ast.Name)):
        return ()
    return chosen(frame.summaries.program, frame.function, node).possible


def _named_by_user(frame: Frame, function: Function) -> str | None:
    """The name under which the settings list a function of the project as a collective or rank test."""
    listed = frame.knowledge.listed
    if not listed:
        return None
    names = (f"{function.module.written}.{function.qualname}", f".{function.name}")
    return next((name for name in names if name in listed), None)


def _is_of_own_class(frame: Frame, node: ast.Call) -> bool:
    """Whether `super()` means what stands above the class of this method, as it does in `super(Class, self)`."""
    match node.args:
        case []:
            return True
        case [ast.Name(id=name), ast.Name(id="self" | "cls")]:
            cls = _method_around(frame.function).cls
            return cls is not None and cls.name == name
    return False


def _method_around(function: Function) -> Function:
    while function.cls is None and function.parent is not None:
        function = function.parent
    return function


def _super(frame: Frame, node: ast.Call) -> Value:
    receiver = frame.variables.get("self") or frame.captured.get("self")
    return Value(("super", id(node)), target=SUPER, receiver=receiver)


def super_method(frame: Frame, attr: str) -> tuple[Function | None, tuple[str, ...]]:
    """What `super().attr` means: the next project method, else the external bases to look it up in."""
    function = _method_around(frame.function)
    if function.cls is None:
        return None, ()
    receiver = frame.variables.get("self") or frame.captured.get("self")
    cls = (
        frame.summaries.classes.get(receiver.type)
        if receiver is not None and receiver.type
        else None
    )
    program = frame.summaries.program
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
        entry = _entry(receiver, name, args)
        if entry is not None:
            return entry
        if isinstance(receiver.target, str) and receiver.target == SUPER:
            method, outside = super_method(frame, name)
            this = receiver.receiver
            if method is not None:
                return frame.call(Closure(method, {}, this), args, keywords, node, node)
            for type_ in facts.with_bases(outside):
                known = frame.knowledge.inherited_call(type_, name, frame.module.source.text)
                if known is not None:
                    return external(frame, node, known, this, args, keywords)
            return unknown_result(frame, node, [*args, *keywords.values()])
        if receiver.type is not None:
            cls = frame.summaries.classes.get(receiver.type)
            outside = frame.summaries.program.mro(cls)[1] if cls is not None else (receiver.type,)
            for type_ in facts.with_bases(outside):
                dotted = f"{type_}.{name}"
                if frame.knowledge.is_known_call(dotted):
                    return external(frame, node, dotted, receiver, args, keywords)
            if name == "start" and cls is not None and not hooks.THREADS.isdisjoint(outside):
                run = frame.summaries.program.find_method(cls, "run")
                if run is not None:
                    frame.call(Closure(run, {}, receiver), [], {}, node, node)
            if cls is None:
                return external(frame, node, f"{receiver.type}.{name}", receiver, args, keywords)
        if receiver.wraps:
            for wrap in reversed(receiver.wraps):
                dotted = f"{facts.WRAPPER_TYPES.get(wrap.kind, '')}.{name}"
                if dotted in frame.knowledge.calls:
                    return external(frame, node, dotted, receiver, args, keywords)
        held = _model_of_loss(receiver, name)
        if held is not None:
            return forward(frame, node, held, args, keywords)
    known = facts.model_method(name, dotted_name(node.func.value), frame.module.source.text)
    if receiver is not None and facts.replicates([wrap.kind for wrap in receiver.wraps]):
        # What is in DDP alone is no engine, whatever it is called (DoRA 7e2f10a VL-T5/src/refcoco.py:286: a script of
        # several that have a base in common, of which another one makes an engine).
        known = None
    if known is None and (receiver is None or not (receiver.wraps or receiver.type)):
        method = method_of_element(frame.summaries.program, frame.function, node)
        if method is not None and method.cls is not None:
            this = (receiver or unknown_result(frame, node, [])).replace(type=method.cls.full_name)
            return frame.call(Closure(method, {}, this), args, keywords, node, node)
    return external(frame, node, known or f".{name}", receiver, args, keywords)


def _model_of_loss(receiver: Value, method: str) -> Value | None:
    """The one wrapped model of an object that is not seen, where a method gives the loss, by its name."""
    if receiver.entries is None or not receiver.entries.held or receiver.type is not None:
        return None
    makes_loss = conventions.LOSSES.search(method) and not conventions.REDUCING.search(method)
    models = [value for value in receiver.entries.named.values() if value.wraps]
    return models[0] if makes_loss and len(models) == 1 else None


def _entry(receiver: Value, method: str, args: list[Value]) -> Value | None:
    """What `get` gives of a dict whose entries are known."""
    if receiver.entries is None or receiver.type is not None or method != "get" or not args:
        return None
    key = args[0].const
    return receiver.entries.at(key) if isinstance(key, str) else None


def _construct(
    frame: Frame,
    node: ast.Call,
    cls: Class,
    args: list[Value],
    keywords: dict[str, Value],
    known_arguments: bool,
) -> Value:
    variance, origin, tags = difference_of_object([*args, *keywords.values()])
    fields = _fields(frame, cls, args, keywords)
    places = (
        [*fields.values()] if "typing.NamedTuple" in frame.summaries.program.mro(cls)[1] else []
    )
    instance = Value(
        ("instance", id(node)),
        UNKNOWN,
        type=cls.full_name,
        tags=tags - {"local-length"},  # of what it was made from
        variance=variance,
        origin=origin,
        items=tuple(v for v in places if v) if places and None not in places else None,
        entries=_record(cls, fields),
    )
    init = frame.summaries.program.find_method(cls, "__init__")
    if init is not None and known_arguments and not takes(init, keywords):
        # Open-Sora-Plan f7fa604 opensora/train/train_t2v_diffusers.py: `Pipeline(text_encoder_1=…)`, and the
        # constructor has no such parameter: the process ends here with a TypeError.
        frame.leave(JumpKind.FAILURE, node)
    elif init is not None:
        frame.call(
            Closure(init, {}, instance),
            args,
            keywords,
            node,
            node if known_arguments else None,
        )
        instance = _with_models(frame, instance, cls, init, [*args, *keywords.values()])
    else:
        outside = frame.summaries.program.mro(cls)[1]
        for type_ in facts.with_bases(outside):
            if type_ in frame.knowledge.calls:
                external(frame, node, type_, None, args, keywords)
                break
    frame.site(node, cls.full_name, None, args, keywords, (), None)
    return instance


def _tells_rank(value: Value) -> bool:
    """Whether a value is the rank's number, or the answer to a question about it: nothing that is made with it."""
    return value.variance is Variance.RANK_DEPENDENT and value.truthiness() is not None


def _with_models(
    frame: Frame, instance: Value, cls: Class, init: Function, given: list[Value]
) -> Value:
    """An object that keeps wrapped models, or numbers of the rank, which it is given, in attributes that nothing else assigns.

    `Trainer(DDP(model)).fit()`, where `__init__` says `self.model = model`; or a dict of them (ParallelWaveGAN 8674037
    parallel_wavegan/bin/train.py:1502, `model["generator"] = DistributedDataParallel(model["generator"])`).
    """
    wrapped = [layers for value in given if (layers := wrapped_in(value))]
    ranked = any(map(_tells_rank, given))
    program = frame.summaries.program
    owners = program.mro(cls)[0]
    run = next((c for c in reversed(frame.summary.children) if c.function is init), None)
    if not (wrapped or ranked) or run is None:
        return instance
    runs = [run, *(c for c in run.children if c.function.name == "__init__")]
    held = {
        name: value
        for each in runs
        if each.function.cls in owners
        for name, value in each.self_attributes.items()
        if (
            wrapped_in(value) in wrapped
            or (ranked and _tells_rank(value) and not is_put_from_outside(program, name))
        )
        and sum(len(o.self_assigned.get(name, ())) for o in owners) == 1
    }
    if not held:
        return instance
    known = instance.entries or Entries({}, Value(("held", id(cls))))
    return instance.replace(entries=Entries({**held, **known.named}, known.rest))


def _fields(
    frame: Frame, cls: Class, args: list[Value], keywords: dict[str, Value]
) -> dict[str, Value | None]:
    """What the fields of a dataclass or named tuple are given, None where nothing is; no field of another class."""
    owners, outside = frame.summaries.program.mro(cls)
    if not any(last_name(d) == "dataclass" for d in cls.node.decorator_list) and (
        "typing.NamedTuple" not in outside
    ):
        return {}
    names = [
        statement.target.id
        for owner in reversed(owners)
        for statement in owner.node.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    ]
    return {**dict.fromkeys(names), **dict(zip(names, args, strict=False)), **keywords}


def _record(cls: Class, fields: dict[str, Value | None]) -> Entries | None:
    """What a dataclass or named tuple is made of, by the names of its fields."""
    named = {n: v for n, v in fields.items() if v is not None and _stays(v)}
    return Entries(named, Value(("record", id(cls)))) if named else None


def _read_outside(closure: Closure) -> list[Value]:
    """The wrapped models, and numbers of the rank, that a nested function reads of the function around it."""
    if closure.function.parent is None:
        return []
    read = _names_in(closure.function)
    return [
        value
        for name, value in closure.captured.items()
        if name in read and (value.wraps or value.variance is Variance.RANK_DEPENDENT)
    ]


@remembered
def _names_in(function: Function) -> frozenset[str]:
    return frozenset(node.id for node in own_nodes(function, ast.Name))


def call_project(
    frame: Frame,
    closure: Closure,
    args: list[Value],
    keywords: dict[str, Value],
    node: ast.AST,
    call: ast.Call | None,
) -> Value:
    """Call a project function: run it for this class of ranks, and take over its steps and result."""
    given = args
    args, keywords = with_bound(closure, args, keywords)
    function = closure.function
    match deciding_decorator(frame, function):
        case (_, kept, who) if kept.truthiness() is False:
            text = f"`{function.name}` runs on {who} only"
            return constant(None, Variance.RANK_DEPENDENT, frame.origin(node, text))
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
    if (
        frame.summaries.is_plain(
            function, [*args, *keywords.values(), *_read_outside(closure)], closure.receiver
        )
        and not function.is_generator
    ):
        result = unknown_result(frame, node, [*args, *keywords.values()], pure=False)
        return result.replace(key=_ident(closure, args, keywords, node))
    bound = _bound(closure, args, keywords, node, call)
    if bound is None:
        # Megatron-LLaMA 25306de megatron/training.py:844: three in a row for a function that takes keywords alone.
        frame.leave(JumpKind.FAILURE, node)
        return unknown_result(frame, node, [*args, *keywords.values()], pure=False)
    summary = frame.run_of(function, bound, closure.receiver, closure.captured)
    remembers = function.has_decorator("cache", "lru_cache", "cached_property")
    if summary.filled and isinstance(node, ast.Call):
        _fill_arguments(frame, node, summary.filled, bound, given, keywords)
    again = (remembers and _has_run(function, frame.summary)) or makes_at_first_read(function)
    frame.summary.children.append(summary)
    frame.summary.depends_on |= summary.depends_on
    if closure.receiver is not None and closure.receiver.key == ("self",):
        for name, value in summary.self_attributes.items():
            if name in summary.own_flags:
                value = value.replace(const=UNKNOWN, key=("flag", id(node), name))
            frame.variables.store(f"self.{name}", value)
    if function.is_generator or function.has_decorator("contextmanager", "asynccontextmanager"):
        return Value(
            ("generator", id(node)),
            target=None,
            type="generator",
            receiver=Value(("run",), const=summary),
        )
    if summary.failure and (
        not frame.scope.tries or _catches(frame.scope.tries[-1], summary.failure)
    ):
        may_fail(frame, node, summary.failure)
    if (
        summary.steps or summary.arguments is not None
    ) and not again:  # cut short by a recursion: not known yet
        passed = passed_by(frame, call, given, keywords, bound)
        frame.steps.append(CallStep(summary, node, _not_told(summary, bound), passed))
    returned = summary.returns
    if returned is None:
        if summary.arguments is not None:
            return unknown_result(frame, node, [*args, *keywords.values()], pure=False)
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
    if returned.key == ("self",) and closure.receiver is not None:
        return closure.receiver  # `trainer.prepare().run()`
    if returned.known or returned.target is not None or is_mode(returned):
        return returned
    something = returned.not_none or (IN_TURN in returned.tags and returned.never_none)
    return returned.replace(key=_ident(closure, args, keywords, node), not_none=something)


def _bound(
    closure: Closure,
    args: list[Value],
    keywords: dict[str, Value],
    node: ast.AST,
    call: ast.Call | None,
) -> dict[str, Value] | None:
    """What a function's parameters get as far as that is certain; None where the call raises TypeError."""
    function = closure.function
    if call is not None and not has_places(function, closure.receiver, args):
        return None
    if call is not None or not isinstance(node, ast.Call):
        return bind(function, closure.receiver, args, keywords)
    if _spreads(node):
        # trl 0.11.4 trl/trainer/ppo_trainer.py: `self._generate_batched(self.model, …, **generation_kwargs)`.
        sure = certain(node, args)
        return bind(function, closure.receiver, sure, keywords, complete=False)
    return {}


def _fill_arguments(
    frame: Frame,
    call: ast.Call,
    filled: dict[str, Value],
    bound: dict[str, Value],
    args: list[Value],
    keywords: dict[str, Value],
) -> None:
    """What a function has put through a collective in place is equal on all ranks for its caller, too.

    jukebox 08efbbc jukebox/utils/dist_utils.py:25: `dist.all_reduce(x)` of an adapter, then `x.item()`.
    """
    named = ((k.value, keywords[k.arg]) for k in call.keywords if k.arg in keywords)
    for argument, value in (*zip(call.args, args, strict=False), *named):
        for parameter, outcome in filled.items():
            if bound.get(parameter) is value:
                fill(frame, argument, outcome.replace(key=("filled", id(call))))


def _spreads(call: ast.Call) -> bool:
    """Whether a call hands over what stands in a list or a dict, of which not all may be known."""
    return any(isinstance(argument, ast.Starred) for argument in call.args) or any(
        keyword.arg is None for keyword in call.keywords
    )


def _has_run(function: Function, summary: Summary) -> bool:
    """Whether a function has been called in a run, or in one below it: what is memoised runs once.

    consistency_models e32b69e scripts/ternary_search.py:210: all ranks have asked for each candidate, and
    rank 0 asks again for the best one.
    """
    work, seen = [*summary.children], set()
    while work:
        below = work.pop()
        if below.function is function:
            return True
        if id(below) not in seen:
            seen.add(id(below))
            work.extend(below.children)
    return False


def _ident(
    closure: Closure, args: list[Value], keywords: dict[str, Value], node: ast.AST
) -> Hashable:
    """The number of a result: a function of the project answers the same question alike each time.

    axolotl 0.19.0 utils/callbacks/__init__.py:303 asks `is_distributed()` twice.
    """
    inputs = args if closure.receiver is None else [closure.receiver, *args]
    called = id(node) if keywords else None
    return ("returned", id(closure.function), tuple(value.key for value in inputs), called)


def _not_told(summary: Summary, bound: dict[str, Value]) -> Known:
    """Constant arguments of which a run does not know: a function has only so many runs."""
    context = summary.context[1] if isinstance(summary.context, tuple) else ()
    told = [part for part in context if part[0] != "self"]
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
    return value.replace(wraps=(), tags=value.tags | {"unwrapped"})


def _catches(statement: ast.Try, failure: str) -> bool:
    """Whether a `try` names an exception that a failure below raises, or catches all."""
    for handler in statement.handlers:
        caught = handler.type
        for name in caught.elts if isinstance(caught, ast.Tuple) else [caught]:
            if name is None or dotted_name(name).rpartition(".")[2] in failures.CATCHES[failure]:
                return True
    return False
