import torch
from torch.nn.parallel import DistributedDataParallel

from clip.saving import train


def main(net, path):
    model = DistributedDataParallel(net)
    model.load_state_dict(torch.load(path)["model"])
    train(net, path)
