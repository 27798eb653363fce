import argparse

import torch
import torch.distributed as dist


def main(args):
    dist.init_process_group("nccl")
    torch.cuda.set_device(args.device)
    dist.barrier()


parser = argparse.ArgumentParser()
parser.add_argument("--device", default=None)
main(parser.parse_args())
