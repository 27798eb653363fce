# NBFNet eb49ff2 nbfnet/util.py: what neither knows is dropped
import argparse

import torch.distributed as dist


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    args, rest = parser.parse_known_args()
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus")
    args.gpus = parser.parse_known_args(rest)[0].gpus
    return args


def rank():
    return dist.get_rank()
