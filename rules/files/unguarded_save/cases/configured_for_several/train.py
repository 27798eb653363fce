"""Which Trainer it is, and what it calls, stands in YAML; run.sh chooses the one for several processes."""

import hydra
import pytorch_lightning as pl
import torch
from hydra.utils import instantiate


@hydra.main(version_base=None, config_path="conf", config_name="train")
def main(cfg):
    model = instantiate(cfg.model)
    callbacks = [instantiate(each) for each in cfg.callbacks.values()]
    trainer: pl.Trainer = instantiate(cfg.trainer, callbacks=callbacks)
    trainer.fit(model)
    torch.save(model.state_dict(), "last.pt")  # expect: DL301
    if trainer.is_global_zero:
        torch.save(model.state_dict(), "of_main.pt")


if __name__ == "__main__":
    main()
