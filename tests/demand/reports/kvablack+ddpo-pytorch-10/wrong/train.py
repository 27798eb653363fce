from collections import defaultdict

import torch
from absl import app, flags
from accelerate import Accelerator
from diffusers import StableDiffusionPipeline
from diffusers.loaders import AttnProcsLayers

from ddpo import log_prob_step, lora_processors, sample_batches

FLAGS = flags.FLAGS
flags.DEFINE_float("lr", 3e-4, "learning rate")
flags.DEFINE_integer("epochs", 100, "epochs")


def main(_):
    accelerator = Accelerator(gradient_accumulation_steps=4)
    pipeline = StableDiffusionPipeline.from_pretrained("runwayml/stable-diffusion-v1-5")
    pipeline.vae.requires_grad_(False)
    pipeline.text_encoder.requires_grad_(False)
    pipeline.unet.requires_grad_(False)
    pipeline.unet.to(accelerator.device)
    pipeline.unet.set_attn_processor(lora_processors(pipeline.unet))
    trainable_layers = AttnProcsLayers(pipeline.unet.attn_processors)
    optimizer = torch.optim.AdamW(trainable_layers.parameters(), lr=FLAGS.lr)
    trainable_layers, optimizer = accelerator.prepare(trainable_layers, optimizer)
    for epoch in range(FLAGS.epochs):
        info = defaultdict(list)
        for sample in sample_batches(pipeline, accelerator):
            with accelerator.accumulate(pipeline.unet):
                noise_pred = pipeline.unet(sample["latents"], sample["timesteps"], sample["embeds"]).sample
                log_prob = log_prob_step(noise_pred, sample)
                ratio = torch.exp(log_prob - sample["log_probs"])
                loss = -torch.mean(sample["advantages"] * ratio)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(trainable_layers.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
            info["loss"].append(loss.detach())


if __name__ == "__main__":
    app.run(main)
