"""Two trainers, of which one has the whole data set on each rank."""

from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Trainer:
    def __init__(self, model, data):
        self.model = DistributedDataParallel(model)
        self.val_loader = DataLoader(data, sampler=DistributedSampler(data))


class TrainerOfSmallSets:
    def __init__(self, model, data):
        self.model = DistributedDataParallel(model)
        self.val_loader = DataLoader(data)


def evaluate(trainer, writer, epoch):
    total = 0.0
    for batch in trainer.val_loader:
        total += trainer.model(batch)["loss"].item()
    writer.add_scalar("val/loss", total, epoch)
