"""What divides a loader gives another one, and nobody takes it."""

from accelerate import Accelerator
from lightning.fabric import Fabric
from torch.utils.data import DataLoader


class Run:
    # alphafold3-pytorch alphafold3_pytorch/trainer.py:328
    def __init__(self, model, optimizer, data, fabric: Fabric):
        self.fabric = fabric
        self.batches = DataLoader(data, batch_size=8, shuffle=True)
        self.model, self.optimizer = fabric.setup(model, optimizer)
        fabric.setup_dataloaders(self.batches)  # expect: DL404

    def train(self):
        for batch in self.batches:
            self.fabric.backward(self.model(batch).sum())
            self.optimizer.step()


def prepared_for_nobody(model, optimizer, data):
    accelerator = Accelerator()
    batches = DataLoader(data, batch_size=8, shuffle=True)
    model, optimizer = accelerator.prepare(model, optimizer)
    accelerator.prepare(batches)  # expect: DL404
    for batch in batches:
        accelerator.backward(model(batch).sum())
        optimizer.step()
