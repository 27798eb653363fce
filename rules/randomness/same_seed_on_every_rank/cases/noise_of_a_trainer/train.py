"""Trainers of the program that draw in their steps, from the stream that the Trainer seeds alike on all ranks."""

import os

import torch
from torch.nn.functional import cross_entropy
from transformers import Trainer, TrainingArguments


class Masks(Trainer):
    # DiffuLLaMA LLaMA-Factory/src/llamafactory/train/ddm/trainer.py:146
    def masked(self, ids):
        times = torch.rand(ids.shape[0], device=ids.device)  # expect: DL401
        return torch.where(torch.rand_like(ids.float()) < times[:, None], 0, ids)

    def compute_loss(self, model, inputs, return_outputs=False):
        logits = model(self.masked(inputs["input_ids"])).logits
        return cross_entropy(logits.transpose(1, 2), inputs["input_ids"])


class Chooses(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        # all ranks take one of two ways
        if torch.rand(1).item() < 0.5:
            inputs = {**inputs, "hint": None}
        return model(**inputs).loss


class Generates(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        return model(**inputs).loss

    def prediction_step(self, model, inputs, *args):
        noise = torch.randn_like(inputs["x"])
        return None, model(noise), None


class OfItsOwn(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        noise = torch.randn(inputs["x"].shape, generator=self.drawn, device=inputs["x"].device)
        return (model(inputs["x"] + noise) - noise).pow(2).mean()


def noised(x):
    return x + torch.randn_like(x)  # expect: DL401


class Denoises(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        return (model(noised(inputs["x"])) - inputs["x"]).pow(2).mean()


class DenoisesTwice(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        return (model(model(noised(inputs["x"]))) - inputs["x"]).pow(2).mean()


if __name__ == "__main__":
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    for kind in (Masks, Chooses, Generates, OfItsOwn, Denoises, DenoisesTwice):
        kind(None, TrainingArguments("out")).train()
