from ignite import metrics
from torch.utils.data import DataLoader, DistributedSampler


def train(model, data, args):
    mean = metrics.Average()
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))  # expect: DL403
    for epoch in range(args.epochs):
        for batch in loader:
            loss = model(batch).sum()
            loss.backward()
            mean.update(loss.item())
