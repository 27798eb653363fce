"""Whether the program shows that its models are sharded, or that they cannot be.

A DeepSpeed engine shards parameters in ZeRO stage 3 alone, which its JSON asks for. What the code says of it
is asked here; `shown` is the place for what launch scripts and configurations beside the code say.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from distlint.analysis.program.definitions import dotted_name
from distlint.analysis.program.memory import remembered
from distlint.analysis.program.syntax import own_nodes
from distlint.knowledge.wrappers import PARTED
from distlint.patterns import pattern

if TYPE_CHECKING:
    from distlint.analysis.interpreter.ir import CallSite
    from distlint.analysis.live.program import LiveProgram
    from distlint.analysis.program.definitions import Function, Module

_SHARDED_MODES: Final = tuple(
    pattern(words)
    for words in (
        r"zero(?:[-_ ]?3|[-_ ]?stage|_optimization)",
        # Not a third stage of a task: ITFormer-ICML25 b80142f inference.py:331, `stage3_data`, and README.md, "stage 3: 6,768".
        r"stage[-_ ]?3(?!_(?!param|gather|prefetch|max_|module|use_all)|: *\d)",
        r"zero\.(?<!\w.....)(?:init|gatheredparameters)",
        "fsdp",
        "fully_?shard",
    )
)
"""Of a text in small letters. Each begins with letters, which are found ten times as fast as one of several beginnings."""
_ENGINES: Final = ("deepspeed", "tensor_parallel", "parallelize_module")
"""Words for what keeps a part of a model on each rank, in code, scripts and configurations."""
_EMPTY: Final = pattern(r"(?:deepspeed|fsdp)_config: *\{\}")
"""Sections in which a configuration of accelerate sets nothing (ITFormer-ICML25 b80142f accelerate_config_2gpu.yaml)."""
_REPLICATED: Final = frozenset({"ddp", "dp"})


def shown(live: LiveProgram) -> bool:
    """Whether the program speaks of FSDP, or of the ZeRO stages, anywhere."""
    return any(map(_file_speaks_of_modes, live.program.modules.values()))


@remembered
def _file_speaks_of_modes(module: Module) -> bool:
    return _speaks_of_modes(module.source.text.lower())


def _speaks_of_modes(text: str) -> bool:
    return any(words.search(text) for words in _SHARDED_MODES)


def _speaks_of_engines(text: str) -> bool:
    return any(word in text for word in _ENGINES)


BARE_MODEL: Final = frozenset({"save_pretrained", "from_pretrained", "resize_token_embeddings"})
"""Collectives of a sharded model, called on one of which only the class is known: nearly always one that is not sharded."""


def may_shard(live: LiveProgram, beside: Iterable[str]) -> bool:
    """Whether the program, or a text `beside` it, speaks of a mode that shards at all.

    Any program of accelerate or of a Trainer can be launched with FSDP. Of ten findings at first sight whose project
    has no word of it, none was true (denoising-diffusion-pytorch, audiolm-pytorch, naturalspeech2-pytorch, llm.c).
    """
    texts = (_EMPTY.sub("", text.lower()) for text in beside)
    return live.answer(_speaks) or any(
        _speaks_of_modes(text) or _speaks_of_engines(text) for text in texts
    )


def _speaks(live: LiveProgram) -> bool:
    return live.answer(shown) or any(
        _speaks_of_engines(m.source.text.lower()) for m in live.program.modules.values()
    )


@remembered
def keeps_parts(module: Module) -> bool:
    """Whether a file makes models that keep other parts on each rank, which nothing puts together when they are saved.

    torchrec a48cef7 examples/bert4rec/bert4rec_main.py:520, and `torch.save(model.state_dict(), …)` at line 407.
    """
    return any(
        target.rpartition(".")[2] in PARTED and target.startswith("torchrec.")
        for target in module.imports.values()
    )


def is_engine(site: CallSite | None) -> bool:
    """Whether a call is made on the engine that `deepspeed.initialize()` gave."""
    return (
        site is not None
        and site.receiver is not None
        and any(wrap.kind == "deepspeed" for wrap in site.receiver.wraps)
    )


def never_sharded(site: CallSite) -> bool:
    """Whether an engine cannot shard its model in this program.

    A model in DDP keeps whole parameters on each rank, and training that calls `loss.backward()` and
    `optimizer.step()` past the engine would break in ZeRO (DeepSpeedExamples 83757d9
    training/BingBertGlue/run_glue_classifier_bert_base.py:955).
    """
    assert site.receiver is not None
    inside = {wrap.kind for wrap in site.receiver.wraps}
    return bool(inside & _REPLICATED) or _trains_past_engine(site.function)


def _trains_past_engine(function: Function) -> bool:
    """Whether a function steps an optimizer and differentiates a loss by themselves, and no engine."""
    called = [
        (dotted_name(node.func.value), node.func.attr, bool(node.args))
        for node in own_nodes(function, ast.Call)
        if isinstance(node.func, ast.Attribute)
    ]
    backward = {given for _, name, given in called if name == "backward"}
    stepped = {owner for owner, name, _ in called if name == "step"}
    return backward == {False} and any("optim" in owner.lower() for owner in stepped)
