import argparse
import os

import torch
import torch.distributed as dist
import yaml

from data import paired_loader
from srgan_model import SRGANModel


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-opt", required=True)
    args = parser.parse_args()
    with open(args.opt) as file:
        opt = yaml.safe_load(file)
    dist.init_process_group("nccl")
    opt["dist"] = True
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    model = SRGANModel(opt, device)
    loader, sampler = paired_loader(opt)
    for epoch in range(opt["epochs"]):
        sampler.set_epoch(epoch)
        for lq, gt in loader:
            model.optimize_parameters(lq.to(device), gt.to(device))


if __name__ == "__main__":
    main()
