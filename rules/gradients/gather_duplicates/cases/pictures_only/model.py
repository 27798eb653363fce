"""An evaluation that puts together pictures for a person to look at: InstantMesh src/model.py:278."""

import lightning.pytorch as pl
from torch.utils.data import DataLoader, DistributedSampler


class Drawer(pl.LightningModule):
    def val_dataloader(self):
        sampler = DistributedSampler(self.pictures_val)
        return DataLoader(self.pictures_val, sampler=sampler)

    def validation_step(self, batch, index):
        self.outputs.append(self.model(batch))

    def on_validation_epoch_end(self):
        pictures = self.all_gather(self.outputs)
        if self.global_rank == 0:
            self.draw(pictures)
