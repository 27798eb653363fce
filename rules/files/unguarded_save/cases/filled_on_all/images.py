import numpy
import torch.distributed as dist
from pytorch_lightning.callbacks import Callback


class Images(Callback):
    def __init__(self):
        self.kept = []

    def on_predict_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        together = pl_module.all_gather(outputs)
        self.kept.append(outputs.cpu().numpy())
        if trainer.is_global_zero:
            self.kept.append(together.cpu().numpy())

    def on_predict_epoch_end(self, trainer, pl_module):
        dist.barrier()
        if len(self.kept) > 0:
            numpy.savez("images.npz", images=numpy.concatenate(self.kept))  # expect: DL301
        self.kept = []


class Scores(Callback):
    def __init__(self):
        self.kept = []

    def on_predict_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        together = pl_module.all_gather(outputs)
        self.kept.append(outputs.cpu().numpy())
        if trainer.global_rank == 0:
            print(together)

    def on_predict_epoch_end(self, trainer, pl_module):
        dist.barrier()
        if self.kept:
            numpy.savez("scores.npz", scores=numpy.stack(self.kept))  # expect: DL301
        self.kept = []
