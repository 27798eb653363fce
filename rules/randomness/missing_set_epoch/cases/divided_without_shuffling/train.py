"""The call that has a sampler made shuffles nothing, and the one that shuffles has none made.

Uni-Mol 90f52c4 unimol_tools/unimol_tools/tasks/trainer.py:970
"""

from torch.utils.data import DataLoader, DistributedSampler


def loader_of(data, shuffle=False, distributed=False):
    sampler = DistributedSampler(data, shuffle=shuffle) if distributed else None
    return DataLoader(data, sampler=sampler, shuffle=shuffle)


def by_one(model, data, epochs):
    loader = loader_of(data, shuffle=True, distributed=False)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).sum().backward()


def by_several(model, data, epochs):
    loader = loader_of(data, shuffle=False, distributed=True)
    for epoch in range(epochs):
        for batch in loader:
            model(batch).sum().backward()
