"""What is frozen is frozen before the wrap."""

from torch.nn.parallel import DistributedDataParallel


def build(net):
    net.encoder.requires_grad_(False)
    return DistributedDataParallel(net)
