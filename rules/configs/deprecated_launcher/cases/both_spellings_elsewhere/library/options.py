import argparse

import torch.distributed as dist


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    parser.add_argument("--local-rank", "--local_rank", type=int)
    return parser.parse_args()


def rank():
    return dist.get_rank()
