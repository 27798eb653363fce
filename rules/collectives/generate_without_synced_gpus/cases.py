"""Texts that ranks generate with a sharded model."""

import deepspeed
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import fully_shard
from transformers import AutoModelForCausalLM

CONFIG = {"zero_optimization": {"stage": 3}}

# Bugs


def each_stops_by_itself(name, prompt):
    model = AutoModelForCausalLM.from_pretrained(name)
    fully_shard(model)
    return model.generate(prompt, max_new_tokens=8, synced_gpus=False)  # expect: DL110


def in_the_first_version(name, prompt):
    model = FSDP(AutoModelForCausalLM.from_pretrained(name))
    with FSDP.summon_full_params(model, writeback=False, recurse=False):
        return model.generate(prompt, num_beams=2, synced_gpus=False)  # expect: DL110


def engine_by_hand(name, prompt):
    model = AutoModelForCausalLM.from_pretrained(name)
    engine, *_ = deepspeed.initialize(model=model, config=CONFIG)
    return engine.generate(prompt, max_new_tokens=8)  # expect: DL110


# Correct


def as_transformers_decides(name, prompt):
    model = AutoModelForCausalLM.from_pretrained(name)
    fully_shard(model)
    return model.generate(prompt, max_new_tokens=8)


def all_go_on(name, prompt):
    model = AutoModelForCausalLM.from_pretrained(name)
    engine, *_ = deepspeed.initialize(model=model, config=CONFIG)
    return engine.generate(prompt, max_new_tokens=8, synced_gpus=True)


def with_all_parameters(name, prompt):
    model = FSDP(AutoModelForCausalLM.from_pretrained(name))
    with FSDP.summon_full_params(model):
        return model.generate(prompt, max_new_tokens=8, synced_gpus=False)


def gathered_for_it(name, prompt):
    model = AutoModelForCausalLM.from_pretrained(name)
    engine, *_ = deepspeed.initialize(model=model, config=CONFIG)
    with deepspeed.zero.GatheredParameters(list(engine.parameters())):
        return engine.generate(prompt, max_new_tokens=8)


def as_asked(name, prompt, synced):
    model = AutoModelForCausalLM.from_pretrained(name)
    fully_shard(model)
    return model.generate(prompt, max_new_tokens=8, synced_gpus=synced)


def of_one_process(name, prompt):
    model = AutoModelForCausalLM.from_pretrained(name)
    return model.generate(prompt, max_new_tokens=8, synced_gpus=False)
