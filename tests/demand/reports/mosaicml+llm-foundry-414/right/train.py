import sys

import torch
from composer import Trainer
from composer.models import HuggingFaceModel
from omegaconf import OmegaConf
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from llm_data import build_dataloader


def main(cfg):
    tokenizer = AutoTokenizer.from_pretrained(cfg.model.pretrained_model_name_or_path)
    model = AutoModelForCausalLM.from_pretrained(cfg.model.pretrained_model_name_or_path)
    model = get_peft_model(model, LoraConfig(**cfg.lora.args))
    trainer = Trainer(
        model=HuggingFaceModel(model, tokenizer),
        train_dataloader=build_dataloader(cfg, tokenizer),
        fsdp_config=dict(cfg.fsdp_config),
        max_duration="1ep",
    )
    trainer.fit()


if __name__ == "__main__":
    main(OmegaConf.load(sys.argv[1]))
