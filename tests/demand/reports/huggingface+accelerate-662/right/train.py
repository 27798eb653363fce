import argparse

import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM, get_linear_schedule_with_warmup

from data import endless_loader


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="gpt2")
    parser.add_argument("--max_steps", type=int, default=50_000)
    parser.add_argument("--warmup_steps", type=int, default=2000)
    args = parser.parse_args()
    accelerator = Accelerator(log_with="tensorboard", project_dir="runs")
    model = AutoModelForCausalLM.from_pretrained(args.model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    scheduler = get_linear_schedule_with_warmup(
        optimizer, num_warmup_steps=args.warmup_steps * accelerator.num_processes,
        num_training_steps=args.max_steps * accelerator.num_processes
    )
    loader = endless_loader()
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    step = 0
    while step < args.max_steps:
        for batch in loader:
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            step += 1
            if step >= args.max_steps:
                break


if __name__ == "__main__":
    main()
