"""What a run is made of."""

from torch.utils.data import DataLoader, DistributedSampler

from lazily import Later as L


def share(data):
    return DistributedSampler(data, shuffle=True)


faces = L(list)(folder="faces")
loader_of_faces = L(DataLoader)(dataset=faces, sampler=L(share)(data=faces), batch_size=4)
RUN = dict(train_loader=loader_of_faces, steps=1000)
