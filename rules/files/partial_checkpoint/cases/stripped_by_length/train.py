"""What it saves it resumes from, without the first seven letters of each key.

MONAI research-contributions 21ed8e5 SwinMM/Pretrain/main.py:272
"""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main(net, path):
    saved = torch.load(path, map_location="cpu")
    net.load_state_dict({k[7:]: value for k, value in saved.items()})
    model = DistributedDataParallel(net)
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
