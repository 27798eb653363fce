"""Whether the program, or what it is launched with, leaves its model whole on each rank."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name, last_name
from distlint.analysis.program.linked import imported
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import assignments, mentions_rank, own_nodes
from distlint.knowledge import facts
from distlint.knowledge.configuration.launchers import Launcher
from distlint.launch.project import Format
from distlint.nodes import walk

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.model import Model
    from distlint.analysis.program.definitions import Definition, Function, Module
    from distlint.analysis.program.program import Program
    from distlint.launch.commands import Launch
    from distlint.launch.project import Script

_PREPARES: Final = ("prepare", "prepare_model")
_HOOKS: Final = "register_post_accumulate_grad_hook"
_CONTAINERS: Final = ("AttnProcsLayers",)
"""Classes of diffusers that only hold the LoRA layers of a model: nobody calls their `forward`."""
_WHOLE: Final = ("NO", "MULTI_GPU", "MULTI_CPU", "MULTI_XPU", "MULTI_NPU", "MULTI_MLU")
_SHARDING: Final = frozenset(
    {"use_fsdp", "use_deepspeed", "use_megatron_lm", "use_parallelism_config"}
)


_AVERAGES: Final = {
    "ema_pytorch.EMA": "update",
    "torch.optim.swa_utils.AveragedModel": "update_parameters",
}
"""Classes that copy a model as they are made, with the method that copies its parameters into the copy.

