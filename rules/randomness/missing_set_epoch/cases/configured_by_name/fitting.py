"""Begins the loader anew whenever it has ended."""

from torch.nn.parallel import DistributedDataParallel


def fit(net, train_loader, steps):
    net = DistributedDataParallel(net)
    done = 0
    while done < steps:
        batches = iter(train_loader)
        while done < steps:
            try:
                batch = next(batches)
            except StopIteration:
                break
            net(batch).sum().backward()
            done += 1
