import argparse
import os

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.integrations import HfDeepSpeedConfig
from trl import SFTConfig, SFTTrainer

from sft import dataset_of


def load_deepspeed_config(args):
    world_size = int(os.environ.get("WORLD_SIZE", 2))
    return {
        "train_batch_size": args.batch * args.accumulation * world_size,
        "train_micro_batch_size_per_gpu": args.batch,
        "gradient_accumulation_steps": args.accumulation,
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": 3},
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="meta-llama/Llama-3.1-8B")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--accumulation", type=int, default=8)
    args = parser.parse_args()
    ds_config = load_deepspeed_config(args)
    dschf = HfDeepSpeedConfig(ds_config)
    model = AutoModelForCausalLM.from_pretrained(args.model, torch_dtype=torch.bfloat16)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    config = SFTConfig(output_dir="out", per_device_train_batch_size=args.batch,
                       gradient_accumulation_steps=args.accumulation, bf16=True, deepspeed=ds_config)
    SFTTrainer(model=model, args=config, train_dataset=dataset_of(tokenizer), processing_class=tokenizer).train()


if __name__ == "__main__":
    main()
