"""Models with FlashAttention. No dtype is named in this file, which would be taken for the model's."""

from transformers import AutoConfig, AutoModel, AutoModelForCausalLM


def without(name):
    return AutoModelForCausalLM.from_pretrained(name, attn_implementation="flash_attention_2")  # expect: DL804


def by_the_old_switch(name):
    return AutoModel.from_pretrained(name, use_flash_attention_2=True)  # expect: DL804


def of_the_checkpoint(name):
    return AutoModel.from_pretrained(name, attn_implementation="flash_attention_2", torch_dtype="auto")


def other_attention(name):
    return AutoModel.from_pretrained(name, attn_implementation="sdpa")


def whatever_is_given(name, **options):
    return AutoModel.from_pretrained(name, attn_implementation="flash_attention_2", **options)


def configuration(name, attention):
    config = AutoConfig.from_pretrained(name)
    return AutoModel.from_config(config, attn_implementation=attention)
