import lightning.pytorch as pl
from mixture import Mixture
from torch.utils.data import DataLoader, DistributedSampler


class Images(pl.LightningDataModule):
    def train_dataloader(self):
        return DataLoader(self.images, batch_size=8, sampler=DistributedSampler(self.images))


def main(model):
    trainer = pl.Trainer(devices=8, strategy="ddp")
    trainer.fit(model, datamodule=Mixture([Images(), Images()]))
