"""Begins the loader anew whenever it has ended, and tells its sampler how often."""

from torch.nn.parallel import DistributedDataParallel


def fit(net, train_loader, steps):
    net = DistributedDataParallel(net)
    done = passes = 0
    while done < steps:
        train_loader.sampler.set_epoch(passes)
        batches = iter(train_loader)
        while done < steps:
            try:
                batch = next(batches)
            except StopIteration:
                break
            net(batch).sum().backward()
            done += 1
        passes += 1
