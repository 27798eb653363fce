"""Spread models, trained by several processes and by one."""

import os

import torch
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModelForCausalLM, Trainer

# Bugs


def prepared(name, optimizer):
    accelerator = Accelerator()
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")  # expect: DL507
    model, optimizer = accelerator.prepare(model, optimizer)
    return model, optimizer


def wrapped(name):
    model = AutoModelForCausalLM.from_pretrained(  # expect: DL507
        name,
        dtype=torch.bfloat16,
        # as much as fits
        device_map="balanced",
    )
    return DDP(model)


def trained(name, args, data):
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")  # expect: DL507
    print(args.local_rank)
    return Trainer(model=model, args=args, train_dataset=data)


def beside_one_that_asks(name, optimizer):
    # Otter 1e7eb9a pipeline/train/pretraining.py:436: one process keeps all GPUs, as for the other model
    accelerator = Accelerator()
    device = accelerator.device
    if "small" in name:
        model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")  # expect: DL507
    elif accelerator.num_processes > 1:
        model = AutoModelForCausalLM.from_pretrained(name, device_map={"": device})
    else:
        model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
    return accelerator.prepare(model, optimizer)


def spread_by_one_process(name, optimizer, tracked):
    # Alpaca-CoT bd46c44 peft/examples/int8_training/peft_adalora_whisper_large_training.py:541
    accelerator = Accelerator(log_with="wandb") if tracked else Accelerator()
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")  # expect: DL507
    if len(set(model.hf_device_map.values())) > 1:
        print("several parts")
    return accelerator.prepare(model, optimizer)


def spread_or_wrapped(name):
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")  # expect: DL507
    if len(set(model.hf_device_map.values())) > 1:
        return model
    return DDP(model)


# Correct


def by_the_launch(name, args, data):
    device_map = "auto"
    if os.environ.get("LOCAL_RANK") is not None:
        device_map = {"": int(os.environ["LOCAL_RANK"])}
    model = AutoModelForCausalLM.from_pretrained(name, device_map=device_map)
    return Trainer(model=model, args=args, train_dataset=data)


def own_device(name, optimizer):
    accelerator = Accelerator()
    model = AutoModelForCausalLM.from_pretrained(
        name, device_map={"": accelerator.local_process_index}
    )
    return accelerator.prepare(model, optimizer)


def spread_on_one_process_alone(name, optimizer):
    accelerator = Accelerator()
    own = {"": accelerator.local_process_index} if accelerator.num_processes > 1 else "auto"
    model = AutoModelForCausalLM.from_pretrained(name, device_map=own)
    if len(set(model.hf_device_map.values())) > 1:
        print("several parts")
    return accelerator.prepare(model, optimizer)


def counts_its_parts(name, text):
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
    return len(set(model.hf_device_map.values())), model.generate(text)


def inference(name, text):
    model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
    return model.generate(text)


def another_model(name, model, optimizer):
    accelerator = Accelerator()
    judge = AutoModelForCausalLM.from_pretrained(name, device_map="auto")
    model, optimizer = accelerator.prepare(model, optimizer)
    return model, optimizer, judge
