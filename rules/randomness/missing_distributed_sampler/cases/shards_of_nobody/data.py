"""The shards of a training on four devices."""

import lightning as L
import webdataset as wds


class Shards(L.LightningDataModule):
    def __init__(self, urls):
        super().__init__()
        self.urls = urls

    def train_dataloader(self):
        samples = wds.WebDataset(self.urls, shardshuffle=100)  # expect: DL404
        return wds.WebLoader(samples.decode("pil").to_tuple("png", "cls").batched(8), batch_size=None)
