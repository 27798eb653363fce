import pytorch_lightning as pl
from omegaconf import OmegaConf
from pytorch_lightning.callbacks import ModelCheckpoint

from finding import made


def main(path, folder, loader):
    config = OmegaConf.load(path)
    module = made(config.model)
    kept = {"dirpath": folder}
    if hasattr(module, "monitor"):
        kept["monitor"] = module.monitor
    kept = OmegaConf.merge(kept, config.lightning.get("checkpoint", {}))
    trainer = pl.Trainer(devices=4, strategy="ddp", callbacks=[ModelCheckpoint(**kept)])
    trainer.fit(module, loader)
