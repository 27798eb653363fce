from data import Samples
from pytorch_lightning.cli import LightningCLI

if __name__ == "__main__":
    cli = LightningCLI(datamodule_class=Samples, run=False)
    cli.trainer.fit(cli.model)
