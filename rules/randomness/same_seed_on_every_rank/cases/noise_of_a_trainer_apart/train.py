"""A Trainer whose ranks are seeded apart after it is made."""

import os

import torch
from transformers import Trainer, TrainingArguments


class Noisy(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        noise = torch.randn_like(inputs["x"])
        return (model(inputs["x"] + noise) - noise).pow(2).mean()


if __name__ == "__main__":
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    trainer = Noisy(None, TrainingArguments("out"))
    torch.manual_seed(42 + int(os.environ["RANK"]))
    trainer.train()
