"""A training forward bypasses the wrapper, so gradients are not synchronised.

## What it does
Follows what `loss.backward()` differentiates back to calls of the model inside the wrapper:
`model.module(batch)`, `unwrap_model(model)(batch)`, or a variable that holds the unwrapped model or a method of it (also a
parameter to which the function that makes the loss gives the model inside). Reports
them where the wrapper itself is not called for the same loss. Also a model that an Accelerator wraps, whose
parameters the optimizer gets, and which nothing calls, or whose DDP nothing reads: the loss goes through the net that holds its layers, or
through one of the program's own that was built around the model before it was wrapped, or an object that was given the model
above the wrap trains it below. And
`accelerator.prepare(model)` or `DistributedDataParallel(model)` as a statement by itself, whose result, the wrapper,
nobody keeps.

## Why it is bad
`DistributedDataParallel` prepares its reduction in its own `forward`. Past it, each rank steps with the
gradients of its own batch: the copies drift apart from the first step, without an error, and what is saved
is rank 0's model, trained on a fraction of the data. Under FSDP and ZeRO-3 the parameters are shards, and the
call fails or computes with parts.

## Errors you may see
- `size mismatch, got input`
- `torch.Size([0])`

## Example
```python
model = DistributedDataParallel(model)
loss = model.module(batch).loss
loss.backward()
```

## Use instead
```python
model = DistributedDataParallel(model)
loss = model(batch).loss
loss.backward()
```

## Fix safety
Shown, not applied: another method than `forward` has to be reached through `forward` first.

## Known limits
Variables are followed inside one function, and from one that returns the loss to its caller, which may return it in
turn. Calls under `no_grad` are right and not reported, nor is a
function that reduces gradients itself, or whose gradients no optimizer steps with, nor a model whose parameters the
function has all frozen above, nor a part that the constructor of its class has frozen, nor a model that nothing calls
where all launches that the project shows ask for FSDP or DeepSpeed.

## References
- PyTorch, `torch/nn/parallel/distributed.py`, `_pre_forward`
- diffusers issue 4046, sd-scripts issue 989
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.frozen import is_frozen, is_frozen_part
from distlint.analysis.model import Model, place_of, related, source_of
from distlint.analysis.program.handed import callers_by_name
from distlint.analysis.program.syntax import assignments, own_nodes, target_names
from distlint.analysis.questions.built import wrapped_classes
from distlint.analysis.questions.enclosing import bare_inside
from distlint.analysis.questions.idle import (
    Idle,
    idle_wrappers,
    inner_of,
    thrown_away,
    unread_wrappers,
)
from distlint.analysis.questions.training import Backward
from distlint.analysis.questions.wrapped import layer_runners, without_layers
from distlint.findings import Applicability, Finding, Fix, Severity
from distlint.knowledge import wrappers
from distlint.nodes import last_name, walk
from distlint.patterns import pattern
from distlint.rule import Status

from .kept_bare import Kept, kept_bare

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.interpreter.values import Wrap
    from distlint.analysis.program.definitions import Function, Module

CODE = "DL206"
NAME = "forward-bypasses-wrapper"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = ()

_REDUCTIONS = frozenset(
    {"all_reduce", "all_reduce_coalesced", "reduce_scatter_tensor", "reduce_scatter"}
)


_LOG_PROBABILITY = pattern(r"log_?p(?:rob|s?$)", re.IGNORECASE)
_ASKS = frozenset({"hasattr", "isinstance", "type"})

_RETURNS = 4
"""Through so many functions a loss is followed to the one that sends it backward."""


def check(model: Model) -> Iterator[Finding]:
    """Each call of the model inside that a backward reaches."""
    inner = _inner_models(model)
    by_function: dict[Function, list[tuple[ast.expr, ast.expr, Wrap]]] = {}
    for function, node, source, wrap in inner:
        by_function.setdefault(function, []).append((node, source, wrap))
    for function, found in by_function.items():
        wrapped = {ast.unparse(source) for _, source, _ in found}
        own = Backward(function)
        backward = own or _sent_by_caller(model, function, wrapped)
        if not backward or _reduces_by_hand(function) or not _steps(model, function):
            continue
        calls = list(walk(function.node, ast.Call))
        rebound = {} if own else _rebound(function, found)
        if any(
            (name := ast.unparse(c.func)) in wrapped
            and backward.reaches(c)
            and not c.lineno > rebound.get(name, c.lineno)
            for c in calls
        ):
            continue  # the wrapper's forward runs for the same loss
        yield from _bypassing(model, function, found, calls, backward, rebound)
    for idle in (*idle_wrappers(model), *unread_wrappers(model), *bare_inside(model)):
        # EasyAnimate c2a70d1 scripts/train_reward_lora.sh: DeepSpeed reduces by hooks of the parameters.
        if not model.starts_in_engine(idle.module):
            yield _idle(idle)
    yield from map(_kept, kept_bare(model))
    for site, bare in thrown_away(model):
        yield _thrown_away(site, bare)


def _rebound(function: Function, found: list[tuple[ast.expr, ast.expr, Wrap]]) -> dict[str, int]:
    """The parameters that a function rebinds to the model inside wherever they are wrapped, each with the line.

    spec2mol b4c404f models/Transformer_modules.py:496: `if type(model) == DistributedDataParallel: model = model.module`.
    Where the loss is made and sent backward in one function, it is DL207.
    """
    inner = {id(node): ast.unparse(source) for node, source, _ in found}
    lines: dict[str, int] = {}
    for statement in function.body:
        path = ""
        match statement:
            case ast.If(test=test, body=[ast.Assign() as only], orelse=[]):
                asked = [n for n in walk(test, ast.Call) if n.args and last_name(n) in _ASKS]
                statement, path = only, ast.unparse(asked[0].args[0]) if len(asked) == 1 else "?"
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                inner.get(id(value)) == name and path in ("", name) and name in function.parameters
            ):
                lines[name] = statement.lineno
    return lines


def _thrown_away(site: CallSite, bare: ast.expr) -> Finding:
    text = source_of(site.module, bare)
    fix = Fix(Applicability.DISPLAY, "Assign what the call gives, and train with that")
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{source_of(site.module, site.node.func)}(...)` gives the wrapped model back and nobody keeps "
        f"it: `{text}` is the bare model still, so every rank steps with the gradients of its own batch. "
        f"{fix.message}.",
        place_of(site.module, site.node),
        (),
        fix,
    )


def _kept(kept: Kept) -> Finding:
    module = kept.module
    text, called = (
        source_of(module, kept.made.func),
        source_of(kept.method.module, kept.forward.func),
    )
    fix = Fix(
        Applicability.DISPLAY, f"Wrap the model above `{text}(...)`, and hand over the wrapper"
    )
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{text}(...)` has kept the model as it was before this wrap, and trains it through `{called}(...)`: every rank "
        f"steps with the gradients of its own batch and the copies drift apart. {fix.message}.",
        place_of(module, kept.wrap),
        (
            related(module, kept.made, "kept here"),
            related(kept.method.module, kept.forward, "trained here"),
        ),
        fix,
    )


def _idle(idle: Idle) -> Finding:
    text, called = source_of(idle.module, idle.wrapped), source_of(idle.module, idle.forward.func)
    verb = "Prepare" if last_name(idle.prepare.func) == "prepare" else "Wrap"
    advice = f"{verb} `{called}`, whose forward the loss goes through"
    idle_part = f"`{text}`, which alone is wrapped"
    if called == text:
        idle_part = "the wrapper around it"
        advice = f"Call the wrapper for the loss, in the place of `{text}`"
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"The loss goes through `{called}(...)`, and nothing calls {idle_part}: every rank steps with the gradients of its "
        f"own batch and the copies drift apart. {advice}.",
        place_of(idle.module, idle.forward),
        (related(idle.module, idle.prepare, "wrapped here"),),
        Fix(Applicability.DISPLAY, advice),
    )


def _sent_by_caller(
    model: Model, function: Function, wrapped: set[str], below: frozenset[Function] = frozenset()
) -> Backward | None:
    """What a function returns to one that sends it backward, and that calls the wrapper itself for no part of it.

    Through several that return it in turn: Trainer 7704b0f trainer/trainer.py:1115, `model.module.train_step(...)` in a
    helper of the one that `optimize()` asks for the loss.
    """
    below |= {function}
    for caller, call in callers_by_name(model.program, function):
        meant = model.resolve(caller.module, call.func) is function or (
            caller.cls is function.cls and ast.unparse(call.func) == f"self.{function.name}"
        )
        if not meant or caller in below or _reduces_by_hand(caller):
            continue
        handed = [*call.args, *(keyword.value for keyword in call.keywords)]
        models = {*map(ast.unparse, handed), *(path for path in wrapped if "." in path)}
        own = Backward(caller)
        backward = own if own and own.reaches(call) else Backward(caller, returned=True)
        if not backward.reaches(call):
            continue
        calls = (n for n in own_nodes(caller, ast.Call))
        if any(
            ast.unparse(c.func) in models
            and backward.reaches(c)
            and not _in_other_arms(caller, call, c)
            for c in calls
        ):
            continue
        if backward is own or (
            len(below) < _RETURNS and _sent_by_caller(model, caller, models, below)
        ):
            return Backward(function, returned=True)
    return None


def _in_other_arms(function: Function, one: ast.Call, other: ast.Call) -> bool:
    """Whether a condition lets a run come to one of two calls alone."""
    for choice in own_nodes(function, ast.If):
        arms = [{id(n) for s in block for n in walk(s)} for block in (choice.body, choice.orelse)]
        for here, there in (arms, arms[::-1]):
            if id(one) in here and id(other) in there:
                return True
    return False


def _reduces_by_hand(function: Function) -> bool:
    """Whether a function reads gradients and reduces over the ranks itself."""
    names = {n.attr for n in walk(function.node, ast.Attribute)}
    return "grad" in names and not names.isdisjoint(_REDUCTIONS)


def _steps(model: Model, function: Function) -> bool:
    """Whether an optimizer steps in the function's file, or in one that names the function.

    nanotron 7a5d8b6 tests/test_parameters_accumulate_gradient_in_fp32.py:211 compares gradients alone.
    """
    texts = (module.source.text for module in model.program.modules.values())
    return ".step(" in function.module.source.text or any(
        ".step(" in text and function.name in text for text in texts
    )


def _inner_models(model: Model) -> Iterator[tuple[Function, ast.expr, ast.expr, Wrap]]:
    """Expressions that give the model inside: the function, the expression, the wrapped one, the layer."""
    for site, _ in model.attributes():
        wrap = site.receiver.wraps[-1]
        row = wrappers.WRAPPERS[wrap.kind]
        if site.attr in row.inner and row.forward_collective:
            yield site.function, site.node, site.node.value, wrap
    for call in model.calls():
        site_ = call.site
        if site_.args and site_.node.args and inner_of(site_):
            wraps = [w for w in site_.args[0].wraps if wrappers.WRAPPERS[w.kind].forward_collective]
            if wraps:
                yield site_.function, site_.node, site_.node.args[0], wraps[-1]


def _bypassing(
    model: Model,
    function: Function,
    found: list[tuple[ast.expr, ast.expr, Wrap]],
    calls: list[ast.Call],
    backward: Backward,
    rebound: dict[str, int],
) -> Iterator[Finding]:
    nodes = {id(node): (source, wrap) for node, source, wrap in found}
    names: dict[str, tuple[ast.expr, Wrap]] = {}
    for part in walk(function.node, ast.IfExp):
        match part:
            # `(model.module if hasattr(model, "module") else model).loss(batch)`
            case ast.IfExp(body=body, orelse=orelse) if {id(body), id(orelse)} & nodes.keys():
                nodes[id(part)] = nodes.get(id(body)) or nodes[id(orelse)]
    methods: dict[str, tuple[str, ast.expr, Wrap]] = {}
    for statement in walk(function.node, ast.Assign):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if id(value) in nodes:
                source, wrap = nodes[id(value)]
                if ast.unparse(source) != name or name in rebound:  # else it is DL207
                    names[name] = (source, wrap)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                for method in _methods(value):
                    if id(method.value) in nodes:
                        methods[name] = (method.attr, *nodes[id(method.value)])
    for call in calls:
        target = call.func
        method_name = ""
        if isinstance(target, ast.Attribute) and id(target) not in nodes:
            method_name, target = target.attr, target.value
        elif isinstance(target, ast.Subscript):
            # ctm 87cca3b code/cm/enc_dec_lib.py:127: `discriminator.module[name](x)`, one net of a ModuleDict.
            target = target.value
        if id(target) in nodes:
            source, wrap = nodes[id(target)]
        elif isinstance(target, ast.Name) and target.id in names:
            source, wrap = names[target.id]
        elif isinstance(target, ast.Name) and target is call.func and target.id in methods:
            method_name, source, wrap = methods[target.id]
        else:
            continue
        if isinstance(target, ast.Name) and call.lineno < rebound.get(target.id, 0):
            continue
        if (
            method_name
            and _trains_nothing(model, method_name)
            and not _samples(model, function, call, calls)
        ):
            continue
        # AnyAttack 91b2091 main_ddp.py:141: a frozen encoder has no gradients to synchronise; so it is with a part of the model,
        # MelCausalVAE 6657464 train_standard.py:232: a discriminator, while the generator's loss is made.
        if (
            backward.reaches(call)
            and not any(is_frozen(model.program, function, each) for each in (source, call.func))
            and not _is_frozen_part(model, wrap, method_name)
        ):
            yield _finding(function.module, call, source, wrap)


def _is_frozen_part(model: Model, wrap: Wrap, attr: str) -> bool:
    """Whether what is called is a part of the model that its class has frozen."""
    call = model.call_at(wrap.node)
    classes = wrapped_classes(model, call.site) if attr and call is not None else ()
    return bool(classes) and all(
        cls is not None and is_frozen_part(model.program, cls, attr) for cls in classes
    )


def _methods(value: ast.expr) -> Iterator[ast.Attribute]:
    """The methods that a variable may be bound to, to be called later.

    ViT-Lens 2b4f2e0 vitlens/src/training/train.py:334: `encode = get_model(model).encode_image if … else …`, in front
    of the loop.
    """
    match value:
        case ast.IfExp(body=body, orelse=orelse):
            yield from _methods(body)
            yield from _methods(orelse)
        case ast.Attribute():
            yield value


def _trains_nothing(model: Model, method: str) -> bool:
    """Whether a method of a model runs no layers with gradients, by its name, or by what the program writes in it.

    ULIP f194ddb models/pointnext/PointNeXt/examples/classification/train.py:264: `get_logits_loss` calls `forward`.
    """
    if method in model.answer(without_layers):
        return True
    runs_layers = method.startswith("get_") and method in model.answer(layer_runners)
    return wrappers.trains_nothing(method) and not runs_layers


def _samples(model: Model, function: Function, call: ast.Call, calls: list[ast.Call]) -> bool:
    """Whether a method of the program gives log-probabilities beside what it samples, and nothing runs the net again.

    X-VLM cb4fff1 Captioning_scst.py:51: `sample_res, sample_logprobs = model_without_ddp.generate(image, sample=True)`,
    from which the criterion makes the loss. A loss that is handed the net as well computes others (PPO).
    """
    method = call.func
    if not isinstance(method, ast.Attribute) or method.attr not in model.answer(layer_runners):
        return False
    gives = any(
        node.value is call
        and any(isinstance(target, ast.Tuple) for target in node.targets)
        and any(_LOG_PROBABILITY.search(name) for t in node.targets for name in target_names(t))
        for node in own_nodes(function, ast.Assign)
    )
    nets = {ast.unparse(method.value), *_same_net(function, method.value)}
    return gives and not any(
        ast.unparse(given) in nets
        for each in calls
        if each is not call
        for given in (*each.args, *(keyword.value for keyword in each.keywords))
        if last_name(each.func) not in _ASKS
    )


def _same_net(function: Function, inner: ast.expr) -> Iterator[str]:
    """What else a function calls the net that `inner` is: what it was taken from, or is assigned to it."""
    if isinstance(inner, ast.Attribute):
        yield ast.unparse(inner.value)
    for value in assignments(function).get(ast.unparse(inner), []):
        yield ast.unparse(value)
        if isinstance(value, ast.Attribute):
            yield ast.unparse(value.value)


def _finding(module: Module, call: ast.Call, source: ast.expr, wrap: Wrap) -> Finding:
    text = source_of(module, call.func)
    advice = f"Call `{source_of(module, source)}` itself for the loss"
    title = wrappers.WRAPPERS[wrap.kind].title
    return Finding(
        CODE,
        NAME,
        SEVERITY,
        f"`{text}(...)` goes past {title}, so every rank steps with the gradients of its own batch and "
        f"the copies of the model drift apart. {advice}.",
        place_of(module, call),
        (related(wrap.module, wrap.node, "wrapped here"),),
        Fix(Applicability.DISPLAY, advice),
    )
