import argparse
import os

import torch
import wandb
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, get_cosine_schedule_with_warmup

from huatuo_data import HuatuoDataset


def train(args):
    accelerator = Accelerator(mixed_precision="bf16", gradient_accumulation_steps=args.gradient_accumulation_steps)
    tokenizer = AutoTokenizer.from_pretrained(args.model_path, trust_remote_code=True)
    model = AutoModelForCausalLM.from_pretrained(args.model_path, trust_remote_code=True, device_map='auto')
    model.gradient_checkpointing_enable()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
    dataset = HuatuoDataset(args.data_path, tokenizer)
    loader = DataLoader(dataset, batch_size=args.train_bsz_per_gpu, shuffle=True, collate_fn=dataset.collate_fn)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(args.n_epochs):
        for batch in loader:
            with accelerator.accumulate(model):
                loss = model(**batch, return_dict=True, use_cache=False).loss
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
        accelerator.save_state(os.path.join(args.output_dir, f"checkpoint-{epoch}"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_path", required=True)
    parser.add_argument("--data_path", required=True)
    parser.add_argument("--output_dir", default="./ckpts")
    parser.add_argument("--learning_rate", type=float, default=5e-5)
    parser.add_argument("--n_epochs", type=int, default=2)
    parser.add_argument("--train_bsz_per_gpu", type=int, default=2)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=8)
    train(parser.parse_args())
