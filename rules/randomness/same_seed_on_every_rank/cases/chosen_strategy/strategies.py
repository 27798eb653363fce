"""Ways to train that a table gives by name: who asks for one is told by an annotation what he gets."""

from torch.distributed.fsdp import FullyShardedDataParallel


class Strategy:
    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer

    def run(self, loader):
        for images in loader:
            self.net(images).backward()
            self.optimizer.step()


class Sharded(Strategy):
    def set_up(self):
        self.net = FullyShardedDataParallel(self.net)


STRATEGIES = {"sharded": {"cls": Sharded, "kwargs": {}}}


def get_strategy(name, net, optimizer) -> Strategy:
    chosen = STRATEGIES[name]
    return chosen["cls"](net, optimizer, **chosen["kwargs"])
