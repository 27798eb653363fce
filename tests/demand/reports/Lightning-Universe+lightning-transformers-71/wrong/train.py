import hydra
import pytorch_lightning as pl
from omegaconf import DictConfig, OmegaConf

from lightning_task import build_task


@hydra.main(config_path="./conf", config_name="config")
def hydra_entry(cfg: DictConfig) -> None:
    print(OmegaConf.to_yaml(cfg))
    model, datamodule = build_task(cfg.task)
    trainer = pl.Trainer(**cfg.trainer)
    trainer.fit(model, datamodule=datamodule)


if __name__ == "__main__":
    hydra_entry()
