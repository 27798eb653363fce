import argparse

import lightning as L
import torch
from torch.utils.data import DataLoader

from chars import CharDataset
from mingpt import GPT


class FSDPGPT(L.LightningModule):
    def __init__(self, vocab_size):
        super().__init__()
        self.gpt = GPT(vocab_size)

    def training_step(self, batch, batch_idx):
        x, y = batch
        logits = self.gpt(x)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.trainer.model.parameters(), lr=3e-4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--devices", type=int, default=4)
    args = parser.parse_args()
    data = CharDataset("input.txt")
    trainer = L.Trainer(accelerator="gpu", devices=args.devices, strategy="fsdp", max_epochs=5)
    trainer.fit(FSDPGPT(data.vocab_size), DataLoader(data, batch_size=64, shuffle=True))


if __name__ == "__main__":
    main()
