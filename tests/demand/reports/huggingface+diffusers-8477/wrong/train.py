import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from diffusers import StableDiffusionPipeline, UNet2DConditionModel

from loaders import pairs


class Trainer:
    def __init__(self, args):
        self.args = args
        self.accelerator = Accelerator(mixed_precision=args.mixed_precision)
        self.pipe = StableDiffusionPipeline.from_pretrained(args.model)
        self.vae, self.unet = self.pipe.vae, self.pipe.unet
        self.vae.requires_grad_(False)
        self.optimizer = torch.optim.AdamW(self.unet.parameters(), lr=args.lr)
        self.loader = pairs(args)
        self.unet, self.optimizer, self.loader = self.accelerator.prepare(self.unet, self.optimizer, self.loader)

    def latents(self, images):
        unet = self.unet
        mean = self.vae.encode(images).latent_dist.sample()
        if unet.config.in_channels == 8:
            mean = torch.cat([mean, torch.zeros_like(mean)], dim=1)
        return mean

    def train(self):
        for batch in self.loader:
            latents = self.latents(batch["image"])
            noise = torch.randn_like(latents)
            t = torch.randint(0, 1000, (len(latents),), device=latents.device)
            loss = F.mse_loss(self.unet(latents + noise, t, batch["text"]).sample, noise)
            self.accelerator.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="runwayml/stable-diffusion-v1-5")
    parser.add_argument("--mixed_precision", default="bf16")
    parser.add_argument("--lr", type=float, default=1e-5)
    Trainer(parser.parse_args()).train()


if __name__ == "__main__":
    main()
