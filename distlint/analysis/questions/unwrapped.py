"""What goes wrong where a model is unwrapped by an attribute's name: what reaches the place, and what is read then."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.built import classes_of, wrapped_classes
from distlint.knowledge.wrappers import WRAPPERS
from distlint.nodes import last_name, parents_in, walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.values import Wrap
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function

_NAMES_OF_WEIGHTS: Final = frozenset(
    {
        "state_dict",
        "load_state_dict",
        "named_parameters",
        "named_buffers",
        "named_modules",
        "named_children",
    }
)
"""Methods whose answer has the layer's name in its keys; what else is read, torch.compile's layer hands on."""
_HOPS: Final = 2

Given = tuple["Function", ast.Call, ast.expr]
"""Who calls, the call, and the argument that is unwrapped."""
Layers = dict[tuple["Function", str], frozenset[tuple["Wrap", ...]]]


class Lost(enum.Enum):
    """What the test by name does to a model that reaches it."""

    PART = "part"
    """It takes a part of the network for a wrapper."""
    COMPILED = "compiled"
    """It leaves the layer of torch.compile on, whose name is then in the keys of the weights."""


def layers(live: LiveProgram) -> Layers:
    """The layers around what `module` is read from, by function and expression: all that some run saw there."""
    found: dict[tuple[Function, str], set[tuple[Wrap, ...]]] = {}
    for summaries in live.functions():
        for _, summary in summaries.summaries():
            for site in summary.attributes:
                if site.attr == "module" and isinstance(site.node.ctx, ast.Load):
                    key = (site.function, ast.unparse(site.node.value))
                    found.setdefault(key, set()).add(site.receiver.wraps)
    return {key: frozenset(wraps) for key, wraps in found.items()}


def lost(
    live: LiveProgram, function: Function, node: ast.AST, subject: ast.expr, *, again: bool
) -> Lost | None:
    """What goes wrong with a model that the program is seen to bring to a test by the name `module`.

    Args:
        live: the program.
        function: where the test stands.
        node: the expression or statement that unwraps.
        subject: what is unwrapped.
        again: whether it goes on until no `module` is left.
    """
    given = list(handed_over(live, function, subject))
    seen = (
        live.answer(layers)
        .get((function, ast.unparse(subject)), frozenset())
        .union(wraps for _, call, argument in given for wraps in _around(live, call, argument))
    )
    if any(owns_module(live, cls) for cls in _classes(live, function, subject, given, seen)):
        return Lost.PART
    left = any(
        _left(wraps, again=again) and not _is_around_a_copy(live, wraps) for wraps in seen
    ) or _compiled_elsewhere(live, function, subject, given)
    if not left or _takes_it_off(live, function):
        return None
    return Lost.COMPILED if _names_weights(live, function, node, subject, _HOPS) else None


def handed_over(live: LiveProgram, function: Function, subject: ast.expr) -> Iterator[Given]:
    """What the program's calls hand over, where a parameter is unwrapped."""
    if not isinstance(subject, ast.Name) or subject.id not in function.parameters:
        return
    position = function.parameters.index(subject.id) - (function.cls is not None)
    for caller, call in _calls_of(live, function):
        keywords = (k.value for k in call.keywords if k.arg == subject.id)
        for argument in (*call.args[max(position, 0) : position + 1], *keywords):
            yield caller, call, argument


def _around(live: LiveProgram, call: ast.Call, argument: ast.expr) -> Iterator[tuple[Wrap, ...]]:
    """The layers around an argument of a call that is followed."""
    group = live.call_at(call)
    if group is not None:
        for _, site in group.sites:
            named = (site.keywords.get(k.arg or "") for k in call.keywords if k.value is argument)
            placed = (v for n, v in zip(call.args, site.args, strict=False) if n is argument)
            yield from (value.wraps for value in (*placed, *named) if value is not None)


def _classes(
    live: LiveProgram,
    function: Function,
    subject: ast.expr,
    given: list[Given],
    seen: frozenset[tuple[Wrap, ...]],
) -> Iterator[Class | None]:
    yield from classes_of(live, function, subject)
    for caller, _, argument in given:
        yield from classes_of(live, caller, argument)
    for wrap in {wrap.node: wrap for wraps in seen for wrap in wraps}:
        call = live.call_at(wrap)
        if call is not None:
            yield from wrapped_classes(live, call.site)


def owns_module(live: LiveProgram, cls: Class | None) -> bool:
    """Whether a network keeps a part of its own as `module`.

    What keeps a copy of a whole network there is a wrapper, made to be taken off: timm's `ModelEmaV2`
    (VisRAG f35d232 timm_modified/timm/utils/model_ema.py:109).
    """
    return cls is not None and any(
        "module" in each.self_assigned and not _keeps_a_copy(each)
        for each in live.program.mro(cls)[0]
    )


