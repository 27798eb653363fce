import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from diffusers import UNet2DModel
from diffusers.optimization import get_cosine_schedule_with_warmup

from radar import edm_loss_weights, radar_loader


class EDMLoss:
    def __init__(self, P_mean=-1.2, P_std=1.2, sigma_data=0.5):
        self.P_mean, self.P_std, self.sigma_data = P_mean, P_std, sigma_data

    def __call__(self, net, clean):
        sigma = (torch.randn(clean.shape[0], 1, 1, 1, device=clean.device) * self.P_std + self.P_mean).exp()
        noisy = clean + torch.randn_like(clean) * sigma
        return edm_loss_weights(sigma, self.sigma_data) * (net(noisy, sigma.flatten()).sample - clean) ** 2


def train_loop(args):
    accelerator = Accelerator(mixed_precision="fp16", log_with="tensorboard", project_dir=args.out)
    model = UNet2DModel(sample_size=256, in_channels=1, out_channels=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    loader = radar_loader(args)
    loss_fn = EDMLoss()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(args.epochs):
        for batch in loader:
            with accelerator.accumulate(model):
                per_sample_loss = loss_fn(model, batch).mean(dim=(1, 2, 3))
                loss = per_sample_loss.mean()
                loss = accelerator.gather(loss).mean()
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="out")
    parser.add_argument("--epochs", type=int, default=100)
    train_loop(parser.parse_args())
