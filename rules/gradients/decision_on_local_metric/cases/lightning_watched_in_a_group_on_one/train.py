import hydra
import pytorch_lightning as pl
from hydra.utils import instantiate


@hydra.main(version_base=None, config_path="conf", config_name="train")
def main(cfg):
    module = instantiate(cfg.model)
    callbacks = [instantiate(each) for each in cfg.callbacks.values()]
    trainer: pl.Trainer = instantiate(cfg.trainer, callbacks=callbacks)
    trainer.fit(module)


if __name__ == "__main__":
    main()
