import argparse

from datasets import load_from_disk
from transformers import AutoModelForCausalLM, AutoTokenizer, HfArgumentParser, TrainingArguments
from trl import SFTConfig, SFTTrainer


def main():
    (training_args,) = HfArgumentParser(SFTConfig).parse_args_into_dataclasses()
    tokenizer = AutoTokenizer.from_pretrained("mistralai/Mistral-7B-v0.1")
    data = load_from_disk("prepared/ultrachat")
    model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1")
    trainer = SFTTrainer(model=model, args=training_args, train_dataset=data, processing_class=tokenizer)
    trainer.train()
    trainer.save_model(training_args.output_dir)


if __name__ == "__main__":
    main()
