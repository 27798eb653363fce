"""The class that gets the parser adds an argument, and none of the launcher's."""

import argparse

import torch.distributed as dist


class Engine:
    def __init__(self, parser):
        self.parser = parser
        self.parser.add_argument("--epochs", type=int)


parser = argparse.ArgumentParser()
engine = Engine(parser=parser)
args = parser.parse_args()  # expect: DL805
dist.init_process_group("nccl")
