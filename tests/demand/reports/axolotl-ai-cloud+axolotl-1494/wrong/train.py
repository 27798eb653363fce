import sys

import torch
import yaml
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, Trainer, TrainingArguments

from sft import dataset_of


def main(path):
    with open(path) as file:
        cfg = yaml.safe_load(file)
    quantization = BitsAndBytesConfig(
        load_in_4bit=cfg["load_in_4bit"],
        bnb_4bit_compute_dtype=torch.bfloat16,
        bnb_4bit_quant_storage=torch.uint8,
    )
    model = AutoModelForCausalLM.from_pretrained(
        cfg["base_model"], quantization_config=quantization, torch_dtype=torch.bfloat16
    )
    model = get_peft_model(model, LoraConfig(r=cfg["lora_r"], task_type="CAUSAL_LM"))
    args = TrainingArguments(
        output_dir="out",
        per_device_train_batch_size=cfg["micro_batch_size"],
        bf16=True,
        fsdp="full_shard auto_wrap",
        fsdp_config={"transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"], "use_orig_params": "false"},
    )
    Trainer(model=model, args=args, train_dataset=dataset_of(cfg)).train()


if __name__ == "__main__":
    main(sys.argv[1])
