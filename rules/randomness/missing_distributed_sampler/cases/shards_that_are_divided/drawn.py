"""Draws shards anew on each rank."""

import lightning as L
import webdataset as wds


def main(net, urls):
    samples = wds.WebDataset(urls, resampled=True).decode().batched(8)
    L.Trainer(devices=4, strategy="ddp", max_steps=10).fit(net, wds.WebLoader(samples, batch_size=None))


if __name__ == "__main__":
    main(None, "shards/{00..99}.tar")
