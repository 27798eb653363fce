"""Attributes that decide how a model or tokenizer computes, and names that such objects go by."""

from __future__ import annotations

from typing import Final

ATTENTION: Final = "_attn_implementation"
"""The attribute of a config that holds the attention implementation
(transformers 5.23.0 transformers/configuration_utils.py: a property over `_attn_implementation_internal`)."""

MODEL_SETTINGS: Final[dict[str, str]] = {
    "_attn_implementation": "transformers 5.23.0 transformers/configuration_utils.py:595",
    "attn_implementation": "transformers 5.23.0 transformers/configuration_utils.py:493",
    "use_cache": "transformers 5.23.0 transformers/models/llama/configuration_llama.py",
    "output_hidden_states": "transformers 5.23.0 transformers/configuration_utils.py:417",
    "output_attentions": "transformers 5.23.0 transformers/configuration_utils.py:576",
    "output_router_logits": "transformers 5.23.0 transformers/models/mixtral/configuration_mixtral.py:87",
    "gradient_checkpointing": "transformers 5.23.0 transformers/modeling_utils.py:3228",
    "training": "torch 2.13.0 torch/nn/modules/module.py",
    "padding_side": "transformers 5.23.0 transformers/tokenization_utils_base.py:926",
    "truncation_side": "transformers 5.23.0 transformers/tokenization_utils_base.py:926",
}
"""Settings that mean the same on whatever object they stand, by name, with where they are read."""

CONFIGS: Final = frozenset({"config", "generation_config"})
"""Attributes of a model that hold its settings."""

_MODEL_WORDS: Final = frozenset(
    {
        "actor",
        "adapter",
        "backbone",
        "base",
        "critic",
        "decoder",
        "denoiser",
        "discriminator",
        "encoder",
        "engine",
        "generator",
        "llm",
        "lm",
        "model",
        "module",
        "net",
        "network",
        "policy",
        "student",
        "teacher",
        "transformer",
        "unet",
        "unwrapped",
        "vae",
    }
)


def names_model(name: str) -> bool:
    """Whether a variable or attribute of this name holds a network, as far as a name tells."""
    return not _MODEL_WORDS.isdisjoint(name.lower().strip("_0123456789").split("_"))
