import argparse

import torch
import torch.distributed as dist
from engine.launching import launch


class Trainer:
    def __init__(self, script, gpus):
        parser = argparse.ArgumentParser()
        parser.add_argument("--local_rank", type=int, default=0)  # expect: DL805
        parser.add_argument("--launched", action="store_true")
        args = parser.parse_args()
        if not args.launched:
            launch(script, gpus)
        torch.cuda.set_device(args.local_rank)
        dist.init_process_group("nccl")
