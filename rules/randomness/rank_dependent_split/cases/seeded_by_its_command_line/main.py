"""Lightning's command line seeds before it makes the data (FlowDCN aa48042 main.py:76)."""

from lightning.pytorch import LightningModule
from lightning.pytorch.cli import LightningCLI

from loaders import Loaders


class Sizes(LightningCLI):
    def add_arguments_to_parser(self, parser):
        parser.add_argument("--size", type=int, default=256)


if __name__ == "__main__":
    Sizes(LightningModule, Loaders)
