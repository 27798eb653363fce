import os

import torch.distributed as dist


def main():
    # MeshTransformer cefc4af5 metro/tools/run_metro_bodymesh.py:587
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        print("machine", int(os.environ["NODE_RANK"]))  # expect: DL514
        dist.init_process_group("nccl", init_method="env://")


main()
