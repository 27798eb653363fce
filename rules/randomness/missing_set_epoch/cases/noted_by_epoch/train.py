from torch.utils.data import DataLoader, DistributedSampler


def make_loader(data):
    return DataLoader(data, batch_size=8, sampler=DistributedSampler(data))


def train(model, data, args):
    loader = make_loader(data)
    for epoch in range(args.epochs):
        loader.sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).sum().backward()
    warm_up(model, loader)


def warm_up(model, loader):
    curve = []
    for epoch in range(3):  # expect: DL403
        curve.append(train_pass(model, loader))
    return curve


def train_pass(model, loader):
    losses = [model(batch).sum() for batch in loader]
    sum(losses).backward()
    return len(losses)
