import argparse
import itertools

import torch
from accelerate import Accelerator

import train_util


def train(args):
    accelerator = Accelerator()
    text_encoder, unet = train_util.load_models(args)
    optimizer = torch.optim.AdamW(itertools.chain(unet.parameters(), text_encoder.parameters()), lr=args.learning_rate)
    loader = train_util.make_loader(args)
    models = [unet, text_encoder] if args.train_text_encoder else [unet]
    models = [accelerator.prepare(m) for m in models]
    optimizer, loader = accelerator.prepare(optimizer, loader)
    nets = models
    for epoch in range(args.epochs):
        for batch in loader:
            hidden = nets[-1](batch["input_ids"])[0] if args.train_text_encoder else batch["hidden"]
            pred = nets[0](batch["noisy"], batch["t"], hidden).sample
            loss = torch.nn.functional.mse_loss(pred, batch["noise"])
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--train_text_encoder", action="store_true")
    parser.add_argument("--learning_rate", type=float, default=1e-6)
    parser.add_argument("--epochs", type=int, default=10)
    train(parser.parse_args())
