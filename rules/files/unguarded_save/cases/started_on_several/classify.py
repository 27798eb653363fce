"""Prepared in a constructor, saved in another method: moment 38f7310 tutorials/finetune_demo/classification.py:312."""

import torch
from accelerate import Accelerator


class Classifier:
    def __init__(self, model, loader):
        self.accelerator = Accelerator()
        self.model, self.loader = self.accelerator.prepare(model, loader)

    def train(self):
        for batch in self.loader:
            self.accelerator.backward(self.model(batch))

    def keep(self):
        torch.save(self.model.state_dict(), "classifier.pth")  # expect: DL301
        if self.accelerator.is_main_process:
            torch.save(self.model.state_dict(), "of_main.pth")


if __name__ == "__main__":
    classifier = Classifier(torch.nn.Linear(2, 2), [torch.zeros(2)])
    classifier.train()
    classifier.keep()
