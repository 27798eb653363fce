"""The divided loader takes the place of the whole one, or nobody goes through either."""

from accelerate import Accelerator
from lightning.fabric import Fabric
from torch.utils.data import DataLoader


class Run:
    def __init__(self, model, optimizer, data, fabric: Fabric):
        self.fabric = fabric
        self.batches = DataLoader(data, batch_size=8, shuffle=True)
        self.model, self.optimizer = fabric.setup(model, optimizer)
        self.batches = fabric.setup_dataloaders(self.batches)

    def train(self):
        for batch in self.batches:
            self.fabric.backward(self.model(batch).sum())
            self.optimizer.step()


def returned(accelerator: Accelerator, data):
    return accelerator.prepare(DataLoader(data, batch_size=8))


def only_shown(accelerator: Accelerator, data):
    # what it would be: nothing goes through it
    batches = DataLoader(data, batch_size=8)
    print(len(batches))
    accelerator.prepare(batches)


def scheduler_that_is_changed_in_place(accelerator: Accelerator, model, optimizer, loader):
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    accelerator.prepare(optimizer)
    for batch in loader:
        accelerator.backward(model(batch).sum())
        optimizer.step()
