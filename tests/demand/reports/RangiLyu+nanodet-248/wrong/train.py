import argparse

import pytorch_lightning as pl

from nanodet import Evaluator, load_config, loaders
from task import TrainingTask


def main(args):
    cfg = load_config(args.config)
    train, val = loaders(cfg)
    task = TrainingTask(cfg, Evaluator(val.dataset))
    trainer = pl.Trainer(gpus=cfg.gpu_ids, accelerator="ddp", max_epochs=cfg.epochs)
    trainer.fit(task, train, val)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("config")
    main(parser.parse_args())
