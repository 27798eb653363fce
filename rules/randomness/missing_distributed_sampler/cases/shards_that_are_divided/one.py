"""Goes through the shards in one process, beside a group that rank 0 alone leaves for them."""

import lightning as L
import webdataset as wds


def main(net, urls):
    samples = wds.WebDataset(urls).decode().batched(8)
    L.Trainer(devices=1, max_epochs=1).fit(net, wds.WebLoader(samples, batch_size=None))


if __name__ == "__main__":
    main(None, "shards/{00..99}.tar")
