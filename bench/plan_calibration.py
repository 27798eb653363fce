"""Activations that `distlint plan` estimates against those that torch really keeps.

Small models of seven architectures are built from their configurations, on the CPU, and run one
step for real: bytes that autograd saves (distinct storages that are no parameter, by
saved_tensors_hooks), and the peak of what the allocator hands out (by the profiler). The plan only
sees the config.json.

    python bench/plan_calibration.py                     # all of it
    python bench/plan_calibration.py BertForMaskedLM     # one class

The CPU's fused attention has neither dropout nor a bias that learns, and a GPU's has both. With
sdpa the dropout of attention is therefore 0 here and T5's bias is frozen; with eager attention both
stay. The CPU's bf16 convolution takes workspace that the plan does not know, which shows in the peak
of a small model of images. Exit status 1 where saved bytes are off by more than a fifth.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn

from distlint.hardware.memory.activations import Compute, Kept
from distlint.hardware.memory.model_size import size_from_config
from distlint.hardware.memory.sizes import Adaptation, ModelSize

TOLERANCE = 0.2
BATCH, SEQUENCE = 2, 128

_TEXT: dict[str, Any] = {
    "hidden_size": 64,
    "num_hidden_layers": 5,
    "num_attention_heads": 4,
    "vocab_size": 500,
}
_GROUPED: dict[str, Any] = {**_TEXT, "num_key_value_heads": 2, "intermediate_size": 176}
# Few experts: the real peak contains the gradient of one parameter, which the plan has elsewhere.
_EXPERTS: dict[str, Any] = {**_GROUPED, "num_local_experts": 4}
_SEEN: dict[str, Any] = {
    "hidden_size": 64,
    "num_hidden_layers": 5,
    "num_attention_heads": 4,
    "intermediate_size": 256,
    "image_size": 112,
    "patch_size": 14,
}
# What dropout of attention is called; GPT-2's, BERT's and T5's configurations have it at 0.1.
_DROPOUTS = ("attn_pdrop", "attention_probs_dropout_prob", "attention_dropout", "dropout_rate")


@dataclass(frozen=True, slots=True)
class Architecture:
    """A class of transformers and the configuration to build it of."""

    name: str
    config: Callable[[], Any]
    sequence: int = SEQUENCE


ARCHITECTURES = (
    Architecture("LlamaForCausalLM", lambda: transformers.LlamaConfig(**_GROUPED)),
    Architecture("MixtralForCausalLM", lambda: transformers.MixtralConfig(**_EXPERTS)),
    Architecture(
        "T5ForConditionalGeneration",
        lambda: transformers.T5Config(
            d_model=64,
            d_kv=16,
            d_ff=256,
            num_layers=5,
            num_heads=4,
            vocab_size=500,
            decoder_start_token_id=0,  # of every configuration
        ),
    ),
    Architecture(
        "GPT2LMHeadModel",
        lambda: transformers.GPT2Config(n_embd=64, n_layer=5, n_head=4, vocab_size=500),
    ),
    Architecture(
        "ViTForImageClassification",
        lambda: transformers.ViTConfig(
            hidden_size=64, num_hidden_layers=5, num_attention_heads=4, intermediate_size=256
        ),
    ),
    Architecture(
        "BertForMaskedLM", lambda: transformers.BertConfig(**_TEXT, intermediate_size=256)
    ),
    Architecture(
        "LlavaForConditionalGeneration",
        lambda: transformers.LlavaConfig(
            text_config=transformers.LlamaConfig(**_GROUPED),
            vision_config=transformers.CLIPVisionConfig(**_SEEN),
            image_token_index=499,
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Case:
    """One way to train one architecture."""

    architecture: Architecture
    attention: str
    compute: Compute
    checkpointing: bool

    def __str__(self) -> str:
        kept = "blocks recomputed" if self.checkpointing else "all kept"
        return f"{self.architecture.name:30} {self.attention:5} {self.compute.value:8} {kept:17}"


def cases(names: set[str]) -> Iterator[Case]:
    for architecture in ARCHITECTURES:
        if names and architecture.name not in names:
            continue
        for attention in ("sdpa", "eager"):
            for compute in Compute:
                for checkpointing in (False, True):
                    yield Case(architecture, attention, compute, checkpointing)


def planned(case: Case) -> Kept:
    """What the plan says, of nothing but the configuration file."""
    return _size(case.architecture, case.attention).activations.kept(
        case.compute,
        checkpointing=case.checkpointing,
        batch=BATCH,
        sequence=case.architecture.sequence,
    )


@cache
def _size(architecture: Architecture, attention: str) -> ModelSize:
    with tempfile.TemporaryDirectory() as folder:
        config = _config(architecture, attention)
        config.architectures = [architecture.name]
        config.save_pretrained(folder)
        return size_from_config(Path(folder), Adaptation(eager_attention=attention == "eager"))


def measured(case: Case) -> Kept:
    """What one real step keeps."""
    model, inputs = _real_model(case)
    weights = {
        tensor.untyped_storage()._cdata for tensor in (*model.parameters(), *model.buffers())
    }
    saved: dict[int, int] = {}
    held: list[torch.Tensor] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in weights and storage._cdata not in saved:
            saved[storage._cdata] = storage.nbytes()
            held.append(tensor)  # so that no later storage gets this address
        return tensor

    autocast = torch.autocast("cpu", torch.bfloat16, enabled=case.compute is Compute.AUTOCAST)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), autocast:
        output = model(**inputs)
    output.loss.backward()
    held.clear()
    del output

    def drop(parameter: torch.Tensor) -> None:
        parameter.grad = None

    for parameter in model.parameters():
        parameter.grad = None
        if parameter.requires_grad:
            parameter.register_post_accumulate_grad_hook(drop)  # type: ignore[no-untyped-call]
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profile:
        with autocast:
            output = model(**inputs)
        output.loss.backward()
    now = peak = 0
    changes = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    for change in sorted(changes, key=lambda e: e.start_ns()):
        now += change.nbytes()
        peak = max(peak, now)
    batch = sum(value.nbytes for value in inputs.values() if isinstance(value, torch.Tensor))
    return Kept(sum(saved.values()), batch + peak)


def _config(architecture: Architecture, attention: str) -> Any:
    """The configuration; with sdpa the dropout of attention is 0."""
    config = architecture.config()
    if attention == "sdpa":
        for each in (config, config.get_text_config()):
            for name in _DROPOUTS:
                if hasattr(each, name):
                    setattr(each, name, 0.0)
    return config


def _real_model(case: Case) -> tuple[nn.Module, dict[str, torch.Tensor]]:
    config = _config(case.architecture, case.attention)
    config._attn_implementation = case.attention
    torch.manual_seed(0)
    model = getattr(transformers, case.architecture.name)(config).train()
    dtype = torch.bfloat16 if case.compute is Compute.BF16 else torch.float32
    model.to(dtype)
    if case.attention == "sdpa":
        for name, parameter in model.named_parameters():
            parameter.requires_grad_("relative_attention_bias" not in name)
    if case.checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    sequence = case.architecture.sequence
    tokens = torch.randint(3, 400, (BATCH, sequence))
    if case.architecture.name.startswith("ViT"):
        return model, {
            "pixel_values": torch.randn(BATCH, 3, 224, 224, dtype=dtype),
            "labels": torch.zeros(BATCH, dtype=torch.long),
        }
    inputs = {"input_ids": tokens, "labels": tokens.clone()}
    if case.architecture.name.startswith("Llava"):
        patches = (_SEEN["image_size"] // _SEEN["patch_size"]) ** 2
        tokens[:, :patches] = 499
        inputs["pixel_values"] = torch.randn(BATCH, 3, 112, 112, dtype=dtype)
    if "use_cache" in config.to_dict():
        inputs["use_cache"] = False  # type: ignore[assignment]
    return model, inputs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="classes to measure; default: all")
    parser.add_argument("--json", action="store_true", help="print the ratios as JSON")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    ratios: dict[str, tuple[float, float]] = {}
    for case in cases(set(options.names)):
        plan, real = planned(case), measured(case)
        ratios[str(case)] = plan.saved / real.saved, plan.peak / real.peak
        if not options.json:
            print(
                f"{case} saved {real.saved / 1e6:7.1f} MB, plan x {ratios[str(case)][0]:.2f};"
                f"  peak {real.peak / 1e6:7.1f} MB, plan x {ratios[str(case)][1]:.2f}",
                flush=True,
            )
    if options.json:
        print(json.dumps(ratios, indent=1))
    good = [sum(abs(both[which] - 1) <= TOLERANCE for both in ratios.values()) for which in (0, 1)]
    print(
        f"of {len(ratios)} within {TOLERANCE:.0%}: {good[0]} of saved bytes, {good[1]} of peaks",
        file=sys.stderr,
    )
    return 1 if good[0] < len(ratios) else 0


if __name__ == "__main__":
    sys.exit(main())
