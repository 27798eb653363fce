import argparse
import os

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.utils.data import DataLoader

from omnigen import OmniGen, TrainDataset, training_losses


def main(args):
    accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)
    device = accelerator.device
    model = OmniGen.from_pretrained(args.model_name_or_path)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = DataLoader(TrainDataset(args.json_file), batch_size=args.batch_size_per_device, shuffle=True)
    model, opt, loader = accelerator.prepare(model, opt, loader)
    train_steps, running_loss = 0, 0.0
    for epoch in range(args.epochs):
        for data in loader:
            with accelerator.accumulate(model):
                loss = training_losses(model, data)["loss"].mean()
                running_loss += loss.item()
                accelerator.backward(loss)
                opt.step()
                opt.zero_grad()
            train_steps += 1
            if train_steps % args.log_every == 0:
                avg_loss = torch.tensor(running_loss / args.log_every, device=device)
                avg_loss = accelerator.reduce(avg_loss, reduction="sum")
                avg_loss = avg_loss.item() / accelerator.num_processes
                accelerator.print(f"(step={train_steps:07d}) loss {avg_loss:.4f}")
                running_loss = 0.0
            if train_steps % args.ckpt_every == 0 and accelerator.is_main_process:
                accelerator.unwrap_model(model).save_pretrained(os.path.join(args.results_dir, f"{train_steps:07d}"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_name_or_path", default="Shitao/OmniGen-v1")
    parser.add_argument("--json_file", default="train.jsonl")
    parser.add_argument("--results_dir", default="results")
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--batch_size_per_device", type=int, default=1)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
    parser.add_argument("--log_every", type=int, default=100)
    parser.add_argument("--ckpt_every", type=int, default=20_000)
    main(parser.parse_args())
