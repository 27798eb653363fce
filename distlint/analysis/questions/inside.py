"""What shows that the model inside a wrapper has an attribute, or has it as little as the wrapper."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import Class, Function, dotted_name, last_name
from distlint.analysis.program.syntax import assignments, own_nodes
from distlint.analysis.questions.built import (
    classes_of,
    lacks,
    named_anywhere,
    wrapped_classes,
)
from distlint.analysis.questions.unset_options import is_set_from_outside
from distlint.knowledge import facts, library_models, wrappers
from distlint.nodes import walk
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import AttributeSite, CallSite
    from distlint.analysis.live.program import LiveProgram

_OF_NO_MODEL: Final = wrappers.OF_NO_MODEL | wrappers.OF_ENGINES
_OF_MODULES: Final = pattern(r"Module|Model|Net(?:work)?$|Mixin$|Pipeline|Layer|Encoder|Decoder")
"""Names of the classes of libraries whose subclasses are modules."""
_NO_MODEL: Final = pattern(
    r"processor|tokeniz|extractor|collat|data|loader|optim|sched|adam|config|accelerator",
    re.IGNORECASE,
)
"""Names of what makes no module."""
_LOADED: Final = frozenset({"from_pretrained", "from_config"})
"""Methods by which libraries make models (transformers 5.23.0 modeling_utils.py)."""
_UNDER_A_NAME: Final = frozenset(
    {"setattr", "add_module", "register_module", "register_buffer", "register_parameter"}
)


def fails_unwrapped(live: LiveProgram, call: CallSite | None, site: AttributeSite) -> bool:
    """Whether the model inside has the attribute as little as its wrapper (`call` is the wrap).

    Latte b27c24a train.py:188: `model.load_state(path)`, which no class of the program has: it fails on one
    process too, for another reason than a wrapper. Of several classes one that surely lacks it is enough
    where nothing in the program has that name. What an engine has of its own, and the program gives to nothing,
    is asked of an engine (InternVideo 3965eef InternVideo1/Pretrain/ViCLIP/tasks/shared_utils.py:190: `global_steps`
    behind `load_checkpoint`). Where all classes are known and lack it, it does not matter what else has the name
    (spear-tts-pytorch 0e6a638 spear_tts_pytorch/trainer.py:224: `train_wrapper.generate`, which only the net inside has).
    What a layer below has of its own is there behind one `module`: `model._orig_mod` of a compiled model in DDP.
    """
    if of_a_layer(site):
        return False
    if site.attr in _OF_NO_MODEL:
        return site.attr not in live.answer(named_anywhere)
    if call is None:
        return False
    several = site.receiver.wraps[-1].kind == "accelerate" and len(call.args) > 1
    classes = _prepared_as(live, call, site) if several else wrapped_classes(live, call)
    # What a subclass overrides may make another model (sd-scripts flux_train_network.py:346, wrapped by its base).
    own = call.function.cls
    if (
        own is site.function.cls
        and not (own is not None and live.program.subclasses(own))
        and all(cls is not None and lacks(live, cls, site.attr) for cls in classes)
        and not is_set_from_outside(live.program, site.attr)
    ):
        return True
    if several:
        return False
    seen = [cls for cls in classes if cls is not None and lacks(live, cls, site.attr)]
    return bool(seen) and site.attr not in live.answer(named_anywhere)


def of_a_layer(site: AttributeSite) -> bool:
    """Whether a layer below the outermost one keeps the model that it is around under the name that is read."""
    below = (wrappers.WRAPPERS[wrap.kind] for wrap in site.receiver.wraps[:-1])
    return any(site.attr in row.inner for row in below)


def _prepared_as(live: LiveProgram, call: CallSite, site: AttributeSite) -> frozenset[Class | None]:
    """The classes that a model may be of which `prepare()` gets among others, under the name that a read has for it."""
    path = ast.unparse(site.node.value)
    named = next((given for given in call.node.args if ast.unparse(given) == path), None)
    return classes_of(live, call.function, named) if named is not None else frozenset({None})


def shown_inside(live: LiveProgram, call: CallSite | None, site: AttributeSite) -> bool:
    """Whether something shows that the model inside (`call` is the wrap) has the attribute, so that unwrapping helps.

    That is a module of the program with that name, or a library's: where its models are known, they have it. What
    nothing shows may be missing from both: FasterViT 7ecdb2b fastervit/train.py:845, `model.enforce_mask()` of what
    `timm.create_model()` gives; yolov9 5b1ea9a utils/loss_tal.py:110, `model.hyp`, which the script puts on the wrapper;
    SpeechTokenizer cb66337 speechtokenizer/trainer/trainer.py:234, `.items()` of a dictionary of models.
    """
    if site.attr in live.answer(named_by_modules) or of_a_layer(site):
        return True
    makers = list(_makers(live, call, site))
    known = [library_models.model_attributes(name) for name in makers]
    if any(has is not None for has in known):
        return any(has is not None and site.attr in has for has in known)
    return site.attr in library_models.COMMON or bool(makers) or _has_parameters(call, site)


def _has_parameters(call: CallSite | None, site: AttributeSite) -> bool:
    """Whether the function that wraps asks what it wraps for its parameters, as an optimizer needs them: it is a module.

    magvit2-pytorch issue 22: a `VideoTokenizer` is none of text.
    """
    if call is None:
        return False
    path = ast.unparse(site.node.value)
    also = (
        ast.unparse(each)
        for each in assignments(call.function).get(path, ())
        if isinstance(each, ast.Name | ast.Attribute)
    )
    asked = {f"{name}.parameters" for name in (path, *also)}
    return any(dotted_name(node.func) in asked for node in own_nodes(call.function, ast.Call))


def _makers(live: LiveProgram, call: CallSite | None, site: AttributeSite) -> Iterator[str]:
    """The names of what makes the model that is wrapped, and is not in the program."""
    function, wrap = site.function, site.receiver.wraps[-1].node
    if call is not None:
        function, wrap = call.function, call.node
    if not isinstance(wrap, ast.Call):
        return
    path = ast.unparse(site.node.value)
    given = [each for each in wrap.args if ast.unparse(each) == path] or wrap.args[:1]
    for each in given:
        yield from _made_by(live, function, each, wrap)


def _made_by(
    live: LiveProgram, function: Function, model: ast.expr, wrap: ast.Call, depth: int = 3
) -> Iterator[str]:
    """The names of what makes what an expression of a function is; of a parameter, what the callers hand over."""
    path = ast.unparse(model)
    for made in (model, *assignments(function).get(path, ())):
        if isinstance(made, ast.Name) and made is not model and depth:
            yield from _made_by(live, function, made, wrap, depth - 1)
        if not isinstance(made, ast.Call) or made is wrap:
            continue
        meaning = live.resolve(function.module, made.func)
        name = meaning if isinstance(meaning, str) else dotted_name(made.func)
        if not isinstance(meaning, Function | Class) and _makes_models(name):
            yield name
    if path in function.parameters and depth:
        position = function.parameters.index(path)
        for caller in live.callers.get(function, ()):
            given = caller.argument_node(position, "") or caller.argument_node(None, path)
            if given is not None:
                yield from _made_by(live, caller.function, given, wrap, depth - 1)


def _makes_models(name: str) -> bool:
    """Whether what the program has no code of may make models, by its name."""
    owner, _, last = name.rpartition(".")
    maker = owner.rpartition(".")[2] if last in _LOADED else last
    return not (_NO_MODEL.search(maker) or facts.wrapper(name) is not None)


def named_by_modules(live: LiveProgram) -> frozenset[str]:
    """The names that modules of the program give to their methods, attributes, parts and buffers."""
    return frozenset(
        name
        for module in live.program.modules.values()
        for cls in module.all_classes
        if _is_module(live, cls)
        for name in _names_of(cls)
    )


def _is_module(live: LiveProgram, cls: Class) -> bool:
    own, outside = live.program.mro(cls)
    return any("forward" in each.methods for each in own) or any(
        _OF_MODULES.search(last) for name in outside for last in (name.rpartition(".")[2],)
    )


def _names_of(cls: Class) -> frozenset[str]:
    found = {*cls.methods, *cls.attributes, *cls.self_assigned}
    for node in walk(cls.node, ast.Call, ast.AnnAssign):
        match node:
            case ast.Call(func=func, args=[_, *_] as args) if last_name(func) in _UNDER_A_NAME:
                found.update(
                    a.value
                    for a in args[:2]
                    if isinstance(a, ast.Constant) and isinstance(a.value, str)
                )
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
    return frozenset(found)
