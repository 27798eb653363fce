import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from diffusers import DiffusionPipeline, UNet2DConditionModel

from data import build_loader


def log_validation(args, accelerator, unet, epoch):
    pipeline = DiffusionPipeline.from_pretrained(
        args.model,
        unet=accelerator.unwrap_model(unet),
        torch_dtype=torch.float16,
    ).to(accelerator.device)
    images = [pipeline(args.validation_prompt).images[0] for _ in range(args.num_validation_images)]
    for tracker in accelerator.trackers:
        tracker.log_images({"validation": images}, step=epoch)


def main(args):
    accelerator = Accelerator(log_with="tensorboard", project_dir="logs")
    unet = UNet2DConditionModel.from_pretrained(args.model, subfolder="unet")
    optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-5)
    loader = build_loader(args)
    unet, optimizer, loader = accelerator.prepare(unet, optimizer, loader)
    accelerator.init_trackers("text2image")
    for epoch in range(args.num_train_epochs):
        unet.train()
        for noisy, timesteps, hidden, noise in loader:
            loss = F.mse_loss(unet(noisy, timesteps, hidden).sample, noise)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.is_main_process and args.validation_prompt is not None:
            log_validation(args, accelerator, unet, epoch)
    accelerator.end_training()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--validation_prompt")
    parser.add_argument("--num_validation_images", type=int, default=4)
    parser.add_argument("--num_train_epochs", type=int, default=100)
    main(parser.parse_args())
