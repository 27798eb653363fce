"""The code asks whether there is a wrapper."""

from torch.nn.parallel import DistributedDataParallel


def plain(net):
    return net.module if isinstance(net, DistributedDataParallel) else net


def main(net, batch):
    net = DistributedDataParallel(net)
    net(batch).mean().backward()
    return plain(net).state_dict()
