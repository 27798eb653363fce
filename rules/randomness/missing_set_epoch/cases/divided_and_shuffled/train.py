"""One call has a sampler made that shuffles."""

from torch.utils.data import DataLoader, DistributedSampler


def loader_of(data, shuffle=False, distributed=False):
    sampler = DistributedSampler(data, shuffle=shuffle) if distributed else None  # expect: DL403
    return DataLoader(data, sampler=sampler, shuffle=shuffle and not distributed)


def by_one(model, data, epochs):
    loader = loader_of(data, shuffle=True, distributed=False)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).sum().backward()


def by_several(model, data, epochs):
    loader = loader_of(data, shuffle=True, distributed=True)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).sum().backward()
