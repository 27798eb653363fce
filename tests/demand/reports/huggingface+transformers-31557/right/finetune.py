import torch
from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments


def main():
    name = "meta-llama/Meta-Llama-3-8B"
    tokenizer = AutoTokenizer.from_pretrained(name)
    tokenizer.pad_token = tokenizer.eos_token
    model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.bfloat16)
    model = get_peft_model(model, LoraConfig(r=8, task_type="CAUSAL_LM"))
    data = load_dataset("Abirate/english_quotes", split="train")
    data = data.map(lambda e: tokenizer(e["quote"], truncation=True), remove_columns=data.column_names)
    args = TrainingArguments(output_dir="out", per_device_train_batch_size=2, num_train_epochs=1, bf16=True)
    trainer = Trainer(model=model, args=args, train_dataset=data,
                      data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False))
    trainer.train()


if __name__ == "__main__":
    main()
