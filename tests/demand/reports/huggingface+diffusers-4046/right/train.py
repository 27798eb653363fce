import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from diffusers import UNet2DConditionModel
from diffusers.loaders import AttnProcsLayers
from diffusers.models.attention_processor import LoRAAttnProcessor

from text_to_image import train_dataloader_of


def main(args):
    accelerator = Accelerator()
    unet = UNet2DConditionModel.from_pretrained(args.model, subfolder="unet")
    unet.requires_grad_(False)
    unet.to(accelerator.device)
    lora_attn_procs = {}
    for name in unet.attn_processors:
        hidden_size = unet.config.block_out_channels[-1]
        lora_attn_procs[name] = LoRAAttnProcessor(hidden_size=hidden_size, rank=args.rank)
    unet.set_attn_processor(lora_attn_procs)
    lora_layers = AttnProcsLayers(unet.attn_processors)
    optimizer = torch.optim.AdamW(lora_layers.parameters(), lr=1e-4)
    train_dataloader = train_dataloader_of(args)
    unet, optimizer, train_dataloader = accelerator.prepare(unet, optimizer, train_dataloader)
    for epoch in range(args.num_train_epochs):
        unet.train()
        for noisy, t, hidden, noise in train_dataloader:
            with accelerator.accumulate(unet):
                model_pred = unet(noisy, t, hidden).sample
                loss = F.mse_loss(model_pred, noise)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--rank", type=int, default=4)
    parser.add_argument("--num_train_epochs", type=int, default=100)
    main(parser.parse_args())
