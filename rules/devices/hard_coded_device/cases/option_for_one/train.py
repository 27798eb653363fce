import argparse

import torch
import torch.distributed as dist


def main(args):
    if args.distributed:
        dist.init_process_group("nccl")
        torch.cuda.set_device(dist.get_rank())
    else:
        torch.cuda.set_device(args.device)
    dist.barrier()


parser = argparse.ArgumentParser()
parser.add_argument("--distributed", action="store_true")
parser.add_argument("-d", "--device", default="cuda:0")
main(parser.parse_args())
