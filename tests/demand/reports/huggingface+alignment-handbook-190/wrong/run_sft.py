import argparse

from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, HfArgumentParser, TrainingArguments
from trl import SFTConfig, SFTTrainer


def main():
    (training_args,) = HfArgumentParser(SFTConfig).parse_args_into_dataclasses()
    tokenizer = AutoTokenizer.from_pretrained("mistralai/Mistral-7B-v0.1")
    raw = load_dataset("HuggingFaceH4/ultrachat_200k", split="train_sft")

    def render(example):
        return {"text": tokenizer.apply_chat_template(example["messages"], tokenize=False)}

    with training_args.main_process_first(desc="rendering and packing"):
        data = raw.map(render, remove_columns=raw.column_names)
        data = data.map(lambda e: tokenizer(e["text"], truncation=True, max_length=2048))
    model = AutoModelForCausalLM.from_pretrained("mistralai/Mistral-7B-v0.1")
    trainer = SFTTrainer(model=model, args=training_args, train_dataset=data, processing_class=tokenizer)
    trainer.train()
    trainer.save_model(training_args.output_dir)


if __name__ == "__main__":
    main()
