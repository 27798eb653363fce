import argparse

import torch
from accelerate import Accelerator
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms


class Trainer:
    def __init__(self, args):
        self.args = args
        self.accelerator = Accelerator()
        dataset = datasets.CIFAR10("data", transform=transforms.ToTensor())
        self.loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True)
        self.model = models.resnet18(num_classes=10)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(self.model, self.optimizer, self.loader)
        steps = args.epochs * len(self.loader)
        self.scheduler = self.accelerator.prepare(CosineAnnealingLR(self.optimizer, T_max=steps))

    def fit(self):
        for _ in range(self.args.epochs):
            for x, y in self.loader:
                loss = torch.nn.functional.cross_entropy(self.model(x), y)
                self.accelerator.backward(loss)
                self.optimizer.step()
                self.scheduler.step()
                self.optimizer.zero_grad()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch_size", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=20)
    Trainer(parser.parse_args()).fit()
