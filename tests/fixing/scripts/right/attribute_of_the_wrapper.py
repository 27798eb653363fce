"""What the program sets on the wrapper is there."""

from torch.nn.parallel import DistributedDataParallel


def build(net, names):
    net = DistributedDataParallel(net)
    net.names = names
    return net


def report(net):
    return ", ".join(net.names)


def main(net):
    net = build(net, ["a", "b"])
    return report(net)
