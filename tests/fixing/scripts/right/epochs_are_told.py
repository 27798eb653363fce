"""The sampler is told each epoch."""

from torch.utils.data import DataLoader, DistributedSampler


def train(data, step, epochs):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, sampler=sampler)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for batch in loader:
            step(batch)
