import argparse

import torch
from accelerate import Accelerator
from diffusers import UNet2DConditionModel
from transformers import CLIPTextModel

from library import train_util


def train(args):
    accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)
    text_encoder = CLIPTextModel.from_pretrained(args.model, subfolder="text_encoder")
    unet = UNet2DConditionModel.from_pretrained(args.model, subfolder="unet")
    loader = train_util.make_loader(args)
    params = list(unet.parameters())
    if args.train_text_encoder:
        params += list(text_encoder.parameters())
    optimizer = torch.optim.AdamW(params, lr=args.learning_rate)

    if args.train_text_encoder:
        unet, text_encoder, optimizer, loader = accelerator.prepare(unet, text_encoder, optimizer, loader)
    else:
        unet, optimizer, loader = accelerator.prepare(unet, optimizer, loader)

    if args.gradient_checkpointing:
        unet.train()
        text_encoder.train()
        if args.train_text_encoder:
            text_encoder.text_model.embeddings.requires_grad_(True)

    for epoch in range(args.max_train_epochs):
        for batch in loader:
            with accelerator.accumulate(unet, text_encoder):
                loss = train_util.loss_of(unet, text_encoder, batch)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--train_text_encoder", action="store_true")
    parser.add_argument("--gradient_checkpointing", action="store_true")
    parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
    parser.add_argument("--learning_rate", type=float, default=1e-5)
    parser.add_argument("--max_train_epochs", type=int, default=1)
    train(parser.parse_args())
