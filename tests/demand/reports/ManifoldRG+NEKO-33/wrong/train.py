import argparse
from datetime import datetime

import torch
import wandb
from accelerate import Accelerator

from gato import GatoPolicy, Trainer, load_envs


def main(args):
    exp_date = datetime.now().strftime("%y-%m-%d")
    accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)
    if args.use_wandb:
        wandb.init(name=f"gato_{exp_date}", project=args.wandb_project, config=vars(args))
    model = GatoPolicy(accelerator.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
    model, optimizer = accelerator.prepare(model, optimizer)
    for step, batch in enumerate(load_envs(args, accelerator.process_index)):
        with accelerator.accumulate(model):
            loss = model(**batch)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        if args.use_wandb and accelerator.is_main_process:
            wandb.log({"train/loss": loss.item()}, step=step)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--use_wandb", "-w", action="store_true")
    parser.add_argument("--wandb_project", default="gato-control")
    parser.add_argument("--learning_rate", type=float, default=1e-4)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
    main(parser.parse_args())
