"""Contracts: what is set for a while comes back exactly, on models and in the environment."""

from __future__ import annotations

import os

import torch

from distlint import runtime
from distlint.hardware.contracts import Context, Contract
from distlint.hardware.contracts.hugging_face import llama, llava
from distlint.hardware.contracts.nets import compiled, ddp
from distlint.hardware.contracts.ranks import raised


def check_environment(context: Context) -> None:
    os.environ["DISTLINT_CONTRACT"] = "before"
    try:
        with runtime.temporary_env(DISTLINT_CONTRACT="inside", DISTLINT_ABSENT=1):
            assert os.environ["DISTLINT_CONTRACT"] == "inside"
            assert os.environ["DISTLINT_ABSENT"] == "1"
        assert os.environ["DISTLINT_CONTRACT"] == "before"
        assert "DISTLINT_ABSENT" not in os.environ
    finally:
        del os.environ["DISTLINT_CONTRACT"]
    before = dict(os.environ)
    error = raised(lambda: runtime.clean_distributed_env().__enter__())
    assert isinstance(error, RuntimeError)
    assert dict(os.environ) == before


def check_config(context: Context) -> None:
    model = llama().to(context.device)
    for wrapped in (model, ddp(model), compiled(ddp(model)), ddp(compiled(model))):
        before = (dict(vars(model.config)), dict(vars(model.generation_config)))
        with runtime.temporary_config(wrapped, use_cache=False, a_new_name=1):
            assert model.config.use_cache is False
            assert model.generation_config.use_cache is False
            assert model.config.a_new_name == 1
        assert (dict(vars(model.config)), dict(vars(model.generation_config))) == before


def check_attention(context: Context) -> None:
    model = llama(attn_implementation="sdpa").to(context.device).eval()
    tokens = torch.arange(8, device=context.device)[None]
    seen: list[str] = []
    layer = model.model.layers[0].self_attn
    layer.register_forward_hook(lambda *_: seen.append(layer.config._attn_implementation))
    for wrapped in (model, ddp(model), compiled(ddp(model))):
        with runtime.attn_implementation(wrapped, "eager"), torch.no_grad():
            model(tokens)
        with torch.no_grad():
            model(tokens)
        assert seen == ["eager", "sdpa"], seen
        seen.clear()
        refused = runtime.attn_implementation(wrapped, "no_such")
        error = raised(refused.__enter__)
        assert isinstance(error, ValueError), error
        assert "no_such" in str(error)
        assert model.config._attn_implementation == "sdpa"


def check_attention_of_several_parts(context: Context) -> None:
    model = llava()
    model.set_attn_implementation({"": "sdpa", "text_config": "eager", "vision_config": "sdpa"})

    def implementations() -> dict[str, str]:
        parts = {"": model.config, "text": model.config.text_config}
        parts["vision"] = model.config.vision_config
        return {name: part._attn_implementation for name, part in parts.items()}

    before = implementations()
    assert before == {"": "sdpa", "text": "eager", "vision": "sdpa"}
    with runtime.attn_implementation(ddp(model.to(context.device)), "eager"):
        assert set(implementations().values()) == {"eager"}
    assert implementations() == before
    with runtime.attn_implementation(model, {"text_config": "sdpa"}):
        assert implementations() == {"": "sdpa", "text": "sdpa", "vision": "sdpa"}
    assert implementations() == before
    # A failure half way through: one part is switched, the next is refused.
    error = raised(
        lambda: runtime.attn_implementation(
            model, {"text_config": "sdpa", "vision_config": "no_such"}
        ).__enter__()
    )
    assert isinstance(error, ValueError)
    assert implementations() == before
    slip = raised(lambda: runtime.attn_implementation(model, {"txt_config": "sdpa"}).__enter__())
    assert isinstance(slip, ValueError)
    assert "text_config, vision_config" in str(slip)


def check_head_is_kept(context: Context) -> None:
    model = llama().to(context.device)
    assert runtime.unwrap(ddp(model)) is model
    assert runtime.unwrap(model).lm_head is model.lm_head


def check_peft(context: Context) -> None:
    from peft import LoraConfig, get_peft_model

    base = llama(attn_implementation="sdpa").to(context.device)
    adapted = get_peft_model(base, LoraConfig(r=2, target_modules=["q_proj"]))
    wrapped = ddp(adapted)
    assert runtime.unwrap(wrapped) is adapted
    with (
        runtime.attn_implementation(wrapped, "eager"),
        runtime.temporary_config(wrapped, use_cache=False),
    ):
        assert base.config._attn_implementation == "eager"
        assert base.config.use_cache is False
        assert base.generation_config.use_cache is False
    assert base.config._attn_implementation == "sdpa"
    assert base.config.use_cache is True
    state = runtime.full_state_dict(wrapped)
    assert list(state) == (list(adapted.state_dict()) if context.rank == 0 else [])


CONTRACTS = (
    Contract(
        "temporary.environment",
        "temporary_env() restores exactly; clean_distributed_env() refuses inside a live group",
        1,
        check_environment,
    ),
    Contract(
        "temporary.config",
        "temporary_config() sets config and generation_config through any wrapper, and restores",
        1,
        check_config,
        ("transformers", "compile"),
    ),
    Contract(
        "temporary.attention",
        "attn_implementation() switches what the layers read, and restores; a bad name changes "
        "nothing",
        1,
        check_attention,
        ("transformers", "compile"),
    ),
    Contract(
        "temporary.attention-of-parts",
        "attn_implementation() restores a vision-language model's mixed implementations",
        1,
        check_attention_of_several_parts,
        ("transformers",),
    ),
    Contract(
        "temporary.head-is-kept",
        "unwrap() keeps the head of a Hugging Face model",
        1,
        check_head_is_kept,
        ("transformers",),
    ),
    Contract(
        "temporary.peft",
        "a PEFT model comes out of DDP whole, and its base model's settings switch and come back",
        1,
        check_peft,
        ("transformers", "peft"),
    ),
)
