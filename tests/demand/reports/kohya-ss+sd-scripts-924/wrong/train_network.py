import argparse

import torch
from accelerate import Accelerator

import train_util
from network import create_network


def train(args):
    accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)
    text_encoder, unet = train_util.load_models(args)
    network = create_network(text_encoder, unet, args.network_dim)
    network.apply_to(text_encoder, unet)
    optimizer = torch.optim.AdamW(network.parameters(), lr=args.learning_rate)
    loader = train_util.make_loader(args)
    unet, text_encoder, network, optimizer, loader = accelerator.prepare(
        unet, text_encoder, network, optimizer, loader
    )
    unet = train_util.transform_if_model_is_DDP(unet)
    text_encoder = train_util.transform_if_model_is_DDP(text_encoder)
    network = train_util.transform_if_model_is_DDP(network)
    for epoch in range(args.max_train_epochs):
        for batch in loader:
            with accelerator.accumulate(network):
                hidden = text_encoder(batch["input_ids"])[0]
                pred = unet(batch["noisy"], batch["t"], hidden).sample
                loss = torch.nn.functional.mse_loss(pred, batch["noise"])
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--network_dim", type=int, default=8)
    parser.add_argument("--learning_rate", type=float, default=1e-4)
    parser.add_argument("--max_train_epochs", type=int, default=10)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
    train(parser.parse_args())
