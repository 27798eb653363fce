import argparse
import itertools

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from diffusers import UNet2DConditionModel
from transformers import CLIPTextModel

from dreambooth import make_loader


def main(args):
    accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)
    unet = UNet2DConditionModel.from_pretrained(args.model, subfolder="unet")
    text_encoder = CLIPTextModel.from_pretrained(args.model, subfolder="text_encoder")
    params = itertools.chain(unet.parameters(), text_encoder.parameters())
    optimizer = torch.optim.AdamW(params, lr=args.learning_rate)
    loader = make_loader(args)
    unet, text_encoder, optimizer, loader = accelerator.prepare(unet, text_encoder, optimizer, loader)
    for epoch in range(args.epochs):
        unet.train()
        text_encoder.train()
        for batch in loader:
            with accelerator.accumulate(unet):
                hidden = text_encoder(batch["input_ids"])[0]
                loss = F.mse_loss(unet(batch["noisy"], batch["t"], hidden).sample, batch["noise"])
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--learning_rate", type=float, default=1e-6)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=10)
    main(parser.parse_args())
