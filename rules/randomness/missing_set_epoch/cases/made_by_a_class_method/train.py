"""Trains from what an entry of a dict holds."""

import torch.distributed as dist

from data import Loaders


class Fitting:
    def __init__(self, loaders, model):
        self.parts = {"loaders": loaders, "model": model}

    def run(self, epochs):
        loaders = self.parts["loaders"]
        for epoch in range(epochs):
            for batch in loaders.train:
                self.parts["model"](batch).sum().backward()


def main(model):
    dist.init_process_group("nccl")
    Fitting(Loaders.of_folder("all"), model).run(10)


if __name__ == "__main__":
    main(None)
