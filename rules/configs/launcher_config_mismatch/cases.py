"""DeepSpeed configurations in code."""

import json

import deepspeed
from colliding import FarConfig, fit_with
from transformers import TrainingArguments


def unknown_key_of_a_section(model):
    config = {
        "train_micro_batch_size_per_gpu": 4,
        "zero_optimization": {
            "stage": 3,
            "stage3_prefetch_buckets": 1000,  # expect: DL802
        },
    }
    return deepspeed.initialize(model=model, config=config)


def offload_that_the_stage_has_not(model):
    config = {
        "train_batch_size": 8,
        "zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}},  # expect: DL802
    }
    return deepspeed.initialize(model=model, config=config)


def two_precisions(model):
    config = {
        "train_batch_size": 8,
        "fp16": {"enabled": True},
        "bf16": {"enabled": True},  # expect: DL802
        "zero_optimization": {"stage": 2},
    }
    return deepspeed.initialize(model=model, config=config)


def unknown_section(model):
    config = {
        "train_batch_size": 8,
        "transformer_engine": {"enabled": True},  # expect: DL802
        "zero_optimization": {"stage": 2},
    }
    return deepspeed.initialize(model=model, config=config)


def section_of_another_engine(model, engine):
    config = {
        "train_batch_size": 8,
        "msamp": {"enabled": True, "opt_level": "O2"},
        "zero_optimization": {"stage": 2},
    }
    return engine.initialize(model=model, config_params=config)


def right(model, stage, sections):
    config = {
        "train_micro_batch_size_per_gpu": 4,
        "fp16": {"enabled": stage == 2},
        "bf16": {"enabled": stage != 2},
        "zero_optimization": {"stage": stage, "offload_param": {"device": "cpu"}, **sections},
    }
    return deepspeed.initialize(model=model, config=config)


def spread(model, sections):
    config = {
        "train_batch_size": 8,
        "zero_optimization": {"offload_param": {"device": "cpu"}, **sections},
    }
    return deepspeed.initialize(model=model, config=config)


def spread_everywhere(model, base, precision):
    config = {**base, "fp16": {**precision}, "zero_optimization": {"stage": 2}, "steps_per_print": 9}
    return deepspeed.initialize(model=model, config=config)


def computed(model, names):
    config = {"zero_optimization": {name: True for name in names}, "train_batch_size": 8}
    return deepspeed.initialize(model=model, config=config)


def of_another_program(run):
    return run({"zero_optimization": {"levels": 3}, "model": "gpt", "data": "c4", "steps": 3})


def unknown_key(model):
    config = {
        "train_batch_size": 8,
        "monitor": {"enabled": True},  # expect: DL802
        "zero_optimization": {"stage": 2},
    }
    return deepspeed.initialize(model=model, config=config)


def unknown_key_of_transformers(folder):
    arguments = TrainingArguments(folder)
    arguments.deepspeed = {
        "train_batch_size": 8,
        "monitor": {"enabled": True},  # expect: DL802
        "zero_optimization": {"stage": 2},
    }
    return arguments


def unknown_key_that_is_written_down(model, folder):
    config = {
        "train_batch_size": 8,
        "monitor": {"enabled": True},  # expect: DL802
        "zero_optimization": {"stage": 2},
    }
    with open(folder / "used.json", "w") as file:
        json.dump(config, file)
    return deepspeed.initialize(model=model, config=config)


def key_of_another_library(size):
    config = FarConfig.from_pretrained(size)
    config.ds_config = {
        "train_batch_size": 8,
        "monitor": {"enabled": True},
        "zero_optimization": {"stage": 2},
    }
    return config


def section_that_is_handed_on(size):
    config = FarConfig(size)
    config.ds_config = {
        "train_batch_size": 8,
        "zero_optimization": {"stage": 3, "prefetch": 1000},  # expect: DL802
    }
    return config


def key_of_another_trainer(model):
    settings = {
        "train_batch_size": 8,
        "monitor": {"enabled": True},
        "zero_optimization": {"stage": 2},
    }
    return fit_with(model, engine=settings)


def key_that_the_program_reads(model):
    config = {
        "train_batch_size": 8,
        "seen_by": "team",
        "zero_optimization": {"stage": 2},
    }
    who = config.pop("seen_by")
    return deepspeed.initialize(model=model, config=config), who
