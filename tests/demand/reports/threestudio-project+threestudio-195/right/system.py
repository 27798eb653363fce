import pytorch_lightning as pl
import torch

from nerf import Renderer, sds_loss


class DreamFusion(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.renderer = Renderer()

    def training_step(self, batch, batch_idx):
        image = self.renderer(batch["elevation"], batch["azimuth"], batch["distance"])
        return sds_loss(image)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)
