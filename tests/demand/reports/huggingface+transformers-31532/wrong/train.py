import argparse
import math

import torch
from accelerate import Accelerator
from tqdm.auto import tqdm
from transformers import AutoModelForCausalLM, get_scheduler

from data import loaders


def evaluate(model, loader, accelerator):
    model.eval()
    losses = []
    for batch in loader:
        with torch.no_grad():
            loss = model(**batch).loss
        losses.append(accelerator.gather_for_metrics(loss.repeat(batch["input_ids"].shape[0])))
    model.train()
    return math.exp(torch.cat(losses).mean())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_name_or_path", required=True)
    parser.add_argument("--eval_steps", type=int, default=500)
    parser.add_argument("--max_train_steps", type=int, default=10_000)
    args = parser.parse_args()
    accelerator = Accelerator()
    model = AutoModelForCausalLM.from_pretrained(args.model_name_or_path)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    train_loader, eval_loader = loaders(args)
    model, optimizer, train_loader, eval_loader = accelerator.prepare(model, optimizer, train_loader, eval_loader)
    progress_bar = tqdm(range(args.max_train_steps), disable=not accelerator.is_local_main_process)
    for batch in train_loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        progress_bar.update(1)
        if progress_bar.n % args.eval_steps == 0:
            perplexity = evaluate(model, eval_loader, accelerator)
            accelerator.print(f"perplexity {perplexity}")


if __name__ == "__main__":
    main()
