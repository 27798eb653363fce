import argparse

import torch
from accelerate import Accelerator
from transformers import AutoModelForCausalLM

from tokens import token_loader


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="meta-llama/Llama-2-7b-hf")
    parser.add_argument("--lr", type=float, default=1e-5)
    args = parser.parse_args()
    accelerator = Accelerator()
    model = AutoModelForCausalLM.from_pretrained(args.model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = token_loader()
    model = accelerator.prepare(model)
    optimizer, loader = accelerator.prepare(optimizer, loader)
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        accelerator.print(loss.item())


if __name__ == "__main__":
    main()
