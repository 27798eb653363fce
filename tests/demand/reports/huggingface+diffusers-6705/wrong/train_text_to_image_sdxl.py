import argparse
import os
import shutil

import torch
from accelerate import Accelerator
from accelerate.utils import ProjectConfiguration
from diffusers import UNet2DConditionModel

from sdxl import loader_of, loss_of


def main(args):
    project = ProjectConfiguration(project_dir=args.output_dir)
    accelerator = Accelerator(mixed_precision="bf16", project_config=project)
    if accelerator.is_main_process:
        os.makedirs(args.output_dir, exist_ok=True)
    unet = UNet2DConditionModel.from_pretrained(args.model, subfolder="unet")
    unet.train()
    optimizer = torch.optim.AdamW(unet.parameters(), lr=args.learning_rate)
    loader = loader_of(args)
    unet, optimizer, loader = accelerator.prepare(unet, optimizer, loader)
    global_step = 0
    for epoch in range(args.epochs):
        for batch in loader:
            with accelerator.accumulate(unet):
                loss = loss_of(unet, batch)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                global_step += 1
                if accelerator.is_main_process:
                    if global_step % args.checkpointing_steps == 0:
                        checkpoints = [d for d in os.listdir(args.output_dir) if d.startswith("checkpoint")]
                        for old in sorted(checkpoints)[: -args.checkpoints_total_limit]:
                            shutil.rmtree(os.path.join(args.output_dir, old))
                        accelerator.save_state(os.path.join(args.output_dir, f"checkpoint-{global_step}"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--output_dir", default="sdxl")
    parser.add_argument("--learning_rate", type=float, default=1e-5)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--checkpointing_steps", type=int, default=500)
    parser.add_argument("--checkpoints_total_limit", type=int, default=3)
    main(parser.parse_args())
