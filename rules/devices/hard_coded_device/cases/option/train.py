import argparse

import torch
import torch.distributed as dist


def main(args):
    dist.init_process_group("nccl")
    torch.cuda.set_device(args.device)  # expect: DL503
    dist.barrier()


parser = argparse.ArgumentParser()
parser.add_argument("-d", "--device", default="cuda:0")
main(parser.parse_args())
