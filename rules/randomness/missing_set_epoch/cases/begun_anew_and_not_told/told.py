"""The loop over epochs tells the sampler, where the loader begins anew within an epoch, too."""

from torch.utils.data import DataLoader, DistributedSampler


def train_told(model, data, steps):
    sampler = DistributedSampler(data)
    dl = DataLoader(data, batch_size=8, sampler=sampler)
    batches, passes = iter(dl), 0
    for _ in range(steps):
        try:
            batch = next(batches)
        except StopIteration:
            passes += 1
            sampler.set_epoch(passes)
            batches = iter(dl)
            batch = next(batches)
        model(batch).sum().backward()


def train_by_epochs(model, data, epochs, steps):
    sampler = DistributedSampler(data)
    dl = DataLoader(data, batch_size=8, sampler=sampler)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        batches = iter(dl)
        for _ in range(steps):
            try:
                batch = next(batches)
            except StopIteration:
                batches = iter(dl)
                batch = next(batches)
            model(batch).sum().backward()
