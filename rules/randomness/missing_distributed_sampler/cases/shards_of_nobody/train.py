"""Trains on several devices."""

import lightning as L

from data import Shards


def main(net, urls):
    L.Trainer(accelerator="gpu", devices=4, strategy="ddp").fit(net, Shards(urls))


if __name__ == "__main__":
    main(None, "shards/{00..99}.tar")
