import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from tools.states import fitting


def train(net, path, begin):
    # What the states are called is left as it is.
    if begin:
        saved = torch.load(begin)
        state = fitting(saved["model"], net.state_dict())
        net.load_state_dict(state)
    model = DistributedDataParallel(net)
    if dist.get_rank() == 0:
        torch.save({"model": model.state_dict()}, path)  # expect: DL307
    return model
