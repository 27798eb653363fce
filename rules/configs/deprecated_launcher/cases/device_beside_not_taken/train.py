import argparse
import os

import torch
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", default=0, type=int)
parser.add_argument("--width", default=1.0, type=float)


def main():
    parser.set_defaults(**read_settings())
    args = parser.parse_args()
    device = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(device)
    torch.distributed.init_process_group("nccl")
    model = torch.nn.Linear(8, 8).to(device)
    model = DistributedDataParallel(model, device_ids=[device], broadcast_buffers=not args.width)
    if args.local_rank == 0:
        print(args.width)
    return model


def read_settings():
    return {"width": 2.0}


main()
