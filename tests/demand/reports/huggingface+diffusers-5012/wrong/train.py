import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from diffusers import UNet2DConditionModel
from transformers import CLIPTextModel, CLIPTextModelWithProjection

from sdxl import make_loader


def main(args):
    accelerator = Accelerator()
    unet = UNet2DConditionModel.from_pretrained(args.model, subfolder="unet")
    text_encoder_one = CLIPTextModel.from_pretrained(args.model, subfolder="text_encoder")
    text_encoder_two = CLIPTextModelWithProjection.from_pretrained(args.model, subfolder="text_encoder_2")
    params = [*unet.parameters(), *text_encoder_one.parameters(), *text_encoder_two.parameters()]
    optimizer = torch.optim.AdamW(params, lr=1e-6)
    loader = make_loader(args)
    unet, text_encoder_one, text_encoder_two, optimizer, loader = accelerator.prepare(
        unet, text_encoder_one, text_encoder_two, optimizer, loader
    )
    for epoch in range(args.epochs):
        for batch in loader:
            with accelerator.accumulate(unet, text_encoder_one, text_encoder_two):
                one = text_encoder_one(batch["ids_one"], output_hidden_states=True).hidden_states[-2]
                two = text_encoder_two(batch["ids_two"], output_hidden_states=True).hidden_states[-2]
                hidden = torch.cat([one, two], dim=-1)
                added = {"text_embeds": batch["pooled"], "time_ids": batch["time_ids"]}
                pred = unet(batch["noisy"], batch["t"], hidden, added_cond_kwargs=added).sample
                loss = F.mse_loss(pred, batch["noise"])
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--epochs", type=int, default=10)
    main(parser.parse_args())
