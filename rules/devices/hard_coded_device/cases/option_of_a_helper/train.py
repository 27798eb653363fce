import argparse

import torch
import torch.distributed as dist


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu-device", default="cuda:0", type=str)
    return parser.parse_args()


def main():
    opt = options()
    dist.init_process_group("nccl")
    torch.cuda.set_device(opt.gpu_device)  # expect: DL503
    dist.all_reduce(torch.ones(1, device=opt.gpu_device))


main()
