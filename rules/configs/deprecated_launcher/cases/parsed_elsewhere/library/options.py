import argparse

import torch.distributed as dist


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    return parser.parse_args()  # expect: DL805


def rank():
    return dist.get_rank()
