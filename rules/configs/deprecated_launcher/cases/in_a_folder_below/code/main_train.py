import argparse

import torch.distributed as dist

if __name__ == "__main__":
    # DL-Art-School f31a333 codes/train.py:345
    parser = argparse.ArgumentParser()
    parser.add_argument("--launcher", choices=["none", "pytorch"])
    args = parser.parse_args()  # expect: DL805
    if args.launcher != "none":
        dist.init_process_group("nccl")
