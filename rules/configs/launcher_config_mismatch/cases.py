"""DeepSpeed configurations in code."""

import deepspeed


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
