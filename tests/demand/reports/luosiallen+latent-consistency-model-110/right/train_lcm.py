import argparse
import os

import torch
from accelerate import Accelerator
from diffusers import UNet2DConditionModel

from lcm import latents_loader, lcm_loss


def main(args):
    accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)
    teacher = UNet2DConditionModel.from_pretrained(args.model, subfolder="unet")
    unet = UNet2DConditionModel(**teacher.config)
    teacher.requires_grad_(False)
    optimizer = torch.optim.AdamW(unet.parameters(), lr=1e-5)
    loader = latents_loader(args)
    unet, optimizer, loader = accelerator.prepare(unet, optimizer, loader)
    teacher.to(accelerator.device)
    for global_step, batch in enumerate(loader, 1):
        with accelerator.accumulate(unet):
            loss = lcm_loss(unet, teacher, batch)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        if accelerator.sync_gradients:
            if global_step % args.checkpointing_steps == 0:
                accelerator.save_state(os.path.join(args.output_dir, f"checkpoint-{global_step}"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--output_dir")
    parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
    parser.add_argument("--checkpointing_steps", type=int, default=200)
    main(parser.parse_args())
