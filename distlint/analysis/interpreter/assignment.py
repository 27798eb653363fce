"""What is bound: parameters at the start of a run, and the targets of assignments."""

from __future__ import annotations

import ast

from distlint.analysis.interpreter.frame import Frame
from distlint.analysis.interpreter.members import convention
from distlint.analysis.interpreter.signals import set_by_signal
from distlint.analysis.interpreter.values import (
    CONTAINER,
    IN_TURN,
    UNKNOWN,
    Entries,
    Value,
    Variance,
    Wrap,
    join,
)
from distlint.analysis.program.definitions import Function, dotted_name
from distlint.analysis.program.program import Program
from distlint.analysis.program.syntax import bound_again, storage_of
from distlint.knowledge import facts
from distlint.knowledge.libraries import canonical_name


def bind_parameters(frame: Frame, bound: dict[str, Value], receiver: Value | None) -> None:
    """Bind the parameters of the function to what the call gives, their annotation or their name says."""
    node = frame.function.node
    if isinstance(node, ast.Module):
        return
    spec, bind = node.args, frame.variables.bind
    parameters = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    first_is_self = frame.function.cls is not None and not frame.function.has_decorator(
        "staticmethod"
    )
    wrapped = wrapped_parameter(frame.summaries.program, frame.function) if first_is_self else None
    cls = frame.function.cls
    outside = frame.summaries.program.mro(cls)[1] if cls is not None else ()
    for index, parameter in enumerate(parameters):
        name = parameter.arg
        if index == 0 and first_is_self:
            bind(name, _self_value(frame, receiver))
            continue
        key = ("parameter", id(frame.function), name)
        value = bound.get(name)
        given = value is not None and value.not_none
        if value is not None and not _says_no_more(value):
            known = value.known or value.target
            bind(name, value if known else value.replace(key=key, logic=None))
            continue
        type_ = frame.summaries.annotation_type(
            frame.module, parameter.annotation
        ) or facts.parameter_type(outside, name)
        conventional = None if type_ else convention(frame, name, parameter)
        if conventional is not None:
            bind(name, conventional.replace(not_none=True) if given else conventional)
            continue
        wraps: tuple[Wrap, ...] = ()
        if wrapped is not None and name == wrapped[0]:
            wraps = frame.wraps((wrapped[1],), parameter)
        bind(name, Value(key, type=type_, wraps=wraps, not_none=given))
    for extra in (spec.vararg, spec.kwarg):
        if extra is not None:
            type_ = facts.parameter_type(outside, "**") if extra is spec.kwarg else None
            bind(extra.arg, Value(("parameter", id(frame.function), extra.arg), type=type_))


def _says_no_more(value: Value) -> bool:
    """Whether of an argument it is only known that it is something."""
    return value.not_none and not (
        value.known
        or value.wraps
        or value.type
        or value.target
        or value.items
        or value.entries
        or value.variance is not Variance.UNIFORM
        or IN_TURN in value.tags
    )


def _self_value(frame: Frame, receiver: Value | None) -> Value:
    cls = frame.function.cls
    assert cls is not None
    type_ = receiver.type if receiver is not None and receiver.type else cls.full_name
    made = frame.summaries.classes.get(type_, cls)
    target = made if frame.function.has_decorator("classmethod") else None
    entries = receiver.entries if receiver is not None else None
    return Value(("self",), type=type_, target=target, truth=True, entries=entries)


def assign(frame: Frame, target: ast.expr, value: Value) -> None:
    """Bind a target (name, attribute, tuple …) to a value."""
    match target:
        case ast.Name(id=name):
            if value is not frame.variables.get(name):  # `steps = tqdm(steps)` on one rank
                value = _controlled(frame, value)
            if frame.signalled is not None and name in frame.signalled:
                value = set_by_signal(value, frame.signalled[name], frame.module)
            frame.variables.bind(name, value)
        case ast.Attribute():
            _assign_attribute(frame, target, value)
        case ast.Subscript():
            _assign_item(frame, target, value)
        case ast.Tuple() | ast.List():
            if value.const is None:
                frame.note_nothing(target)
            _unpack(frame, target.elts, value)
        case ast.Starred():
            assign(frame, target.value, value)


def _controlled(frame: Frame, value: Value) -> Value:
    """A value as it is behind the condition that decides, rank by rank, whether it is assigned."""
    control = frame.scope.control
    if control is None or value.variance is not Variance.UNIFORM:
        return value
    return value.replace(variance=control.variance, origin=control.origin)


def _assign_attribute(frame: Frame, target: ast.Attribute, value: Value) -> None:
    path = dotted_name(target)
    if not path:
        frame.evaluate(target.value)
        return
    if not isinstance(target.value, ast.Name):
        # `model.config.use_cache = False` reads `model.config`.
        base: Value | None = frame.evaluate(target.value)
    else:
        base = frame.variables.get(target.value.id)
        if base is not None and base.const is None:
            frame.summary.none_accesses.append(frame.attribute_site(target, base))
    if base is not None and base.wraps:
        frame.summary.attributes.append(frame.attribute_site(target, base))
    elif base is not None:
        _put_model(frame, target, base, value)
    value = _controlled(frame, value)
    frame.variables.forget_below(path)
    if target.attr in frame.summaries.signals.names:
        value = _flag(frame, target, value)
    frame.variables.store(path, value)
    if path.startswith("self.") and path.count(".") == 1:
        if value.not_none:
            value = value.replace(not_none=False)  # another method may have put None there
        old = frame.summary.self_attributes.get(target.attr)
        if old is None and frame.scope.control is not None and isinstance(value.const, bool):
            frame.summary.own_flags.add(target.attr)
        elif not frame.scope.guards:
            frame.summary.own_flags.discard(target.attr)
        frame.summary.self_attributes[target.attr] = (
            value
            if old is None or not frame.scope.guards
            else join(old, value, ("attr", ("self",), target.attr))
        )


