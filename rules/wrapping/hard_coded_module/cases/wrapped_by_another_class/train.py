from torch import nn
from torch.nn.parallel import DistributedDataParallel


class HoldsIt(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, batch):
        return self.module(batch)


def in_ddp_or_held(net, hooks):
    # ace 57c54a7 fme/core/distributed/model_torch_distributed.py:361
    if hooks:
        wrapped = DistributedDataParallel(net)
        hooks.add(wrapped)
        return wrapped
    return HoldsIt(net)


def words_in_ddp_or_held(net, hooks):
    return in_ddp_or_held(net, hooks).module.words


def in_ddp_or_bare(net, hooks):
    if hooks:
        wrapped = DistributedDataParallel(net)
        hooks.add(wrapped)
        return wrapped
    return net


def words_in_ddp_or_bare(net, hooks):
    return in_ddp_or_bare(net, hooks).module.words  # expect: DL204
