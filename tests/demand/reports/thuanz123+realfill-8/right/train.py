import argparse
import os

import torch
from accelerate import Accelerator
from diffusers import UNet2DConditionModel
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader
from transformers import CLIPTextModel

from dataset import RealFillDataset


def main(args):
    accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)
    unet = UNet2DConditionModel.from_pretrained(args.model, subfolder="unet")
    text_encoder = CLIPTextModel.from_pretrained(args.model, subfolder="text_encoder")
    config = LoraConfig(r=args.lora_rank, target_modules=["to_k", "to_q", "to_v"])
    unet = get_peft_model(unet, config)
    text_encoder = get_peft_model(text_encoder, LoraConfig(r=args.lora_rank, target_modules=["k_proj", "q_proj"]))

    def save_model_hook(models, weights, output_dir):
        if accelerator.is_main_process:
            for model in map(accelerator.unwrap_model, models):
                sub_dir = "unet" if isinstance(model.base_model.model, type(unet)) else "text_encoder"
                model.save_pretrained(os.path.join(output_dir, sub_dir))
                weights.pop()

    accelerator.register_save_state_pre_hook(save_model_hook)
    optimizer = torch.optim.AdamW(list(unet.parameters()) + list(text_encoder.parameters()), lr=1e-4)
    loader = DataLoader(RealFillDataset(args.data), batch_size=args.batch, shuffle=True)
    unet, text_encoder, optimizer, loader = accelerator.prepare(unet, text_encoder, optimizer, loader)

    step = 0
    for batch in loader:
        with accelerator.accumulate(unet, text_encoder):
            hidden = text_encoder(batch["input_ids"])[0]
            loss = unet(batch["noisy"], batch["timesteps"], hidden).sample.square().mean()
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        step += 1
        if step % args.checkpointing_steps == 0:
            accelerator.save_state(os.path.join(args.output_dir, f"checkpoint-{step}"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--data")
    parser.add_argument("--output_dir", default="out")
    parser.add_argument("--lora_rank", type=int, default=8)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--checkpointing_steps", type=int, default=100)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
    main(parser.parse_args())
