import os

import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer


def main():
    model_id = os.environ.get("MODEL", "google/gemma-3-4b-it")
    output_dir = os.environ.get("OUTPUT_DIR", "out/gemma")
    is_main = int(os.environ.get("RANK", "0")) == 0
    tokenizer = AutoTokenizer.from_pretrained(model_id)
    model = AutoModelForCausalLM.from_pretrained(model_id, dtype=torch.bfloat16)
    dataset = load_dataset("Abirate/english_quotes", split="train")
    args = SFTConfig(
        output_dir=output_dir,
        per_device_train_batch_size=2,
        num_train_epochs=2,
        bf16=True,
        save_strategy="no",
        fsdp="full_shard auto_wrap",
        fsdp_config={"transformer_layer_cls_to_wrap": ["Gemma3DecoderLayer"]},
    )
    trainer = SFTTrainer(model=model, args=args, train_dataset=dataset, processing_class=tokenizer)
    trainer.train()
    trainer.save_model(output_dir)
    if is_main:
        tokenizer.save_pretrained(output_dir)


if __name__ == "__main__":
    main()
