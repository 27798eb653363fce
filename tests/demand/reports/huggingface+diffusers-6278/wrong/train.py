import argparse

import torch
from accelerate import Accelerator
from diffusers import UNet2DConditionModel

from lcm import guidance_scale_embedding, make_loader, solver_step


def main(args):
    accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)
    teacher_unet = UNet2DConditionModel.from_pretrained(args.teacher, subfolder="unet")
    teacher_unet.requires_grad_(False)
    time_cond_proj_dim = teacher_unet.config.time_cond_proj_dim or args.unet_time_cond_proj_dim
    unet = UNet2DConditionModel(**{**teacher_unet.config, "time_cond_proj_dim": time_cond_proj_dim})
    unet.load_state_dict(teacher_unet.state_dict(), strict=False)
    unet.train()
    if accelerator.unwrap_model(unet).dtype != torch.float32:
        raise ValueError("Controlnet loaded as datatype other than fp32")
    optimizer = torch.optim.AdamW(unet.parameters(), lr=args.learning_rate)
    train_dataloader = make_loader(args)
    unet, optimizer, train_dataloader = accelerator.prepare(unet, optimizer, train_dataloader)
    teacher_unet.to(accelerator.device)
    global_step = 0
    while global_step < args.max_train_steps:
        for latents, prompt_embeds in train_dataloader:
            with accelerator.accumulate(unet):
                w = torch.rand(latents.shape[0], device=latents.device) * 10 + 3
                w_embedding = guidance_scale_embedding(w, embedding_dim=unet.config.time_cond_proj_dim)
                timesteps = torch.randint(0, 1000, (latents.shape[0],), device=latents.device)
                pred = unet(latents, timesteps, timestep_cond=w_embedding, encoder_hidden_states=prompt_embeds).sample
                with torch.no_grad():
                    target = solver_step(teacher_unet, latents, timesteps, prompt_embeds, w)
                loss = torch.nn.functional.huber_loss(pred, target)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
            if accelerator.sync_gradients:
                global_step += 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--teacher")
    parser.add_argument("--unet_time_cond_proj_dim", type=int, default=256)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
    parser.add_argument("--learning_rate", type=float, default=1e-6)
    parser.add_argument("--max_train_steps", type=int, default=1000)
    main(parser.parse_args())
