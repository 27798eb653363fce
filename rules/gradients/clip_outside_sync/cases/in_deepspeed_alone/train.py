"""The file's only Accelerator is handed DeepSpeed's plugin: the engine clips by itself (starVLA 0ed0aad train_starvla.py:415)."""

import torch
from accelerate import Accelerator, DeepSpeedPlugin

plugin = DeepSpeedPlugin()
accelerator = Accelerator(deepspeed_plugin=plugin)


class Trainer:
    def __init__(self, model, optimizer, loader):
        self.accelerator = accelerator
        self.model, self.optimizer, self.loader = accelerator.prepare(model, optimizer, loader)

    def train(self, limit):
        for batch in self.loader:
            with self.accelerator.accumulate(self.model):
                self.accelerator.backward(self.model(batch).loss)
                self.accelerator.clip_grad_norm_(self.model.parameters(), limit)
                self.optimizer.step()


if __name__ == "__main__":
    net = torch.nn.Linear(2, 2)
    Trainer(net, torch.optim.SGD(net.parameters()), range(2)).train(1.0)
