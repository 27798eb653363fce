"""A schedule that takes no number of steps."""

import argparse
import math

from accelerate import Accelerator
from diffusers.optimization import get_scheduler


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--num_train_epochs", type=int, default=1)
    parser.add_argument("--max_train_steps", type=int, default=None)
    parser.add_argument("--lr_scheduler", type=str, default="constant")
    return parser.parse_args()


def train(args, model, optimizer, loader):
    accelerator = Accelerator(gradient_accumulation_steps=2)
    overrode = False
    updates = math.ceil(len(loader) / 2)
    if args.max_train_steps is None:
        args.max_train_steps = args.num_train_epochs * updates
        overrode = True
    scheduler = get_scheduler(
        args.lr_scheduler,
        optimizer=optimizer,
        num_training_steps=args.max_train_steps * accelerator.num_processes,
    )
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    updates = math.ceil(len(loader) / 2)
    if overrode:
        args.max_train_steps = args.num_train_epochs * updates
    for _ in range(args.num_train_epochs):
        for batch in loader:
            with accelerator.accumulate(model):
                accelerator.backward(model(batch).mean())
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
