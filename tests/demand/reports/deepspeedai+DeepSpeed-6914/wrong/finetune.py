import argparse

from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

from sft import dataset_of


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="Qwen/Qwen2-1.5B")
    args = parser.parse_args()
    training_args = TrainingArguments(
        output_dir="out",
        per_device_train_batch_size=2,
        gradient_accumulation_steps=1,
        bf16=True,
        deepspeed="ds_z2.json",
    )
    model = AutoModelForCausalLM.from_pretrained(args.model)
    Trainer(model=model, args=training_args, train_dataset=dataset_of(args.model)).train()


if __name__ == "__main__":
    main()
