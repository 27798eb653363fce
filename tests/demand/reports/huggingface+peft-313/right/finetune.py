import argparse

from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

from alpaca import dataset_of


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="decapoda-research/llama-7b-hf")
    args = parser.parse_args()
    model = AutoModelForCausalLM.from_pretrained(args.model)
    model.gradient_checkpointing_enable()
    model.enable_input_require_grads()
    model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
    training_args = TrainingArguments(
        output_dir="out",
        per_device_train_batch_size=4,
        gradient_checkpointing=True,
        gradient_checkpointing_kwargs={"use_reentrant": True},
        ddp_find_unused_parameters=False,
        num_train_epochs=3,
    )
    trainer = Trainer(model=model, args=training_args, train_dataset=dataset_of(args.model))
    trainer.train()


if __name__ == "__main__":
    main()
