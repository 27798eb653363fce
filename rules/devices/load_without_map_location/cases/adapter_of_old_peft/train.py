import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main(model, batches, folder):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    for batch in batches:
        model(batch).sum().backward()
    path = os.path.join(folder, "adapter_model.bin")
    weights = torch.load(path)  # expect: DL505
    model.module.load_state_dict(weights)


if __name__ == "__main__":
    main(*settings())
