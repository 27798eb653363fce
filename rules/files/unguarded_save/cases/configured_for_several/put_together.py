"""Arguments that are put together; a page tells the devices."""

import hydra
import torch
from pytorch_lightning import Trainer

from models import Small


@hydra.main(version_base=None, config_path="conf", config_name="parts")
def main(cfg):
    model = Small()
    told = {"max_epochs": cfg.epochs, "devices": cfg.hardware.devices, "logger": False}
    trainer = Trainer(**told)
    trainer.fit(model)
    torch.save(model.state_dict(), "parts.pt")  # expect: DL301


if __name__ == "__main__":
    main()
