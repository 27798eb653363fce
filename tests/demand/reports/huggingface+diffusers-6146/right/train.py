import argparse
import itertools

import torch
from accelerate import Accelerator
from diffusers import UNet2DConditionModel
from transformers import CLIPTextModel, CLIPTextModelWithProjection

from utils import TokenEmbeddingsHandler, compute_loss, loader_for


def main(args):
    accelerator = Accelerator()
    text_encoder_one = CLIPTextModel.from_pretrained(args.model, subfolder="text_encoder")
    text_encoder_two = CLIPTextModelWithProjection.from_pretrained(args.model, subfolder="text_encoder_2")
    unet = UNet2DConditionModel.from_pretrained(args.model, subfolder="unet")
    embedding_handler = TokenEmbeddingsHandler([text_encoder_one, text_encoder_two])
    embedding_handler.initialize_new_tokens(["<s0>", "<s1>"])
    params = itertools.chain(unet.parameters(), text_encoder_one.parameters(), text_encoder_two.parameters())
    optimizer = torch.optim.AdamW(params, lr=args.lr)
    loader = loader_for(args)
    if args.train_text_encoder:
        unet, text_encoder_one, text_encoder_two, optimizer, loader = accelerator.prepare(
            unet, text_encoder_one, text_encoder_two, optimizer, loader
        )
    else:
        unet, optimizer, loader = accelerator.prepare(unet, optimizer, loader)

    for epoch in range(args.epochs):
        if args.train_text_encoder and epoch < args.pivot:
            text_encoder_one.train()
            text_encoder_two.train()
            accelerator.unwrap_model(text_encoder_one).text_model.embeddings.requires_grad_(True)
            accelerator.unwrap_model(text_encoder_two).text_model.embeddings.requires_grad_(True)
        for batch in loader:
            with accelerator.accumulate(unet):
                loss = compute_loss(unet, text_encoder_one, text_encoder_two, batch)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--train_text_encoder", action="store_true")
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--pivot", type=int, default=5)
    main(parser.parse_args())
