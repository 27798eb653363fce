import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train(net, path):
    model = DistributedDataParallel(net)
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)  # expect: DL307
    return model
