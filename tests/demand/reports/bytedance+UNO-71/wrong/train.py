import argparse
import os

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from safetensors.torch import save_file

from uno.flux import load_flow_model, loss_of
from uno.data import paired_loader

logger = get_logger(__name__)


def main(args):
    accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)
    dit = load_flow_model(args.model_name)
    optimizer = torch.optim.AdamW([p for p in dit.parameters() if p.requires_grad], lr=args.lr)
    loader = paired_loader(args)
    dit, optimizer, loader = accelerator.prepare(dit, optimizer, loader)
    global_step = 0
    for batch in loader:
        with accelerator.accumulate(dit):
            loss = loss_of(dit, batch)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(dit.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            global_step += 1
        if accelerator.sync_gradients and accelerator.is_main_process and global_step % args.checkpointing_steps == 0:
            logger.info(f"saving checkpoint in {global_step=}")
            save_path = os.path.join(args.output_dir, f"checkpoint-{global_step}")
            os.makedirs(save_path, exist_ok=True)
            accelerator.wait_for_everyone()
            unwrapped = accelerator.unwrap_model(dit)
            save_file({k: v for k, v in unwrapped.state_dict().items()}, os.path.join(save_path, "dit_lora.safetensors"))
        if global_step >= args.max_train_steps:
            break


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model_name", default="flux-dev")
    parser.add_argument("--output_dir", default="log")
    parser.add_argument("--lr", type=float, default=8e-5)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
    parser.add_argument("--checkpointing_steps", type=int, default=1000)
    parser.add_argument("--max_train_steps", type=int, default=100_000)
    main(parser.parse_args())