def _put_model(frame: Frame, target: ast.Attribute, base: Value, value: Value) -> None:
    """An object that is given a wrapped model holds it from here on, wherever the object is passed.

    ml-mdm ml_mdm/clis/train_parallel.py:154: `diffusion_model.model = DDP(diffusion_model.model)`, and the loss comes
    from `diffusion_model.get_loss()`.
    """
    path = dotted_name(target.value)
    known = base.entries
    held = known.named if known is not None else {}
    if base.key == ("self",) or base.target is not None or path not in frame.variables:
        return
    if value.wraps:
        rest = known.rest if known is not None else Value(("held", id(target)))
        frame.variables.refine(
            path, base.replace(entries=Entries({**held, target.attr: value}, rest))
        )
    elif known is not None and target.attr in held:
        left = {name: each for name, each in held.items() if name != target.attr}
        frame.variables.refine(path, base.replace(entries=Entries(left, known.rest)))


def _assign_item(frame: Frame, target: ast.Subscript, value: Value) -> None:
    base = frame.evaluate(target.value)
    index = frame.evaluate(target.slice)
    path = dotted_name(target.value)
    if not path or path not in frame.variables:
        return
    changed = base
    if value.variance is Variance.RANK_LOCAL and value.variance > base.variance:
        changed = base.replace(
            variance=value.variance, origin=value.origin, const=UNKNOWN, items=None
        )
    elif base.items is not None:
        changed = base.replace(items=None, const=UNKNOWN)
    if isinstance(index.const, str):
        known = base.entries or Entries({}, base)
        named = {**known.named, index.const: _controlled(frame, value)}
        changed = changed.replace(entries=Entries(named, known.rest))
    elif base.entries is not None and changed is not base:
        changed = changed.replace(entries=None)
    if value.wraps and not index.known and _may_be_a_list(base):
        # AVID-CMA 4538e40 utils/main_utils.py:112: `models[i] = DistributedDataParallel(models[i])`, of each in a loop.
        changed = changed.replace(
            wraps=value.wraps, tags=changed.tags | {CONTAINER}, items=None, const=UNKNOWN
        )
    if changed is not base:
        frame.variables.refine(path, changed)


def _may_be_a_list(value: Value) -> bool:
    """Whether nothing is known of a value but what may go for each element of a list or dict."""
    return not value.wraps and value.type is None and value.entries is None


def _flag(frame: Frame, target: ast.Attribute, value: Value) -> Value:
    """A value assigned to an attribute that a signal handler may write at any time afterwards."""
    owner = frame.evaluate(target.value).type
    cls = frame.summaries.classes.get(owner) if owner is not None else None
    return (frame.summaries.flag(cls, target.attr, value) if cls is not None else None) or value


def _unpack(frame: Frame, targets: list[ast.expr], value: Value) -> None:
    starred = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
    items = value.items
    if items is not None and starred is not None and len(items) >= len(targets) - 1:
        # `model, *_ = deepspeed.initialize(…)`: the others take theirs, the starred one the rest.
        end = len(items) - (len(targets) - 1 - starred)
        rest = Value(("item", value.key, starred), items=items[starred:end])
        items = (*items[:starred], rest, *items[end:])
    if items is not None and len(items) >= len(targets):
        for element, item in zip(targets, items, strict=False):
            assign(frame, element, item)
        return
    first = value.entries.named if value.entries is not None and value.type is None else {}
    for index, element in enumerate(targets):
        known = first.get(str(index)) if starred is None or index < starred else None
        unknown = Value(
            ("item", value.key, index), UNKNOWN, value.variance, value.origin, tags=value.tags
        )
        assign(frame, element, known or unknown)


def fill(frame: Frame, expression: ast.expr, value: Value) -> None:
    """A collective has made the contents of an argument equal on all ranks."""
    node = storage_of(expression)
    path = dotted_name(node)
    if not path:
        return
    known = frame.evaluate(node)
    if known.known and isinstance(known.const, (int, str, bool)):
        return  # a constant handed to a collective stays what it is
    frame.variables.store(
        path, Value(value.key, type=known.type, truth=known.truth, tags=value.tags)
    )
    function = frame.function
    if path in function.parameters and path not in bound_again(function):
        frame.filled.add(path)


def wrapped_parameter(program: Program, function: Function) -> tuple[str, str] | None:
    """The parameter in which a trainer hands a method a wrapped model, and the wrapper's kind."""
    if function.cls is None:
        return None
    own, outside = program.mro(function.cls)
    names = (*outside, *(canonical_name(c.full_name) for c in own[1:]))
    return facts.model_parameter(names, function.name)
