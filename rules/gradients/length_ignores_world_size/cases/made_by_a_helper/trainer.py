"""A method makes the scheduler for the steps to which another one counts."""

from accelerate import Accelerator
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR


class Trainer:
    def __init__(self, config, net, optimizer, loader):
        self.config = config
        self.accelerator = Accelerator()
        scheduler = self.schedule(optimizer)
        self.net, self.optimizer, self.loader, self.scheduler = self.accelerator.prepare(
            net, optimizer, loader, scheduler
        )

    def schedule(self, optimizer):
        steps = self.config.optimizing.steps
        if self.config.optimizing.kind == "linear":
            return LinearLR(optimizer, total_iters=steps)  # expect: DL613
        return CosineAnnealingLR(optimizer, T_max=steps)

    def train(self):
        settings = self.config
        for step, batch in zip(range(settings.optimizing.steps), self.loader):
            self.accelerator.backward(self.net(batch).sum())
            self.optimizer.step()
            self.scheduler.step()
