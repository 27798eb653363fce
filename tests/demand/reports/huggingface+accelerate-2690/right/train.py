import argparse
import os

import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM, AutoTokenizer, get_scheduler

from corpus import token_loader


def save_checkpoint(accelerator, model, tokenizer, path):
    state_dict = accelerator.get_state_dict(model)
    if accelerator.is_main_process:
        os.makedirs(path, exist_ok=True)
        unwrapped = accelerator.unwrap_model(model)
        unwrapped.save_pretrained(path, state_dict=state_dict)
        tokenizer.save_pretrained(path)
    accelerator.wait_for_everyone()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="meta-llama/Llama-2-7b-hf")
    parser.add_argument("--output_dir", default="out")
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    accelerator = Accelerator()
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForCausalLM.from_pretrained(args.model)
    loader = token_loader(tokenizer)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    scheduler = get_scheduler("cosine", optimizer, 100, 10_000)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for epoch in range(args.epochs):
        for batch in loader:
            loss = model(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        save_checkpoint(accelerator, model, tokenizer, f"{args.output_dir}/epoch_{epoch}")


if __name__ == "__main__":
    main()
