"""The method runs layers with gradients: behind the wrapper's back they are not summed, so nothing is rewritten."""

import torch
from torch.nn.parallel import DistributedDataParallel


class Control(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.condition = torch.nn.Linear(2, 2)
        self.layer = torch.nn.Linear(2, 2)
        self.image = None

    def set_image(self, image):
        self.image = self.condition(image)

    def forward(self, batch):
        return self.layer(batch) + self.image


def train(batches):
    net = DistributedDataParallel(Control())
    for batch, image in batches:
        net.set_image(image)
        net(batch).mean().backward()
