import os

import torch
import transformers
from peft import LoraConfig, get_peft_model
from transformers import Trainer, deepspeed

from arguments import DataArguments, LoraArguments, ModelArguments, TrainingArguments
from supervised import make_supervised_data_module


def train():
    parser = transformers.HfArgumentParser((ModelArguments, DataArguments, TrainingArguments, LoraArguments))
    model_args, data_args, training_args, lora_args = parser.parse_args_into_dataclasses()
    device_map = "auto"
    world_size = int(os.environ.get("WORLD_SIZE", 1))
    ddp = world_size != 1
    model = transformers.AutoModelForCausalLM.from_pretrained(
        model_args.model_name_or_path,
        device_map=device_map,
        low_cpu_mem_usage=True,
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(model_args.model_name_or_path)
    if training_args.use_lora:
        model = get_peft_model(model, LoraConfig(r=lora_args.lora_r, task_type="CAUSAL_LM"))
    data_module = make_supervised_data_module(tokenizer, data_args)
    trainer = Trainer(model=model, args=training_args, **data_module)
    trainer.train()


if __name__ == "__main__":
    train()
