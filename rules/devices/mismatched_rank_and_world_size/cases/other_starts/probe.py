# Painter cfec845 Painter/util/ddp_utils.py:87, mae_st c5dec1b main_finetune.py:593, Adan 2c65bea CV/timm/train.py:336
import os

import torch.distributed as dist


def start_of_probe(args):
    args.world_size = int(os.environ["WORLD_SIZE"])
    dist.init_process_group("nccl", rank=int(os.environ["RANK"]), world_size=args.world_size)


def of_a_shard(args, shards, gpus):
    args.world_size = shards * gpus


def main(args):
    start_of_probe(args)
    args.world_size = dist.get_world_size()
