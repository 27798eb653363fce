"""An attribute is read from the wrapper around a model, which does not have it.

## What it does
Follows values that came from `DistributedDataParallel(...)`, `Accelerator.prepare()` (also through tuple
targets, `self.x` and other methods), `deepspeed.initialize` and the like, and the wrapped models that a
`Trainer` keeps in `model_wrapped` and hands to `compute_loss`. Reports attributes and methods of the model
(`config`, `generate`, `save_pretrained`, its own ones) that are read from such a value where a layer of it
neither has them nor passes them on. Reports an `if hasattr(model, "name")` without another arm, in a function that
trains, which is never true of the wrapper. Reports a `config` or `generation_config` that is put on the wrapper,
where the model inside is unwrapped and saved afterwards.

## Why it is bad
`DistributedDataParallel` has no `__getattr__` that asks the model: `model.config` raises AttributeError. On
one process nothing is wrapped and the script works, and under FSDP1, DeepSpeed and `torch.compile`
attributes are passed on: so the line fails on the first run with several GPUs, often after hours, where a
sample is drawn or a model card is written. Where the launch chooses the wrapper, the message names the first
launch beside the code whose configuration of accelerate asks for DDP (MULTI_GPU, `--multi_gpu`).

## Errors you may see
- `'DistributedDataParallel' object has no attribute`

## Example
```python
model, optimizer = accelerator.prepare(model, optimizer)
samples = model.generate(**batch)
```

## Use instead
```python
model, optimizer = accelerator.prepare(model, optimizer)
samples = unwrap(model).generate(**batch)
```

## Fix safety
Safe: `unwrap` gives the model itself on one process. Unsafe where a setting is put on the wrapper, since
other code may read it there. Only shown where another call fills the parameter with what is no model (settings, a text:
`unwrap_model()` raises), and where what is read may run a training forward
(`model.compute_loss(batch)`, `model.get_encoder()(ids)`, a method that runs layers): behind the wrapper's back
gradients are not synchronised, and such a call belongs into the model's own `forward`; unsafe in functions
whose name says that they evaluate, sample or save. What freezes parameters, or draws weights, is moved in front of the wrap.

## Known limits
An error where one function, or one file, wraps by DDP's or DataParallel's own name and reads; a warning where the launch
chooses the wrapper, where another file wraps, or where the wrap stands under a condition that the read does not.
Information where all launches that lead to the read, and all configurations of accelerate, ask for FSDP or DeepSpeed, and the program itself tells no types of launches apart. Information where nothing shows that the model inside has the attribute: no module of the program has that name, nor
have the models of transformers, diffusers, peft, timm or torchvision, and what makes the model is a class of the program
or not seen at all (an argument; what is no model, like a tokenizer). Information also where nothing shows that the
wrapped model comes to the read: another class wraps, or a condition that does not ask for several processes or GPUs, and
no calls that are followed hand the wrapped model on; or the reading function of another file asks for the wrapper
elsewhere. Silent where the name that is read was unwrapped under a flag that is true wherever the wrap is (`m = model.module if
args.distributed or args.dp else model`), on what the program itself sets on the wrapper (`model.names = names` behind the wrap),
on a model whose parameters were all frozen before
`prepare()` (accelerate leaves it bare) or that is prepared in FSDP or DeepSpeed alone (also beside accelerate's `DummyOptim`,
or by an Accelerator that gets `fsdp_plugin` or `deepspeed_plugin`), where the code asks first
(`hasattr` for that attribute, `getattr` with a default, `isinstance`, a condition on the launch, here or around
every call of the function, `except AttributeError`), on a mapping, list or record of models, which `prepare()`
gives back as it came, on what is read before the wrap, in a method that is only called on objects whose constructor was
given a constant with which it does not wrap, and where the model's class is seen and nothing in the
program has an attribute of that name: the line fails on one process too. `state_dict()` and calls of the model
itself are never reported: they belong on the wrapper.

## References
- PyTorch, `torch/nn/parallel/distributed.py`: the class defines no `__getattr__`
- trl 0.20.0, `trl/trainer/grpo_trainer.py`, line 1535
- diffusers, `examples/research_projects/consistency_training/train_cm_ct_unconditional.py`, line 1198
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from distlint.analysis.interpreter.ranks import MAIN
from distlint.analysis.model import Model, place_of, related, source_of, span_of
from distlint.analysis.program.syntax import own_nodes
from distlint.analysis.questions.above_the_wrap import above_the_wrap, wrapped_anew_below
from distlint.analysis.questions.bare_objects import read_of_bare_objects
from distlint.analysis.questions.inside import fails_unwrapped, of_a_layer, shown_inside
from distlint.analysis.questions.put_on import as_put_on
from distlint.analysis.questions.wrapped import (
    BY_LAUNCH,
    asked_by_callers,
    asked_in_another_arm,
    call_of_wrap,
    for_several,
    is_guarded,
    layer_without,
    lost_writes,
    passed_on,
    readings,
    ruled_out,
    set_on_classes,
    set_on_wrappers,
    under_condition,
    wrapped_by_nobody,
)
from distlint.edits import Replace
from distlint.findings import Applicability, Finding, Fix, Related, Severity
from distlint.knowledge import facts
from distlint.launch.engines import Engine
from distlint.repairs.unwrapping import once, read_from_model
from distlint.rule import Status

from .in_vain import asked_in_vain
from .pipelines import handed_to_pipelines

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import AttributeSite, CallSite
    from distlint.analysis.interpreter.ranks import RankClass
    from distlint.analysis.interpreter.values import Wrap
    from distlint.knowledge.wrappers import Wrapper

CODE = "DL201"
NAME = "wrapped-model-attribute"
SEVERITY = Severity.ERROR
STATUS = Status.STABLE
LITERALS = (b"model_wrapped",)


def check(model: Model) -> Iterator[Finding]:
    """Each attribute read through a layer that lacks it."""
    too_late = {
        id(call.site.node.args[0])
        for call in model.calls()
        if call.site.node.args and facts.is_unwrap(call.site.name)
    }
    written = model.answer(set_on_wrappers)
    found: list[tuple[AttributeSite, Finding]] = []
    done: set[int] = set()
    for read, ranks in model.attributes(each_wrap=True):
        if not isinstance(read.node.ctx, ast.Load) or id(read.node) in too_late:
            continue
        if read.attr in model.answer(set_on_classes):
            continue
        if id(read.node) in done or (there := as_put_on(model, read)) is None:
            continue
        for site in readings(there):
            layer = layer_without(site.receiver.wraps, site.attr, written)
            test = asked_in_vain(site) if layer is not None else None
            guarded = test is None and is_guarded(site, of_model=True)
            if layer is None or guarded or asked_by_callers(model, site):
                continue
            if above_the_wrap(model, site.function, site.receiver.wraps[-1]):
                continue
            wrap = call_of_wrap(model, site)
            if not (
                passed_on(model, wrap, site)
                or ruled_out(wrap, site)
                or read_of_bare_objects(model, wrap, site)
                or wrapped_by_nobody(wrap, site)
                or fails_unwrapped(model, wrap, site)
                or wrapped_anew_below(model, site)
            ):
                severity = _severity(model, wrap, site) if site is there else Severity.WARNING
                done.add(id(read.node))
                if test is None:
                    found.append((site, _finding(model, site, layer, ranks, severity)))
                elif severity is not Severity.INFO and id(test) not in done:
                    done.add(id(test))
                    yield _left_out(site, test, layer)
                break
    yield from once(model, found)
    for site in lost_writes(model):
        yield _lost(site)
    for loads, parts in handed_to_pipelines(model):
        yield _refused(loads, parts)


def _left_out(site: AttributeSite, test: ast.If, layer: Wrapper) -> Finding:
    receiver = source_of(site.module, site.node.value)
    advice = f"Ask the model inside: `unwrap({receiver})`"
    return Finding(
        CODE,
        NAME,
        Severity.WARNING,
        f"on several processes `{receiver}` is {layer.title}, which has no `{site.attr}`: this is false, and what stands "
        f"below it is left out. {advice}.",
        place_of(site.module, test.test),
        _where_wrapped(site),
        Fix(Applicability.DISPLAY, advice),
    )


def _refused(call: CallSite, parts: dict[str, Wrap]) -> Finding:
    nodes = [node for name in parts if (node := call.argument_node(None, name)) is not None]
    texts = [source_of(call.module, node) for node in nodes]
    by_launch = any(wrap.kind in BY_LAUNCH for wrap in parts.values())
    advice = "Hand over " + " and ".join(f"`unwrap({text})`" for text in texts)
    names = " and ".join(f"`{text}`" for text in texts)
    return Finding(
        CODE,
        NAME,
        Severity.WARNING if by_launch else SEVERITY,
        f"on several processes {names} {'is the wrapper' if len(texts) == 1 else 'are wrappers'}, and the pipeline takes "
        f"models of its own classes only: it raises ValueError. {advice}.",
        place_of(call.module, nodes[0]),
        tuple(related(wrap.module, wrap.node, "wrapped here") for wrap in parts.values()),
        Fix(
            Applicability.SAFE,
            advice,
            tuple(
                Replace(span_of(node), f"$unwrap({text})")
                for node, text in zip(nodes, texts, strict=True)
            ),
        ),
    )


def _severity(model: Model, wrap: CallSite | None, site: AttributeSite) -> Severity:
    """An error where one function, or one file under no condition of its own, wraps and reads.

    No error where the launch chooses the wrapper: six of eleven causes were true at first sight (waves 9 to 13), all of
    those that DDP's own name stands in. No more than information where nothing shows that the model inside has the
    attribute, or that the wrapped model comes to the read: it is handed on by calls, kept by the object that reads it,
    or wrapped under no condition that a launch of several processes may leave out.
    """
    if not shown_inside(model, wrap, site):
        return Severity.INFO
    by_launch = site.receiver.wraps[-1].kind in BY_LAUNCH
    if by_launch and model.runs_in_engines(site.module):
        return Severity.INFO
    if wrap is None or wrap.function is site.function:
        return Severity.WARNING if by_launch else SEVERITY
    elsewhere, conditional = wrap.module is not site.module, under_condition(wrap, site)
    if elsewhere and asked_in_another_arm(site):
        return Severity.INFO
    if elsewhere:
        may_miss = conditional or not _of_one_object(model, wrap, site)
    else:
        may_miss = conditional and not for_several(wrap)
    if may_miss and not _handed_on(model, wrap, site):
        return Severity.INFO
    return Severity.WARNING if by_launch or elsewhere or conditional else SEVERITY


def _of_one_object(model: Model, wrap: CallSite, site: AttributeSite) -> bool:
    """Whether a method wraps and another one reads, of classes of which one derives from the other."""
    own, other = wrap.function.cls, site.function.cls
    return own is not None and other is not None and model.program.may_share_objects(own, other)


def _handed_on(model: Model, wrap: CallSite, site: AttributeSite) -> bool:
    """Whether the function that wraps hands the wrapped model on, by calls that are followed, to the one that reads, or back to it.

    AVID-CMA 4538e40 main-avid.py:93: `model, args, … = distribute_model_to_cuda(model, args, …)`. DiffSynth-Studio diffsynth/diffusion/runner.py: `model_logger.on_epoch_end(accelerator, model, epoch_id)`, where
    one option leaves the model as it is.
    """
    layer = site.receiver.wraps[-1].node
    work, seen = [wrap.function], {wrap.function}
    own = model.summaries_of(site.function)
    if any(
        call.callee is wrap.function and call.order < site.order
        for _, summary in (own.summaries() if own is not None else ())
        for call in summary.calls
    ):
        return True
    while work:
        summaries = model.summaries_of(work.pop())
        for _, summary in summaries.summaries() if summaries is not None else ():
            for call in summary.calls:
                given = (*call.args, *call.keywords.values())
                if (
                    call.callee is None
                    or call.callee in seen
                    or not any(w.node is layer for value in given for w in value.wraps)
                    or ruled_out(wrap, call)
                ):
                    continue
                if call.callee is site.function:
                    return True
                seen.add(call.callee)
                work.append(call.callee)
    return False


def _lost(site: AttributeSite) -> Finding:
    receiver = source_of(site.module, site.node.value)
    advice = f"Set it on the model inside: `unwrap({receiver}).{site.attr}`"
    return Finding(
        CODE,
        NAME,
        Severity.WARNING,
        f"`{receiver}.{site.attr}` is set on the wrapper, and what is unwrapped and saved below keeps the "
        f"`{site.attr}` that it had. {advice}.",
        place_of(site.module, site.node),
        _where_wrapped(site),
        Fix(
            Applicability.UNSAFE,
            advice,
            (Replace(span_of(site.node.value), f"$unwrap({receiver})"),),
        ),
    )


def _finding(
    model: Model,
    site: AttributeSite,
    layer: Wrapper,
    ranks: frozenset[RankClass],
    severity: Severity,
) -> Finding:
    receiver = source_of(site.module, site.node.value)
    text = f"{receiver}.{site.attr}"
    who = "rank 0" if ranks == {MAIN} else "every rank"
    if MAIN not in ranks:
        who = "every rank but 0"
    # What a layer below keeps under that name is the model, or the next layer: `unwrap` takes all of them off.
    layered = of_a_layer(site)
    advice = f"Use `unwrap({receiver})`" if layered else f"Use `unwrap({receiver}).{site.attr}`"
    asks = "strategy" if layer.kind == "strategy" else "launch configuration"
    of_launch = layer.kind in BY_LAUNCH and layer.kind != "strategy"
    start = model.start_in({Engine.DDP}, site.module) if of_launch else None
    if layer.kind in BY_LAUNCH:
        launch = f"where the {asks} asks for DistributedDataParallel"
        cause = (
            f"{launch if start is None else start.words()}, which does not pass "
            "attributes on to the model (FSDP and DeepSpeed do, and one process is not wrapped)"
        )
    else:
        cause = (
            f"since {layer.title} does not pass attributes on to the model "
            "(FSDP, DeepSpeed and torch.compile do)"
        )
    return Finding(
        CODE,
        NAME,
        severity,
        f"`{text}` raises AttributeError on {who} {cause}. {advice}.",
        place_of(site.module, site.node),
        (*_where_wrapped(site), *(start.related() if start is not None else ())),
        _shown_for_advice(
            severity,
            _taken_off(site, receiver, advice)
            if layered
            else _unless_loaded_below(site, receiver, read_from_model(model, site, receiver)),
        ),
    )


def _taken_off(site: AttributeSite, receiver: str, advice: str) -> Fix:
    edit = Replace(span_of(site.node), f"$unwrap({receiver})")
    return Fix(Applicability.UNSAFE, advice, (edit,))


def _shown_for_advice(severity: Severity, fix: Fix | None) -> Fix | None:
    """The repair, without an edit where the wrapper may not be what the line fails for."""
    if fix is None or severity is not Severity.INFO:
        return fix
    return Fix(Applicability.DISPLAY, fix.message)


def _unless_loaded_below(site: AttributeSite, receiver: str, fix: Fix | None) -> Fix | None:
    """The repair, without an edit where the function would then go on to load into the wrapper, and find no key of it.

    DCNv4 4b848f7 classification/utils.py:219: the error that is repaired was all that kept it from evaluating a model
    of random weights, since `load_state_dict(…, strict=False)` leaves out what does not match.
    """
    line = min(
        (
            node.lineno
            for node in own_nodes(site.function, ast.Call)
            if isinstance(node.func, ast.Attribute)
            and node.func.attr == "load_state_dict"
            and ast.unparse(node.func.value) == receiver
            and node.lineno > site.node.lineno
            and _takes_what_matches(node)
        ),
        default=None,
    )
    if fix is None or line is None:
        return fix
    advice = f"{fix.message}, and load into that in line {line}: keys that do not match are left out there without an error"
    return Fix(Applicability.DISPLAY, advice)


def _takes_what_matches(load: ast.Call) -> bool:
    given = [k.value for k in load.keywords if k.arg == "strict"] or load.args[1:2]
    return bool(given) and not (isinstance(given[0], ast.Constant) and given[0].value is True)


def _where_wrapped(site: AttributeSite) -> tuple[Related, ...]:
    wrap = site.receiver.wraps[-1]
    if wrap.node is site.node.value:
        return ()
    handed = isinstance(wrap.node, (ast.arg, ast.Attribute))
    return (related(wrap.module, wrap.node, "handed over wrapped" if handed else "wrapped here"),)
