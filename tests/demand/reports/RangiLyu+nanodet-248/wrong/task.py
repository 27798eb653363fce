import json
import os

import torch
from pytorch_lightning import LightningModule

from nanodet import build_model


class TrainingTask(LightningModule):
    def __init__(self, cfg, evaluator=None):
        super().__init__()
        self.cfg = cfg
        self.model = build_model(cfg)
        self.evaluator = evaluator
        self.save_flag = -10

    def training_step(self, batch, batch_idx):
        preds, loss, loss_states = self.model.forward_train(batch)
        self.log("train/loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        preds = self.model.forward_train(batch)[0]
        return self.model.head.post_process(preds, batch)

    def validation_epoch_end(self, validation_step_outputs):
        results = {}
        for res in validation_step_outputs:
            results.update(res)
        eval_results = self.evaluator.evaluate(results, self.cfg.save_dir, rank=self.local_rank)
        metric = eval_results[self.cfg.save_key]
        if metric > self.save_flag:
            self.save_flag = metric
            self.trainer.save_checkpoint(os.path.join(self.cfg.save_dir, "model_best.ckpt"))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.cfg.lr)
