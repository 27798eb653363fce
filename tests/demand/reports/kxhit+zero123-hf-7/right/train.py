import argparse

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from diffusers import UNet2DConditionModel

from zero1to3 import CCProjection, objaverse_loader


def main(args):
    accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)
    unet = UNet2DConditionModel.from_pretrained(args.model, subfolder="unet")
    cc_projection = CCProjection()
    optimizer = torch.optim.AdamW([{"params": unet.parameters()}, {"params": cc_projection.parameters(), "lr": 1e-3}], lr=1e-4)
    loader = objaverse_loader(args)
    unet, cc_projection, optimizer, loader = accelerator.prepare(unet, cc_projection, optimizer, loader)
    for epoch in range(args.epochs):
        for batch in loader:
            with accelerator.accumulate(unet, cc_projection):
                if True:
                    hidden = cc_projection(batch["clip"], batch["pose"])
                    loss = F.mse_loss(unet(batch["noisy"], batch["t"], hidden).sample, batch["noise"])
                    accelerator.backward(loss)
                    if accelerator.sync_gradients:
                        accelerator.clip_grad_norm_(unet.parameters(), 1.0)
                    optimizer.step()
                    optimizer.zero_grad()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--gradient_accumulation_steps", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=10)
    main(parser.parse_args())
