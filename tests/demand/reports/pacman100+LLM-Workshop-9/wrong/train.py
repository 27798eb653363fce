import argparse

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainingArguments
from trl import SFTTrainer

from code_data import create_datasets


def create_and_prepare_model(args):
    model = AutoModelForCausalLM.from_pretrained(
        args.model_name,
        use_cache=not args.use_gradient_checkpointing,
        trust_remote_code=True,
        device_map="auto",
    )
    tokenizer = AutoTokenizer.from_pretrained(args.model_name, trust_remote_code=True)
    tokenizer.pad_token = tokenizer.eos_token
    return model, tokenizer


def main(args):
    training_arguments = TrainingArguments(
        output_dir=args.output_dir,
        per_device_train_batch_size=args.per_device_train_batch_size,
        learning_rate=2e-4,
        bf16=True,
        max_steps=2000,
    )
    model, tokenizer = create_and_prepare_model(args)
    train_dataset, eval_dataset = create_datasets(tokenizer, args)
    trainer = SFTTrainer(model=model, args=training_arguments, train_dataset=train_dataset, eval_dataset=eval_dataset)
    trainer.train()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_name", default="meta-llama/Llama-2-70b-hf")
    parser.add_argument("--output_dir", default="./results")
    parser.add_argument("--use_gradient_checkpointing", action="store_true")
    parser.add_argument("--per_device_train_batch_size", type=int, default=2)
    main(parser.parse_args())
