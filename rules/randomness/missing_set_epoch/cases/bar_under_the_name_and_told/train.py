from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from tqdm import tqdm


def main(model, data, optimizer, epochs):
    model = DistributedDataParallel(model)
    loader = DataLoader(data, sampler=DistributedSampler(data))
    for epoch in range(epochs):
        loader.sampler.set_epoch(epoch)
        train_one_epoch(model, loader, optimizer)


def train_one_epoch(model, loader, optimizer):
    loader = tqdm(loader)
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()
