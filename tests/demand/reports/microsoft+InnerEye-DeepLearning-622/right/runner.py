import argparse
from datetime import datetime
from pathlib import Path

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import ModelCheckpoint

from innereye import SegmentationModel, make_loaders


def create_unique_timestamp_id():
    return datetime.utcnow().strftime("%Y-%m-%dT%H%M%SZ")


class MLRunner:
    def __init__(self, args):
        self.output_root = Path(args.outputs) / args.run_id
        self.args = args

    def setup(self):
        self.output_root.mkdir(parents=True, exist_ok=True)

    def run(self):
        self.setup()
        checkpoint = ModelCheckpoint(dirpath=self.output_root / "checkpoints", save_last=True)
        trainer = pl.Trainer(devices=self.args.gpus, strategy="ddp", callbacks=[checkpoint], max_epochs=20)
        trainer.fit(SegmentationModel(), *make_loaders())
        if trainer.is_global_zero:
            with open(self.output_root / "args.txt", "w") as file:
                file.write(str(vars(self.args)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--outputs", default="outputs")
    parser.add_argument("--run_id", required=True)
    parser.add_argument("--gpus", type=int, default=4)
    MLRunner(parser.parse_args()).run()
