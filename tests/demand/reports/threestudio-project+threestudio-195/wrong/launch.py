import argparse

import pytorch_lightning as pl

from cameras import RandomCameraDataModule
from system import DreamFusion


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--batch", type=int, default=1)
    args = parser.parse_args()
    pl.seed_everything(args.seed)
    dm = RandomCameraDataModule(args.batch)
    trainer = pl.Trainer(accelerator="gpu", devices=args.gpus, strategy="ddp", max_steps=10_000)
    trainer.fit(DreamFusion(), datamodule=dm)


if __name__ == "__main__":
    main()
