"""What the configuration says that is read by default."""

import hydra
import torch
from pytorch_lightning import Trainer

from models import Small


@hydra.main(version_base=None, config_path="conf", config_name="flat")
def main(cfg):
    model = Small()
    trainer = Trainer(**cfg.fit.params, logger=False)
    trainer.fit(model)
    torch.save(model.state_dict(), "flat.pt")  # expect: DL301


if __name__ == "__main__":
    main()
