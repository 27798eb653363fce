import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from diffusers import DDPMScheduler, UNet2DConditionModel
from torch.utils.data import DataLoader
from transformers import AutoModel

from data import DreamBoothDataset


def encode(text_encoder, ids):
    return text_encoder(ids)[0]


def main(args):
    accelerator = Accelerator()
    unet = UNet2DConditionModel.from_pretrained(args.model, subfolder="unet")
    text_encoder = AutoModel.from_pretrained(args.model, subfolder="text_encoder")
    scheduler = DDPMScheduler.from_pretrained(args.model, subfolder="scheduler")
    params = list(unet.parameters()) + (list(text_encoder.parameters()) if args.train_text_encoder else [])
    optimizer = torch.optim.AdamW(params, lr=args.learning_rate)
    loader = DataLoader(DreamBoothDataset(args), batch_size=args.train_batch_size, shuffle=True)
    if args.train_text_encoder:
        unet, text_encoder, optimizer, loader = accelerator.prepare(unet, text_encoder, optimizer, loader)
    else:
        unet, optimizer, loader = accelerator.prepare(unet, optimizer, loader)

    for epoch in range(args.num_train_epochs):
        unet.train()
        for step, batch in enumerate(loader):
            with accelerator.accumulate(unet):
                images = batch["pixel_values"]
                noise = torch.randn_like(images)
                timesteps = torch.randint(0, scheduler.config.num_train_timesteps, (len(images),), device=images.device)
                noisy = scheduler.add_noise(images, noise, timesteps)
                hidden = encode(text_encoder, batch["input_ids"])
                if unet.config.class_embed_type == "timestep":
                    class_labels = timesteps
                else:
                    class_labels = None
                pred = unet(noisy, timesteps, hidden, class_labels=class_labels).sample
                loss = F.mse_loss(pred, noise)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
    accelerator.end_training()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--train_text_encoder", action="store_true")
    parser.add_argument("--learning_rate", type=float, default=5e-6)
    parser.add_argument("--train_batch_size", type=int, default=4)
    parser.add_argument("--num_train_epochs", type=int, default=1)
    main(parser.parse_args())
