"""The setting comes back whatever happens."""

import torch.distributed as dist


def sample(net, batch):
    previous = net.config.use_cache
    net.config.use_cache = True
    try:
        return net(batch)
    finally:
        net.config.use_cache = previous


def train(net, batches):
    for batch in batches:
        try:
            sample(net, batch)
        except RuntimeError as error:
            print(error)
        dist.barrier()
