import argparse
import os

import torch
import torch.distributed as dist
from tensorboardX import SummaryWriter
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from function import train
from hrnet import Cityscapes, FullModel


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--print_freq", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=484)
    config = parser.parse_args()
    dist.init_process_group("nccl", init_method="env://")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    data = Cityscapes("train")
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=3, sampler=sampler)
    model = DistributedDataParallel(FullModel().to(device), device_ids=[device.index])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    writer_dict = None
    if dist.get_rank() == 0:
        writer_dict = {"writer": SummaryWriter("log"), "steps": 0}
    for epoch in range(config.epochs):
        sampler.set_epoch(epoch)
        train(config, epoch, loader, optimizer, model, writer_dict, device)


if __name__ == "__main__":
    main()
