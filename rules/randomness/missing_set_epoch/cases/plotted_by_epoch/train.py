from torch.utils.data import DataLoader, DistributedSampler


def make_loader(data):
    return DataLoader(data, batch_size=8, sampler=DistributedSampler(data))


def train(model, data, args, rows):
    loader = make_loader(data)
    for epoch in range(args.epochs):
        loader.sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).sum().backward()
    draw(rows)


def draw(rows):
    train_curve = []
    for epoch in sorted(rows):
        train_curve.append(sum(rows[epoch]))
    return train_curve
