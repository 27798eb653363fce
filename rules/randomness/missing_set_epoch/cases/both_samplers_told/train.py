"""Both samplers are told the epoch, by one name."""

from torch.utils.data import DataLoader, DistributedSampler


def both_samplers_are_told(model, train_data, held_out, epochs):
    sampler, test_sampler = DistributedSampler(train_data), DistributedSampler(held_out)
    loader = DataLoader(train_data, sampler=sampler)
    for epoch in range(epochs):
        for each in (sampler, test_sampler):
            each.set_epoch(epoch)
        for batch in loader:
            model(batch).sum().backward()
