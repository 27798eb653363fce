"""Hooks that read the loader of their trainer: PonderV2 aad65d6 ponder/engines/hooks/evaluator.py:36."""

import torch.distributed as dist


class Evaluates:
    trainer = None

    def after_epoch(self, epoch):
        total = 0.0
        for number, batch in enumerate(self.trainer.val_loader):
            loss = self.trainer.model(batch)["loss"]
            total += loss.item()
            print(f"Test: {number} Loss {loss.item()}")  # of one batch  # expect: DL601
        self.trainer.writer.add_scalar("val/loss", total, epoch)  # expect: DL601


class EvaluatesTogether:
    trainer = None

    def after_epoch(self, epoch):
        total = 0.0
        for batch in self.trainer.val_loader:
            loss = self.trainer.model(batch)["loss"]
            dist.all_reduce(loss, op=dist.ReduceOp.AVG)
            total += loss.item()
        self.trainer.writer.add_scalar("val/loss", total, epoch)
