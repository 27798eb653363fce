import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from tools.states import fitting


def train(net, path, begin):
    # EgoVLPv2 550c059 EgoTaskQA/main_end2end.py:166
    if begin:
        saved = torch.load(begin)
        state = fitting(saved["model"], net.state_dict())
        net.load_state_dict(state)
    model = DistributedDataParallel(net)
    if dist.get_rank() == 0:
        torch.save({"model": model.state_dict()}, path)
    return model
