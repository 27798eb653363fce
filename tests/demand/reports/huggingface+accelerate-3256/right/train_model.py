import argparse

import torch
from accelerate import Accelerator, FullyShardedDataParallelPlugin
from transformers import AutoModelForMaskedLM

from tokens import token_loader


def make_optimizer(model, lr, weight_decay):
    decay = [p for n, p in model.named_parameters() if p.ndim >= 2]
    no_decay = [p for n, p in model.named_parameters() if p.ndim < 2]
    groups = [{"params": decay, "weight_decay": weight_decay}, {"params": no_decay, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=lr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="roberta-large")
    parser.add_argument("--lr", type=float, default=1e-5)
    args = parser.parse_args()
    plugin = FullyShardedDataParallelPlugin(use_orig_params=True, auto_wrap_policy="size_based_wrap")
    accelerator = Accelerator(fsdp_plugin=plugin)
    model = AutoModelForMaskedLM.from_pretrained(args.model)
    loader = token_loader()
    model = accelerator.prepare_model(model)
    optimizer = make_optimizer(model, args.lr, 0.01)
    optimizer = accelerator.prepare_optimizer(optimizer)
    loader = accelerator.prepare_data_loader(loader)
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
