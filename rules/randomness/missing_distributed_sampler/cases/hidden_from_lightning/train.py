import lightning.pytorch as pl
from mixture import Mixture
from torch.utils.data import DataLoader


class Images(pl.LightningDataModule):
    def train_dataloader(self):
        return DataLoader(self.images, batch_size=8, shuffle=True)


def main(model):
    trainer = pl.Trainer(devices=8, strategy="ddp")
    trainer.fit(model, datamodule=Mixture([Images(), Images()]))
