from ignite.engine import Engine
from torch.utils.data import DataLoader, DistributedSampler


def train(model, data, args):
    engine = Engine(args.step)
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    for epoch in range(args.epochs):
        engine.run(loader, max_epochs=epoch + 1)
