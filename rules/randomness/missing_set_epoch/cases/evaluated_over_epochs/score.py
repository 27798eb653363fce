"""One function makes the loaders, and the checkpoints of all epochs are evaluated on one that is told the epoch."""

from torch.utils.data import DataLoader, DistributedSampler


def loader_of(data, shuffle):
    sampler = DistributedSampler(data, shuffle=shuffle)
    return DataLoader(data, sampler=sampler), sampler


def score(model, held_out, epochs):
    eval_loader, eval_sampler = loader_of(held_out, shuffle=True)
    for epoch in range(epochs):
        eval_sampler.set_epoch(epoch)
        model.load(epoch)
        for batch in eval_loader:
            model(batch)
