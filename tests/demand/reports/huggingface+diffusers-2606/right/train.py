import argparse
import logging
import os

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.logging import get_logger
from diffusers import ControlNetModel, DDPMScheduler, UNet2DConditionModel
from diffusers.optimization import get_scheduler
from tqdm.auto import tqdm

from data import make_train_dataloader

logger = get_logger(__name__)


def main(args):
    accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)
    logging.basicConfig(level=logging.INFO)
    unet = UNet2DConditionModel.from_pretrained(args.model, subfolder="unet")
    controlnet = ControlNetModel.from_unet(unet)
    unet.requires_grad_(False)
    noise_scheduler = DDPMScheduler.from_pretrained(args.model, subfolder="scheduler")
    optimizer = torch.optim.AdamW(controlnet.parameters(), lr=args.learning_rate)
    train_dataloader = make_train_dataloader(args)
    lr_scheduler = get_scheduler("constant", optimizer=optimizer)
    controlnet, optimizer, train_dataloader, lr_scheduler = accelerator.prepare(
        controlnet, optimizer, train_dataloader, lr_scheduler
    )
    unet.to(accelerator.device)
    global_step = 0
    progress_bar = tqdm(range(args.max_train_steps), disable=not accelerator.is_local_main_process)
    while global_step < args.max_train_steps:
        for batch in train_dataloader:
            with accelerator.accumulate(controlnet):
                latents, cond, hidden = batch["latents"], batch["conditioning"], batch["hidden"]
                noise = torch.randn_like(latents)
                t = torch.randint(0, 1000, (latents.shape[0],), device=latents.device)
                noisy = noise_scheduler.add_noise(latents, noise, t)
                down, mid = controlnet(noisy, t, hidden, cond, return_dict=False)
                pred = unet(noisy, t, hidden, down_block_additional_residuals=down, mid_block_additional_residual=mid).sample
                loss = F.mse_loss(pred.float(), noise.float())
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(controlnet.parameters(), 1.0)
                optimizer.step()
                lr_scheduler.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                progress_bar.update(1)
                global_step += 1
                if global_step % args.checkpointing_steps == 0:
                    save_path = os.path.join(args.output_dir, f"checkpoint-{global_step}")
                    accelerator.save_state(save_path)
                    if accelerator.is_main_process:
                        logger.info(f"Saved state to {save_path}")
            if global_step >= args.max_train_steps:
                break
    accelerator.end_training()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--output_dir", default="controlnet-model")
    parser.add_argument("--learning_rate", type=float, default=5e-6)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
    parser.add_argument("--max_train_steps", type=int, default=10_000)
    parser.add_argument("--checkpointing_steps", type=int, default=500)
    main(parser.parse_args())
