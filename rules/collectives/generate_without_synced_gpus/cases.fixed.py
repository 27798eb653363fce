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
    return model.generate(prompt, max_new_tokens=8, synced_gpus=None)  # expect: DL110


def in_the_first_version(name, prompt):
    model = FSDP(AutoModelForCausalLM.from_pretrained(name))
    with FSDP.summon_full_params(model, writeback=False, recurse=False):
        return model.generate(prompt, num_beams=2, synced_gpus=None)  # expect: DL110


def engine_by_hand(name, prompt):
    model = AutoModelForCausalLM.from_pretrained(name)
    engine, *_ = deepspeed.initialize(model=model, config=CONFIG)
    return engine.generate(prompt, max_new_tokens=8, synced_gpus=True)  # expect: DL110


# Correct


def make_engine(name):
    model = AutoModelForCausalLM.from_pretrained(name)
    engine, *_ = deepspeed.initialize(model=model, config=CONFIG)
    return engine


class Sampler:
    def __init__(self, engine, tokenizer):
        self.tokenizer = tokenizer
        self.engine = engine

    def sample(self, prompt):
        return self.engine.generate(prompt, max_new_tokens=8, synced_gpus=True)  # expect: DL110

    def sample_in_step(self, prompt):
        return self.engine.generate(prompt, synced_gpus=True)


class Holder:
    def __init__(self, name):
        self.actor = make_engine(name)
        self.tokenizer = AutoModelForCausalLM.from_pretrained(name)


class Chat:
    def __init__(self, holder):
        self.actor = holder.actor
        self.other = holder.tokenizer

    def answer(self, prompt):
        actor = self.actor
        return actor.generate(prompt, synced_gpus=True)  # expect: DL110

    def answer_alone(self, prompt):
        return self.other.generate(prompt)


class Either:
    def __init__(self, name, engine=None):
        self.model = engine or AutoModelForCausalLM.from_pretrained(name)

    def answer(self, prompt):
        return self.model.generate(prompt)


def answers(name, prompt):
    Sampler(make_engine(name), None).sample(prompt)
    return Chat(Holder(name)).answer(prompt), Either(name, make_engine(name)).answer(prompt)



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
