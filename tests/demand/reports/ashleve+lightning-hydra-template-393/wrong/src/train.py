import hydra
import pytorch_lightning as pl
from omegaconf import DictConfig

from mnist_module import DataModule, MNISTLitModule


@hydra.main(version_base="1.2", config_path="../configs", config_name="train.yaml")
def main(cfg: DictConfig) -> None:
    pl.seed_everything(cfg.seed, workers=True)
    trainer = hydra.utils.instantiate(cfg.trainer)
    trainer.fit(MNISTLitModule(), datamodule=DataModule())


if __name__ == "__main__":
    main()
