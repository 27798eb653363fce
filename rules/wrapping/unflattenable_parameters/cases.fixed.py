"""Models with adapters in FSDP of the first version."""

from functools import partial

import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from peft import LoraConfig, get_peft_model
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from transformers import AutoModelForCausalLM, LlamaConfig
from transformers.models.llama.modeling_llama import LlamaDecoderLayer

# --- bugs -----------------------------------------------------------------------------------------


def frozen_and_trained(base, local_rank):
    model = get_peft_model(base, LoraConfig(r=8))
    model.print_trainable_parameters()
    return FSDP(model, device_id=local_rank, use_orig_params=True)  # expect: DL212


def in_units_of_layers(base):
    adapted = get_peft_model(base, LoraConfig(r=8))
    policy = partial(transformer_auto_wrap_policy, transformer_layer_cls={LlamaDecoderLayer})
    sharded = FSDP(adapted, auto_wrap_policy=policy, use_orig_params=False)  # expect: DL212
    return sharded


def two_dtypes(name):
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)
    model = get_peft_model(model, LoraConfig(r=8), autocast_adapter_dtype=False)  # expect: DL212
    return FSDP(model, use_orig_params=True)


def two_dtypes_by_the_newer_keyword(name):
    base = AutoModelForCausalLM.from_pretrained(name, dtype=torch.float16)
    base.config.use_cache = False
    adapted = get_peft_model(base, LoraConfig(r=8), autocast_adapter_dtype=False)  # expect: DL212
    return FSDP(adapted, use_orig_params=True)


def with_accelerate(base, optimizer):
    plugin = FullyShardedDataParallelPlugin(use_orig_params=False)
    accelerator = Accelerator(fsdp_plugin=plugin)
    model = get_peft_model(base, LoraConfig(r=8))
    model, optimizer = accelerator.prepare(model, optimizer)  # expect: DL212
    return model, optimizer


# --- right ----------------------------------------------------------------------------------------


def with_the_original_parameters(base, local_rank):
    model = get_peft_model(base, LoraConfig(r=8))
    return FSDP(model, device_id=local_rank, use_orig_params=True)


def all_trained(base):
    model = get_peft_model(base, LoraConfig(r=8))
    model.requires_grad_(True)
    return FSDP(model)


def each_parameter_asked(base):
    model = get_peft_model(base, LoraConfig(r=8))
    for parameter in model.parameters():
        parameter.requires_grad = True
    return FSDP(model)


def units_of_its_own(base, choose):
    model = get_peft_model(base, LoraConfig(r=8))
    return FSDP(model, auto_wrap_policy=choose(model))


def without_adapters():
    model = AutoModelForCausalLM.from_config(LlamaConfig())
    return FSDP(model)


def second_version(base):
    model = get_peft_model(base, LoraConfig(r=8))
    fully_shard(model)
    return model


def one_dtype(name):
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)
    model = get_peft_model(model, LoraConfig(r=8), autocast_adapter_dtype=False)
    return FSDP(model, use_orig_params=True)


def cast_afterwards(name):
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)
    model = get_peft_model(model, LoraConfig(r=8)).to(torch.bfloat16)
    return FSDP(model, use_orig_params=True)


def cast_before(name):
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)
    model.float()
    model = get_peft_model(model, LoraConfig(r=8))
    return FSDP(model, use_orig_params=True)


def with_accelerate_right(base, optimizer):
    plugin = FullyShardedDataParallelPlugin(use_orig_params=True)
    accelerator = Accelerator(fsdp_plugin=plugin)
    model = get_peft_model(base, LoraConfig(r=8))
    return accelerator.prepare(model, optimizer)
