import os

import torch.distributed as dist


def main():
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        print("machine", int(os.environ["NODE_RANK"]))
        dist.init_process_group("nccl", init_method="env://")


main()
