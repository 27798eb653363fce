"""Lightning's command line is told to seed nothing."""

from lightning.pytorch import LightningModule
from lightning.pytorch.cli import LightningCLI

from loaders import Loaders


class Sizes(LightningCLI):
    def add_arguments_to_parser(self, parser):
        parser.add_argument("--size", type=int, default=256)


if __name__ == "__main__":
    Sizes(LightningModule, Loaders, seed_everything_default=False)
