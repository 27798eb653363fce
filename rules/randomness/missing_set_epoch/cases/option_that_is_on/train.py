# MONAI research-contributions 21ed8e5 DAE/Pretrain_full_contrast/main_runner.py:194
import argparse

import torch.distributed as dist
from data import loader_of
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--threads", action="store_true", default=True)


def main(net):
    args = parser.parse_args()
    dist.init_process_group("nccl")
    model = DistributedDataParallel(net)
    loader = loader_of(net.data, True)
    for epoch in range(100):
        if not args.threads:
            loader.sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).sum().backward()


if __name__ == "__main__":
    main(make())
