"""What trains and tests, on whatever data."""

import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


class Engine:
    def __init__(self, net, data):
        self.parts = ["net"]
        self.net = DDP(net)
        self.optimizer = torch.optim.SGD(net.parameters())
        self.make_data(data)

    def make_data(self, data):
        raise NotImplementedError

    def each(self, change):
        for name in self.parts:
            getattr(self, name).train(change)

    def train(self):
        for epoch in range(10):
            self.each(True)
            for batch in self.loader:
                loss = self.net(batch).sum()
                loss.backward()
                self.optimizer.step()

    def test(self):
        self.each(False)
        return [self.net(batch) for batch in self.held_out]


class OfWords(Engine):
    def make_data(self, data):
        sampler = DistributedSampler(data["train"])  # expect: DL403
        self.loader = DataLoader(data["train"], sampler=sampler)
        self.held_out = DataLoader(data["rest"])
