"""What it saves it resumes from, as it is, and cuts something else."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main(net, path):
    saved = torch.load(path, map_location="cpu")
    net.load_state_dict(saved)
    print(path[7:])
    model = DistributedDataParallel(net)
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)  # expect: DL307
