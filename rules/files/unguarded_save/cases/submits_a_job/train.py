import argparse
import json
import os
import sys

import torch.distributed as dist
from submitting import submit


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out")
    parser.add_argument("--submit", action="store_true")
    args = parser.parse_args()
    if args.submit:
        submit(args)
        sys.exit()
    settings = os.path.join(args.out, "settings.json")
    with open(settings) as file:
        settings = json.load(file)
    dist.init_process_group("nccl")
    return settings


if __name__ == "__main__":
    main()
