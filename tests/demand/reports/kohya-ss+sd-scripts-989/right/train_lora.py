import argparse

import torch
from accelerate import Accelerator

from lora import LoRANetwork
from sd import load_models, make_loader


def train(args):
    accelerator = Accelerator()
    text_encoder, unet = load_models(args)
    unet.requires_grad_(False)
    network = LoRANetwork(unet, args.rank)
    network.apply_to()
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-4)
    loader = make_loader(args)
    network, optimizer, loader = accelerator.prepare(network, optimizer, loader)
    unet.to(accelerator.device)
    for epoch in range(args.epochs):
        for batch in loader:
            with accelerator.accumulate(network):
                pred = unet(batch["noisy"], batch["t"], batch["hidden"]).sample
                loss = torch.nn.functional.mse_loss(pred, batch["noise"])
                accelerator.backward(loss)
                accelerator.unwrap_model(network).reduce_gradients(accelerator)
                optimizer.step()
                optimizer.zero_grad()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=10)
    train(parser.parse_args())
