import os

import lightning.pytorch as pl
from torchvision.datasets.utils import download_url

from model import Model, loader

os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"

# Lightning starts the other process in `fit()`, by running this script again: it finds what the first has fetched.
if not os.path.exists("data/samples.zip"):
    download_url("https://example.org/samples.zip", "data")

trainer = pl.Trainer(devices="auto", max_epochs=3)
trainer.fit(Model(), loader("data/samples.zip"))
