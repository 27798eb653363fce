import argparse
import math

import torch
from accelerate import Accelerator
from transformers import AutoModelForSequenceClassification, get_scheduler

from glue import train_loader


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="bert-base-cased")
    parser.add_argument("--num_train_epochs", type=int, default=3)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=4)
    parser.add_argument("--num_warmup_steps", type=int, default=0)
    args = parser.parse_args()
    accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)
    model = AutoModelForSequenceClassification.from_pretrained(args.model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    loader = train_loader()
    steps_per_epoch = math.ceil(len(loader) / args.gradient_accumulation_steps)
    max_train_steps = args.num_train_epochs * steps_per_epoch
    lr_scheduler = get_scheduler(
        "linear", optimizer, num_warmup_steps=args.num_warmup_steps, num_training_steps=max_train_steps
    )
    model, optimizer, loader, lr_scheduler = accelerator.prepare(model, optimizer, loader, lr_scheduler)
    for _ in range(args.num_train_epochs):
        for batch in loader:
            with accelerator.accumulate(model):
                accelerator.backward(model(**batch).loss)
                optimizer.step()
                lr_scheduler.step()
                optimizer.zero_grad()


if __name__ == "__main__":
    main()