def _is_around_a_copy(live: LiveProgram, wraps: tuple[Wrap, ...]) -> bool:
    """Whether torch.compile's layer is around what keeps a copy as `module`, which the layer hands on."""
    calls = [call for wrap in wraps if (call := live.call_at(wrap.node)) is not None]
    return any(
        cls is not None and _keeps_a_copy(cls)
        for call in calls
        for cls in wrapped_classes(live, call.site)
    )


def _keeps_a_copy(cls: Class) -> bool:
    kept = [
        value
        for method in cls.self_assigned.get("module", ())
        for value in assignments(method).get("self.module", ())
    ]
    return bool(kept) and all(
        isinstance(value, ast.Call) and last_name(value.func) == "deepcopy" for value in kept
    )


def _left(wraps: tuple[Wrap, ...], *, again: bool) -> bool:
    """Whether torch.compile's layer stays on. From outside it hands on the `module` of what it is around."""
    kinds = [wrap.kind for wrap in wraps if not WRAPPERS[wrap.kind].in_place]
    while any(kind != "compile" for kind in kinds):
        while kinds.pop() == "compile":
            pass
        if not again:
            break
    return "compile" in kinds


def _compiled_elsewhere(
    live: LiveProgram, function: Function, subject: ast.expr, given: list[Given]
) -> bool:
    """Whether the program compiles into the attribute that is unwrapped, in this function or through an argument.

    open_lm 9bb92ef open_lm/main.py:683: `averagers.avgs_dict[k].av_model = torch.compile(…)`, and the averager
    saves `unwrap_model(self.av_model).state_dict()`.
    """
    compiled = live.answer(_compiled_attributes)
    read = [(function, subject), *((caller, argument) for caller, _, argument in given)]
    return any(
        isinstance(node, ast.Attribute) and _is_compiled(compiled, where, node)
        for where, node in read
    )


def _compiled_attributes(live: LiveProgram) -> frozenset[tuple[str, Class | None]]:
    """The attributes that are given what torch.compile returns, with the class of an object's own."""
    return frozenset(
        (attr, function.cls if _is_self(owner) else None)
        for module in live.program.modules.values()
        if "compile(" in module.source.text
        for function in (module.body, *module.all_functions)
        for node in own_nodes(function, ast.Assign)
        if isinstance(node.value, ast.Call)
        and live.resolve(module, node.value.func) == "torch.compile"
        for target in node.targets
        for attr, owner in _attribute(target)
    )


def _attribute(target: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Attribute):
        yield target.attr, target.value


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _is_compiled(
    compiled: frozenset[tuple[str, Class | None]], function: Function, read: ast.Attribute
) -> bool:
    own = function.cls is not None and (read.attr, function.cls) in compiled
    return own if _is_self(read.value) and own else (read.attr, None) in compiled


def _calls_of(live: LiveProgram, function: Function) -> list[tuple[Function, ast.Call]]:
    """Where the program calls a function by its name, with who calls."""
    return [
        (caller, node)
        for module in live.program.modules.values()
        if function.name in module.source.text
        for caller in (module.body, *module.all_functions)
        for node in own_nodes(caller, ast.Call)
        if last_name(node.func) == function.name and live.resolve(module, node.func) is function
    ]


def _takes_it_off(live: LiveProgram, function: Function) -> bool:
    """Whether the function or one that calls it takes torch.compile's layer off, or its name out of the keys.

    open_clip 89fb801 src/open_clip/task/base_task.py:18: `if hasattr(unwrapped, "_orig_mod")` stands below.
    """
    callers = (caller for caller, _ in _calls_of(live, function) if not caller.is_module_body)
    return any(_names_layer(each) for each in (function, *callers))


def _names_layer(function: Function) -> bool:
    for node in walk(function.node, ast.Attribute, ast.Constant):
        match node:
            case ast.Attribute(attr=str(word)) | ast.Constant(value=str(word)):
                if "_orig_mod" in word:
                    return True
    return False


def _names_weights(
    live: LiveProgram, function: Function, node: ast.AST, subject: ast.expr, hops: int
) -> bool:
    """Whether what is unwrapped is asked for its weights by name, here or where the function returns it to."""
    parents = parents_in(function.node)
    parent = parents.get(id(node))
    if isinstance(parent, ast.Attribute):
        return parent.attr in _NAMES_OF_WEIGHTS
    paths = {ast.unparse(subject)} if isinstance(node, ast.stmt) else set[str]()
    if isinstance(parent, ast.Assign):
        paths |= {ast.unparse(target) for target in parent.targets}
    returned = isinstance(parent, ast.Return)
    for part in own_nodes(function, ast.Attribute, ast.Return):
        match part:
            case ast.Attribute(attr=attr, value=value) if attr in _NAMES_OF_WEIGHTS:
                if ast.unparse(value) in paths:
                    return True
            case ast.Return(value=ast.expr() as value) if ast.unparse(value) in paths:
                returned = True
    return (
        returned
        and hops > 0
        and any(
            _names_weights(live, caller, call, call, hops - 1)
            for caller, call in _calls_of(live, function)
        )
    )
