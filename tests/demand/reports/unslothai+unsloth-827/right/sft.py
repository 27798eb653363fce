import argparse

from transformers import AutoModelForCausalLM, AutoTokenizer, TrainingArguments
from trl import SFTTrainer

from alpaca import formatted


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="unsloth/Phi-3-mini-4k-instruct")
    args = parser.parse_args()
    model = AutoModelForCausalLM.from_pretrained(args.model, attn_implementation="flash_attention_2", torch_dtype="bfloat16")
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    training_args = TrainingArguments(
        output_dir="outputs",
        per_device_train_batch_size=2,
        gradient_accumulation_steps=4,
        max_steps=60,
        learning_rate=2e-4,
        bf16=True,
        fp16=False,
    )
    trainer = SFTTrainer(model=model, args=training_args, train_dataset=formatted(tokenizer), processing_class=tokenizer)
    trainer.train()


if __name__ == "__main__":
    main()