Sources: ema-pytorch 03e75ca ema_pytorch/ema_pytorch.py:96, `copy_params_from_model_to_ema`; torch 2.13.0
torch/optim/swa_utils.py, `update_parameters`.
"""
_WRAPPING: Final = frozenset({"train", "evaluate", "predict", "hyperparameter_search"})
"""Methods of a Trainer in which it wraps its model."""
_PASS_ON: Final = frozenset({"compile", "peft"})
"""Layers that stand around whole models as well, and make no call a collective."""


def cannot_be_sharded(live: LiveProgram, function: Function) -> bool:
    """Whether what a function hands to `prepare()` cannot be divided: no sharded mode runs with such a program."""
    return (
        _bound_before(function)
        or _prepares_container(function)
        or _averages_whole(live.program, function)
        or _prepares_two(function)
    )


def waits_before(function: Function, anchor: ast.AST) -> bool:
    """Whether one rank runs the unwrapped model alone further up, which waits or fails where its weights are shards.

    audiolm-pytorch d65fd15 audiolm_pytorch/trainer.py:990: the validation above the save.
    """
    bare = {
        name
        for name, values in assignments(function).items()
        if len(values) == 1 and last_name(values[0]) == "unwrap_model"
    }
    line = getattr(anchor, "lineno", 0)
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in bare
        and node.lineno < line
        for test in (own_nodes(function) if bare else ())
        if isinstance(test, ast.If) and mentions_rank(test.test)
        for statement in test.body
        for node in walk(statement)
    )


def not_wrapped_yet(live: LiveProgram, site: CallSite | None) -> bool:
    """Whether a model is called that only the lines below wrap: nothing is sharded until then.

    llm.c f1e2ace train_gpt2.py:688: one forward of rank 0 for a reference, and `DDP(model)` in line 707.
    """
    if site is None or site.receiver is None:
        return False
    path = dotted_name(site.node.func)
    if not path or not {wrap.kind for wrap in site.receiver.wraps} <= _PASS_ON:
        return False
    return any(
        node.lineno > site.node.lineno
        and path in {dotted_name(argument) for argument in node.args}
        and _wraps(live.resolve(site.module, node.func))
        for node in own_nodes(site.function, ast.Call)
    )


def copied_before(site: CallSite | None) -> bool:
    """Whether what is saved is a copy of the model from before it was prepared, and was never prepared itself.

    RoboticsDiffusionTransformer deb71d8 train/train.py:488: `ema_rdt = copy.deepcopy(rdt)`, then `prepare(rdt, …)`.
    """
    if site is None or not site.node.args:
        return False
    path = dotted_name(site.node.args[0])
    made = assignments(site.function).get(path, ())
    return bool(made) and all(
        isinstance(value, ast.Call)
        and last_name(value) == "deepcopy"
        and len(value.args) > 0
        and _prepared_below(site.function, value.lineno, dotted_name(value.args[0]))
        and not _prepared_below(site.function, value.lineno, path)
        for value in made
    )


def not_trained_yet(site: CallSite | None) -> bool:
    """Whether a Trainer saves a model that it only wraps when it trains, below: nothing is sharded until then.

    mistral bf9eff0 train.py:168: the state of the beginning, and `trainer.train()` in line 173. transformers 5.23.0
    trainer.py: `_inner_training_loop` prepares the model.
    """
    if site is None or not isinstance(site.node.func, ast.Attribute) or site.loops:
        return False
    if site.method != "save_model":
        return False
    trainer, line = dotted_name(site.node.func.value), site.node.lineno
    made = [
        value.lineno for value in assignments(site.function).get(trainer, ()) if value.lineno < line
    ]
    used = [
        (node.lineno, node.func.attr)
        for node in own_nodes(site.function, ast.Call)
        if isinstance(node.func, ast.Attribute)
        and dotted_name(node.func.value) == trainer
        and node.func.attr in _WRAPPING
    ]
    return (
        bool(made)
        and any(at > line and name == "train" for at, name in used)
        and not any(at < line for at, _ in used)
    )


def _wraps(meaning: Definition | None) -> bool:
    fact = facts.wrapper(meaning) if isinstance(meaning, str) else None
    return fact is not None and not _PASS_ON.issuperset(fact.kinds)


@remembered
def _averages_whole(program: Program, function: Function) -> bool:
    """Whether a copy of the whole model, made before the model is prepared, takes its parameters in later steps.

    What a sharded mode leaves of a parameter is of another shape: the first step raises, before any save.
    denoising-diffusion-pytorch faed4db denoising_diffusion_pytorch/denoising_diffusion_pytorch.py:967.
    """
    methods = [*function.cls.methods.values()] if function.cls is not None else [function]
    called = {dotted_name(node.func) for method in methods for node in own_nodes(method, ast.Call)}
    return any(
        f"{dotted_name(target)}.{_AVERAGES[made]}" in called
        and _prepared_below(method, node.value.lineno, dotted_name(node.value.args[0]))
        for method in methods
        for node in own_nodes(method, ast.Assign)
        if isinstance(node.value, ast.Call) and node.value.args
        for made in (program.resolve_dotted(method.module, dotted_name(node.value.func)),)
        if isinstance(made, str) and made in _AVERAGES
        for target in node.targets
    )


def _prepared_below(function: Function, line: int, model: str) -> bool:
    """Whether a model, or a name that is given it, goes into `prepare()` below a line."""
    names = {model} | {
        name
        for name, values in assignments(function).items()
        if model in {dotted_name(value) for value in values}
    }
    return any(
        node.lineno > line
        and last_name(node.func) in _PREPARES
        and not names.isdisjoint(dotted_name(argument) for argument in node.args)
        for node in own_nodes(function, ast.Call)
    )


@remembered
def _prepares_two(function: Function) -> bool:
    """Whether each `prepare()` is given two models with what steps them: with DeepSpeed and FSDP2 it raises.

    accelerate 1.15.0 accelerator.py:1489, 1523; with FSDP up to 0.34 as well. DMD2 8d8fa55 main/edm/train_edm.py:129.
    """
    methods = [*function.cls.methods.values()] if function.cls is not None else [function]
    calls = [node for each in methods for node in own_nodes(each, ast.Call)]
    trained = {
        dotted_name(call.func.value)
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in ("parameters", "named_parameters")
    }
    prepared = [
        {dotted_name(argument) for argument in call.args}
        for call in calls
        if last_name(call.func) in _PREPARES
    ]
    # sd-scripts 48d368f fine_tune.py:337: a single `ds_model` where DeepSpeed is chosen.
    stepped = [given for given in prepared if any("optim" in name.lower() for name in given)]
    return bool(stepped) and all(len(given & trained) > 1 for given in stepped)


@remembered
def _bound_before(function: Function) -> bool:
    """Whether hooks stand on the parameters before the model is prepared: FSDP makes other parameters.

    LMFlow f3597db experimental/LISA-diffusion/diffusion_dpo/train_diffusion_dpo_lisa.py:782: each steps an optimizer.
    """
    calls = own_nodes(function, ast.Call)
    hooked = [call.lineno for call in calls if last_name(call.func) == _HOOKS]
    return bool(hooked) and any(
        last_name(call.func) in _PREPARES and call.lineno > min(hooked) for call in calls
    )


@remembered
def _prepares_container(function: Function) -> bool:
    """Whether only a container of LoRA layers is prepared, and the model around them is not.

    LMFlow f3597db experimental/RAFT-diffusion/train_text_to_image_lora.py:637.
    """
    nodes = own_nodes(function)
    containers = {
        dotted_name(target)
        for node in nodes
        if isinstance(node, ast.Assign) and last_name(node.value) in _CONTAINERS
        for target in node.targets
    }
    if not containers:
        return False
    given = [
        {dotted_name(argument) for argument in node.args}
        for node in nodes
        if isinstance(node, ast.Call) and last_name(node.func) in _PREPARES
    ]
    models = {name for names in given for name in names if not _is_of_training(name)}
    return bool(models) and models <= containers


def _is_of_training(name: str) -> bool:
    return any(word in name.lower() for word in ("optim", "loader", "sched", "data"))


def launched_whole(model: Model, module: Module) -> bool:
    """Whether every launch that the project holds of a file's program keeps the model whole on each rank.

    LMFlow f3597db contrib/text2image/finetune_t2i.sh: its configuration of accelerate says MULTI_GPU.
    """
    imports = {each: set(imported(model.program, each)) for each in model.modules}
    programs = {module}
    while more := {m for m, others in imports.items() if others & programs} - programs:
        programs |= more
    found = [each for m in programs for each in model.launch.starting(m.path)]
    return bool(found) and all(_is_whole(model, *each) for each in found)


def _is_whole(model: Model, script: Script, launch: Launch) -> bool:
    options = launch.options
    if launch.launcher is not Launcher.ACCELERATE or _SHARDING & options.keys():
        return False
    named = options.get("config_file")
    if named is None or named.value is None:
        one = launch.number("num_processes")
        return "multi_gpu" in options or (one is not None and one[0] == 1)
    found = model.launch.named(named.value, script.path, Format.ACCELERATE)
    return found is not None and found.values.get("distributed_type") in _WHOLE
