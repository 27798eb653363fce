"""Models whose wrapper the training goes past: one that nothing calls or keeps, and functions that take it off."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Function
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.training import Backward
from distlint.knowledge import facts, wrappers
from distlint.nodes import last_name, parents_in, walk
from distlint.patterns import pattern
from distlint.records import dataclass

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Module

_PREPARE: Final = "accelerate.Accelerator.prepare"
_DDP: Final = "torch.nn.parallel.DistributedDataParallel"
_GIVES_WRAPPER: Final = (
    _PREPARE,
    "accelerate.Accelerator.prepare_model",
    "lightning.fabric.Fabric.setup",
    "lightning.fabric.Fabric.setup_module",
)
"""What gives the wrapper back, as the constructors do; `fully_shard` and `replicate` change the model in place."""
_OF_MODULE: Final = frozenset(
    {
        "parameters", "named_parameters", "train", "eval", "state_dict", "load_state_dict", "requires_grad_", "to",
        "zero_grad", "named_modules", "modules", "device", "dtype",
    }
)  # fmt: skip
"""What is asked of a module without its forward."""
_PARAMETERS: Final = pattern(r"(?:^|_)param(?:eter)?s(?:_|$)")
"""Methods that give what an optimizer steps: `parameters()`, `prepare_optimizer_params(rate)`."""
TAKE_MODULE: Final = frozenset(
    {
        "accumulate", "prepare", "get_state_dict", "wait_for_everyone", "save_model", "print", "no_sync", "isinstance",
        "register_for_checkpointing",
    }
)  # fmt: skip
_DEPTH: Final = 2
"""Calls that a wrapped model is followed into."""
_REDUCE: Final = frozenset({"reduce", "all_reduce", "reduce_gradients", "average_gradients"})


@dataclass(frozen=True, slots=True, eq=False)
class Idle:
    """A wrapped model that the function trains by and never calls, and the forward that is called instead."""

    module: Module
    wrapped: ast.expr
    prepare: ast.Call
    forward: ast.Call


def inner_of(site: CallSite) -> bool:
    """Whether a call gives the model inside of its first argument: a library's, or a function that unwraps.

    sd-scripts 0.6.5 library/train_util.py: `return model.module if isinstance(model, DDP) else model`. Of `getattr`
    a site stands where it asks a wrapped model for `module` alone.
    """
    if site.name == "builtins.getattr":
        return True
    if facts.is_unwrap(site.name):
        return True
    return site.callee is not None and _gives_inner(site.callee)


@remembered
def _gives_inner(callee: Function) -> bool:
    """Whether a function gives the model inside of its first argument."""
    if not callee.parameters or callee.cls is not None:
        return False
    first = callee.parameters[0]
    returned = [n.value for n in own_nodes(callee, ast.Return)]
    given = [part for value in returned for part in _arms(value)]
    texts = {ast.unparse(part) for part in given if part is not None}
    return f"{first}.module" in texts and texts <= {first, f"{first}.module"}


def _arms(value: ast.expr | None) -> Iterator[ast.expr | None]:
    match value:
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case _:
            yield value


def idle_wrappers(live: LiveProgram) -> Iterator[Idle]:
    """Models that an Accelerator wraps, whose parameters an optimizer steps, and whose forward never runs.

    diffusers 0.19 examples/text_to_image/train_text_to_image_lora.py prepares the LoRA layers, and calls the net
    that holds them (issue 4046); each rank then keeps the gradients of its own batch.
    """
    done: set[tuple[Function, str]] = set()
    past: set[ast.Call] = set()
    for call in live.calls(_PREPARE):
        function = call.site.function
        for given in call.site.node.args:
            if isinstance(given, ast.Name) and (function, given.id) not in done:
                done.add((function, given.id))
                if _is_trained(function, given.id) and not _is_used(live, function, given.id):
                    forward = _forward(function, given.id)
                    if forward is not None and forward not in past and not _reduces(function):
                        past.add(forward)  # for several sets of layers, it is one and the same
                        yield Idle(function.module, given, call.site.node, forward)


def unread_wrappers(live: LiveProgram) -> Iterator[Idle]:
    """Models that DDP wraps and a function trains, where nothing reads the wrapper before its variable is bound anew.

    The loss goes through the model itself, or through a net that was given it as a part. Motion-I2V bc787e1
    train_ctrl_flow_gen_dot.py:568: `control = DDP(controlnet)`, then `control = torch.cat(…)` in the loop, and
    `unet(…, control=control)`, which runs `unet.controlnet`.
    """
    for call in live.calls(_DDP):
        site = call.site
        function = site.function
        match site.statement, site.argument_node(0, "module"):
            case ast.Assign(targets=[ast.Name(id=wrapper)], value=made), ast.Name(id=name) as given:
                if made is not site.node or wrapper == name or _is_read(function, wrapper, made):
                    continue
                if not _is_trained(function, name) or _reduces(function):
                    continue
                nets = {name, *_given_as_part(function, name)}
                forward = _run_with_gradients(function, nets)
                if forward is not None:
                    yield Idle(function.module, given, made, forward)


def _is_read(function: Function, wrapper: str, made: ast.expr) -> bool:
    """Whether a variable is read behind the place where it is made, before it is bound to something else."""
    uses = sorted(
        (node.lineno, isinstance(node.ctx, ast.Load))
        for node in walk(function.node, ast.Name)
        if node.id == wrapper and node.lineno > made.lineno
    )
    return any(
        wrapper in node.names for node in own_nodes(function, ast.Global, ast.Nonlocal)
    ) or bool(uses and uses[0][1])


def _given_as_part(function: Function, name: str) -> Iterator[str]:
    """The variables of nets that a function gives a model as a part: `unet.controlnet = controlnet`."""
    for node in own_nodes(function, ast.Assign):
        match node:
            case ast.Assign(
                targets=[ast.Attribute(value=ast.Name(id=net))], value=ast.Name(id=part)
            ) if part == name and net != "self":
                yield net


def _run_with_gradients(function: Function, nets: set[str]) -> ast.Call | None:
    """The first call of one of some nets that the loss goes through."""
    backward = Backward(function)
    if not backward:
        return None
    for node in own_nodes(function, ast.Call):
        match node:
            case ast.Call(func=ast.Name(id=net)) if net in nets and backward.reaches(node):
                return node
    return None


def thrown_away(live: LiveProgram) -> Iterator[tuple[CallSite, ast.expr]]:
    """Calls whose result nobody keeps although it is the wrapper: the call, and the bare model.

    finetrainers f476c37 finetrainers/parallel/accelerate.py:382: `accelerator.prepare_model(model)`, then
    `return accelerator, model`.
    """
    for call in live.calls(*_GIVES_WRAPPER, *facts.WRAPPER_TYPES.values()):
        site = call.site
        if site.result is None or not _is_alone(site):
            continue
        made = site.result.items or (site.result,)
        for given, value in zip(site.node.args, made, strict=False):
            layer = next((w for w in value.wraps if w.node is site.node), None)
            if (
                layer is not None
                and wrappers.WRAPPERS[layer.kind].forward_collective
                and isinstance(given, ast.Name | ast.Attribute)
                and _is_read_later(site, given)
            ):
                yield site, given


def _is_alone(site: CallSite) -> bool:
    """Whether a call is a statement by itself."""
    return isinstance(site.statement, ast.Expr) and site.statement.value is site.node


def _is_read_later(site: CallSite, given: ast.expr) -> bool:
    """Whether a function goes on with what it gave, or whoever called it does."""
    text = ast.unparse(given)
    if isinstance(given, ast.Attribute) or text in site.function.parameters:
        return True
    return any(
        node.id == text and node.lineno > site.node.lineno
        for node in own_nodes(site.function, ast.Name)
    )


def _is_trained(function: Function, name: str) -> bool:
    """Whether an optimizer of the function steps the parameters of a variable, which may stand in another.

    EasyAnimate c2a70d1 scripts/train_lora.py:1186: `network.prepare_optimizer_params(…)`, the network's own method.
    """
    return any(
        ("optim" in ast.unparse(node.func).lower() or last_name(node.func).startswith("Adam"))
        and any(_gives_parameters(function, name, given) for given in node.args)
        for node in own_nodes(function, ast.Call)
    )


def _gives_parameters(function: Function, name: str, given: ast.expr) -> bool:
    """Whether an argument, or all that is assigned to it, is made by methods of a variable for its parameters."""
    assigned = assignments(function).get(given.id, ()) if isinstance(given, ast.Name) else ()
    return any(_asks_for_parameters(name, given)) or (
        bool(assigned) and all(any(_asks_for_parameters(name, value)) for value in assigned)
    )


def _asks_for_parameters(name: str, value: ast.AST) -> Iterator[bool]:
    for node in walk(value, ast.Call):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=method)):
                yield owner == name and _PARAMETERS.search(method) is not None


def _is_used(live: LiveProgram, function: Function, name: str, depth: int = _DEPTH) -> bool:
    """Whether a function may run the forward of a variable, or hand it to what may."""
    parents = parents_in(function.node)
    prepared = _prepared_at(function, name)
    for node in walk(function.node):
        if not (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)):
            continue
        above = parents.get(id(node))
        match above:
            case ast.Attribute(attr=attr) if attr in _OF_MODULE or "save" in attr:
                continue
            case ast.Call(func=func) if func is not node and last_name(func) in TAKE_MODULE:
                continue
            case ast.Call(func=func) if func is not node and _unwraps(func):
                if _is_saved(parents, above) or _is_kept_idle(
                    live, function, parents, above, depth
                ):
                    continue
            case ast.Call() if _is_kept_idle(live, function, parents, node, depth):
                continue
            case ast.Attribute() if node.lineno <= prepared:
                continue  # set up before it is wrapped: `network.apply_to()`
        return True
    return False


def _is_kept_idle(
    live: LiveProgram, function: Function, parents: dict[int, ast.AST], given: ast.AST, depth: int
) -> bool:
    """Whether a call hands a model to a function of the project that does not run its forward either."""
    call = parents.get(id(given))
    if not depth or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return False
    place = next((n for n, argument in enumerate(call.args) if argument is given), None)
    inner = (f for f in function.module.all_functions if f.parent is function)
    callee = next((f for f in inner if f.name == call.func.id), None)
    meaning = callee or live.program.resolve_dotted(function.module, call.func.id)
    if (
        place is None
        or not isinstance(meaning, Function)
        or place >= len(meaning.parameters)
        or any(isinstance(argument, ast.Starred) for argument in call.args)
    ):
        return False
    return not _is_used(live, meaning, meaning.parameters[place], depth - 1)


def _prepared_at(function: Function, name: str) -> int:
    """The line at which a variable is prepared."""
    return min(
        (
            node.lineno
            for node in own_nodes(function, ast.Call)
            if last_name(node.func) == "prepare"
            and any(isinstance(a, ast.Name) and a.id == name for a in node.args)
        ),
        default=0,
    )


def _unwraps(func: ast.expr) -> bool:
    """Whether a call is named as one that takes the wrapper off."""
    return last_name(func) in ("unwrap_model", "unwrap")


def _is_saved(parents: dict[int, ast.AST], call: ast.AST) -> bool:
    """Whether what is unwrapped is only saved or loaded: it is assigned, or a method of it saves."""
    above = parents.get(id(call))
    return isinstance(above, ast.Attribute) and (
        "save" in above.attr or above.attr in ("state_dict", "load_state_dict", "config")
    )


def _forward(function: Function, name: str) -> ast.Call | None:
    """The call that the loss goes through: of a module, by what the function does with it."""
    backward = Backward(function)
    if not backward:
        return None
    for node in own_nodes(function, ast.Call):
        match node:
            case ast.Call(func=ast.Name() | ast.Attribute() as func) if (
                last_name(func) != name
                and last_name(func).islower()
                and _is_a_net(function, func)
                and backward.reaches(node)
            ):
                return node
    return None


def _is_a_net(function: Function, func: ast.expr) -> bool:
    """Whether what is called is put into training mode, frozen or moved: a module, by what the function does with it."""
    text = ast.unparse(func)
    return any(
        isinstance(node.func, ast.Attribute)
        and node.func.attr in ("train", "requires_grad_", "to", "set_attn_processor", "add_adapter")
        and ast.unparse(node.func.value) == text
        for node in own_nodes(function, ast.Call)
    ) and not any(
        last_name(node.func) == "prepare" and any(ast.unparse(a) == text for a in node.args)
        for node in own_nodes(function, ast.Call)
    )


def _reduces(function: Function) -> bool:
    """Whether a function averages gradients over the ranks by hand."""
    return any(last_name(node.func) in _REDUCE for node in own_nodes(function, ast.Call))
