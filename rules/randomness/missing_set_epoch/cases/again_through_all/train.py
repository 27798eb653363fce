from torch.utils.data import DataLoader, DistributedSampler


def train(model, data, args):
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=8, sampler=sampler)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).sum().backward()
    for late_epoch in range(args.late_epochs):  # expect: DL403
        for batch in loader:
            model(batch).sum().backward()
