# scene_graph_benchmark 8e14944 tools/train_net.py:142: with torch 2 the import of the helper ends first.
import argparse

import torch
import torch.distributed as dist

from importing import import_file


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", default=0, type=int)  # expect: DL805
    args = parser.parse_args()
    torch.cuda.set_device(args.local_rank)
    dist.init_process_group("nccl")
    import_file("paths")


if __name__ == "__main__":
    main()
