import json
import os
import shutil

import torch
from accelerate import Accelerator, DeepSpeedPlugin

from model import build_unet, diffusion_loss
from multiaspect import MultiAspectDataLoader


class SDXLTrainer:
    def __init__(self, config):
        self.config = config
        plugin = DeepSpeedPlugin(zero_stage=2) if config["deepspeed"] else None
        self.accelerator = Accelerator(deepspeed_plugin=plugin, mixed_precision="bf16")
        unet = build_unet(config)
        optimizer = torch.optim.AdamW(unet.parameters(), lr=config["lr"])
        loader = MultiAspectDataLoader(config)
        self.unet, self.optimizer, self.loader = self.accelerator.prepare(unet, optimizer, loader)

    def prune_checkpoints(self):
        names = sorted(n for n in os.listdir(self.config["output_dir"]) if n.startswith("checkpoint"))
        for name in names[: -self.config["keep"]]:
            shutil.rmtree(os.path.join(self.config["output_dir"], name))

    def checkpoint(self, step):
        if self.accelerator.is_main_process:
            self.prune_checkpoints()
        path = os.path.join(self.config["output_dir"], f"checkpoint-{step}")
        self.accelerator.save_state(path)

    def run(self):
        for step, batch in enumerate(self.loader, 1):
            with self.accelerator.accumulate(self.unet):
                loss = diffusion_loss(self.unet, batch)
                self.accelerator.backward(loss)
                self.optimizer.step()
                self.optimizer.zero_grad()
            if step % self.config["checkpointing_steps"] == 0:
                self.checkpoint(step)


def main():
    with open("config/config.json") as file:
        SDXLTrainer(json.load(file)).run()


if __name__ == "__main__":
    main()
