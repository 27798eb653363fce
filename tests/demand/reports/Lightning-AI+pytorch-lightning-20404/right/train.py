import argparse
import os

import datasets
import lightning as L
import torch
from datasets.distributed import split_dataset_by_node as split_by_node
from torch.utils.data import DataLoader

from gpt import GPT


class Data(L.LightningDataModule):
    def __init__(self, path, batch_size):
        super().__init__()
        self.path, self.batch_size = path, batch_size

    def train_dataloader(self):
        files = sorted(os.path.join(self.path, name) for name in os.listdir(self.path))
        stream = datasets.load_dataset("parquet", data_files=files, split="train", streaming=True)
        stream = split_by_node(stream, rank=self.trainer.global_rank, world_size=self.trainer.world_size)
        return DataLoader(stream.with_format("torch"), batch_size=self.batch_size)


class Module(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.gpt = GPT()

    def training_step(self, batch, batch_idx):
        loss = self.gpt(batch["ids"])
        self.log("loss", loss, sync_dist=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--batch-size", type=int, default=8)
    args = parser.parse_args()
    trainer = L.Trainer(devices=8, strategy="ddp", max_steps=10_000, limit_train_batches=2_000)
    trainer.fit(Module(), datamodule=Data(args.path, args.batch_size))


if __name__ == "__main__":
    main()
